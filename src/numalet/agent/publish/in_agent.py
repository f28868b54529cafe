"""Publishes from inside an agent: its own node, or that of the observed kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from numalet.agent.controller.settings import AgentSettings, configuration_reader
from numalet.agent.publish import command, publisher
from numalet.agent.publish.kubelet_source import KubeletSource
from numalet.agent.publish.publisher import NodePublisher
from numalet.agent.servers import pod_resources
from numalet.agent.servers.door import Door
from numalet.core.config.numalet_config import PublishSettings
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.value import Value
from numalet.core.snapshot.snapshot import Snapshot
from numalet.io.kube_api import client
from numalet.io.kube_api.access import Access
from numalet.io.kube_api.client import RequestLimits
from numalet.io.tasks import together
from numalet.shared.findings.publish import PublishEnded
from numalet.shared.publish import node_view


class AgentPublishing(Value, kw_only=True):
    """Called with the running agent; returns a context that publishes."""

    access: Access
    wanted: PublishSettings

    @asynccontextmanager
    async def __call__(
        self, door: Door, settings: AgentSettings, report: Callable[[Finding], None]
    ) -> AsyncIterator[None]:
        """Publish during the context. An error is reported and never ends the agent."""
        work = asyncio.create_task(_publish(self, door, settings, report))
        try:
            yield
        finally:
            work.cancel()
            # Wait for the cancelled task, which may still be closing its connection.
            await asyncio.wait((work,))


def agent_publishing(given: PublishSettings, configured: PublishSettings | None) -> AgentPublishing:
    """Merge command line and configuration. Raises ``BadInput`` without cluster access."""
    wanted = given.over(configured)
    return AgentPublishing(access=publisher.access_of(wanted), wanted=wanted)


async def _publish(
    wanted: AgentPublishing,
    door: Door,
    settings: AgentSettings,
    report: Callable[[Finding], None],
) -> None:
    choice = publisher.choice_of(settings.node_name, wanted.wanted)
    # The client must not retry: the writers handle 429 with their own delays.
    limits = RequestLimits(patience_seconds=0)
    try:
        async with client.opened(wanted.access, command.USER_AGENT, limits=limits) as api:
            owner = await publisher.owner_of(api, choice.node_name, report)
            writers = publisher.publisher(api, choice, owner, _utc_now, report)
            async with together() as group:
                group.create_task(writers.run())
                if settings.observe:
                    reader = configuration_reader(settings)
                    if wanted.wanted.configz:
                        reader = await command.with_configz(reader, choice.node_name, api)
                    source = KubeletSource(root=settings.kubelet_root, configuration=reader)
                    group.create_task(command.follow(source, writers, report))
                else:
                    group.create_task(follow(door, writers))
    except BadInput as bad:
        for each in bad.findings:
            report(each)
        # The agent goes on: pods must not depend on the cluster.
        report(PublishEnded())


def _utc_now() -> datetime:
    return datetime.now(UTC)


async def follow(door: Door, writers: NodePublisher) -> None:
    """Offer the agent's node after every change."""
    last: tuple[Snapshot, list[str]] | None = None
    while True:
        shown = door.view()
        pods = pod_resources.listed(shown)
        # A pod without allocations changes the published list of pods but not the snapshot.
        uids = [each.uid for each in pods]
        # Views are new objects each time; an unchanged snapshot stays the same object.
        is_new = last is None or shown.node.snapshot is not last[0] or uids != last[1]
        if shown.ready and is_new:
            last = shown.node.snapshot, uids
            writers.offer(node_view.view_of_node(shown.node, shown.config, pods))
        await door.changed()
