"""``numalet publish``: reads a kubelet and publishes its node's objects."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from numalet import __version__
from numalet.agent.controller import settings as agent_settings
from numalet.agent.controller.kubelet_configuration import ConfigurationReader
from numalet.agent.controller.settings import AgentOptions, AgentSettings, RuntimeKind
from numalet.agent.host import logs
from numalet.agent.publish import publisher
from numalet.agent.publish.kubelet_source import KubeletReading, KubeletSource
from numalet.agent.publish.publisher import NodePublisher, PublishChoice, PublishMetrics
from numalet.core.config.numalet_config import PublishSettings
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.value import Value, field, replace
from numalet.io import kubelets
from numalet.io.kube_api import client
from numalet.io.kube_api.access import Access
from numalet.io.kube_api.client import ApiClient, RequestLimits
from numalet.io.machines import MachineChoice
from numalet.io.tasks import beside, together
from numalet.shared.kubernetes import node_resource_topology
from numalet.shared.publish import reported_configuration
from numalet.shared.publish.node_view import NodeOwner
from numalet.shared.web import metrics_endpoint
from numalet.shared.web.http_service import LoopLog
from numalet.wording import log_line
from numalet.wording.log_line import LogFormat, LogLine

USER_AGENT: Final = f"numalet-publish/{__version__}"


class PublishOptions(Value, kw_only=True):
    """Command line options; ``given`` overrides the configuration."""

    given: PublishSettings = field(default_factory=PublishSettings)
    node_name: str = ""
    kubelet_root: Path = kubelets.ROOT
    pod_resources: Path | None = None
    config_file: Path | None = None
    machine: MachineChoice = field(default_factory=MachineChoice)
    release: str | None = None
    kubelet_version: str | None = None
    metrics: str = ""
    log_format: str = "console"
    verbosity: int = 2
    proc: Path = kubelets.PROC


class PreparedPublishing(Value):
    settings: AgentSettings
    source: KubeletSource
    wanted: PublishSettings

    @property
    def choice(self) -> PublishChoice:
        return publisher.choice_of(self.settings.node_name, self.wanted)


def prepared(options: PublishOptions) -> PreparedPublishing:
    """Resolve the options. Raises ``BadInput`` with all problems."""
    given = AgentOptions(
        config_file=options.config_file,
        runtime=RuntimeKind.FAKE,
        exact=True,
        release=options.release,
        kubelet_version=options.kubelet_version,
        machine=options.machine,
        node_name=options.node_name,
        kubelet_root=options.kubelet_root,
    )
    settings = agent_settings.observing(agent_settings.resolve(given), options.proc)
    source = KubeletSource(
        root=settings.kubelet_root,
        configuration=agent_settings.configuration_reader(settings, options.proc),
        socket=options.pod_resources,
    )
    return PreparedPublishing(settings, source, options.given.over(settings.publish))


def shown(options: PublishOptions) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """The objects as a List without owners, for offline output, and findings.

    Raises ``BadInput`` if there is nothing to publish.
    """
    ready = prepared(options)
    reading = ready.source.read()
    if reading.view is None:
        raise BadInput(
            [
                *map(_as_error, reading.findings),
                input_error.Required("nothing to publish of this node yet"),
            ]
        )
    name = ready.choice.node_name
    objects = reading.view.objects
    items = [dict(objects.class_object), objects.node_object(name, datetime.now(UTC))]
    view = reading.view
    topology = view.topology_with_placement if ready.choice.has_placement else view.topology
    if ready.choice.has_topology and topology is not None:
        items.append(node_resource_topology.named(name, topology))
    return {"apiVersion": "v1", "kind": "List", "items": items}, reading.findings


def _as_error(finding: Finding) -> Finding:
    return finding.of_severity(Severity.ERROR)


def run(options: PublishOptions) -> None:
    """Publish until SIGTERM or SIGINT. Raises ``BadInput`` if it cannot start."""
    ready = prepared(options)
    asyncio.run(_run(ready, publisher.access_of(ready.wanted), options))


def once(options: PublishOptions) -> bool:
    """Write the objects once; True if the API server stored all of them.

    Raises ``BadInput`` if there is nothing to publish or the API server is unreachable.
    """
    ready = prepared(options)
    return asyncio.run(_once(ready, publisher.access_of(ready.wanted), options))


@asynccontextmanager
async def _publisher(
    ready: PreparedPublishing,
    access: Access,
    report: Callable[[Finding], None],
    owner_of: Callable[..., Awaitable[NodeOwner | None]],
) -> AsyncIterator[NodePublisher]:
    # The client must not retry: the writers handle 429 with their own delays.
    limits = RequestLimits(patience_seconds=0)
    async with client.opened(access, USER_AGENT, limits=limits) as api:
        if ready.wanted.configz:
            reader = ready.source.configuration
            # Before the first reading, which would use the configuration file otherwise.
            ready.source.configuration = await with_configz(reader, ready.choice.node_name, api)
        owner = await owner_of(api, ready.choice.node_name, report)
        yield publisher.publisher(api, ready.choice, owner, _utc_now, report)


def _utc_now() -> datetime:
    return datetime.now(UTC)


async def with_configz(
    reader: ConfigurationReader, node_name: str, api: ApiClient
) -> ConfigurationReader:
    """Use only the configuration that the kubelet reports. Raises ``BadInput``."""
    config = await reported_configuration.read(api, node_name)
    own = replace(reader.own, config=config)
    return dataclasses.replace(reader, own=own, named=reported_configuration.place(node_name))


async def _run(ready: PreparedPublishing, access: Access, options: PublishOptions) -> None:
    log = logs.to_stderr(LogFormat(options.log_format), options.verbosity)

    def report(finding: Finding) -> None:
        log.write([log_line.of_finding(finding)])

    for each in ready.settings.notes:
        report(each)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(
        LoopLog(lambda text, keys: log.write([LogLine(text, keys, is_error=True)])).handle
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    where = {"node": ready.choice.node_name, "server": access.server}
    log.write([LogLine("Publishing", {**where, "root": str(ready.source.root)})])
    async with (
        beside(_publish(ready, access, options, report)) as work,
        beside(stopped.wait()) as waiting,
    ):
        # The publisher ends only with an error, which ``beside`` raises at the end of the block.
        await asyncio.wait((work, waiting), return_when=asyncio.FIRST_COMPLETED)
    if stopped.is_set():
        log.write([LogLine("Stopped; objects are not changed", where)])


async def _publish(
    ready: PreparedPublishing,
    access: Access,
    options: PublishOptions,
    report: Callable[[Finding], None],
) -> None:
    async with (
        _publisher(ready, access, report, publisher.owner_of) as writers,
        _counted(writers, options),
        together() as group,
    ):
        group.create_task(writers.run())
        group.create_task(follow(ready.source, writers, report))


@asynccontextmanager
async def _counted(writers: NodePublisher, options: PublishOptions) -> AsyncIterator[None]:
    if not options.metrics:
        yield
        return
    async with metrics_endpoint.served(PublishMetrics(writers), options.metrics):
        yield


async def follow(
    source: KubeletSource, writers: NodePublisher, report: Callable[[Finding], None]
) -> None:
    """Offer every reading; report each finding once."""
    known: tuple[Finding, ...] = ()
    async for reading in source.readings():
        for each in reading.findings:
            # Readings repeat every half second; an unchanged finding is one line in the log, not
            # thousands.
            if each not in known:
                report(each)
        known = reading.findings
        if reading.view is not None:
            writers.offer(reading.view)


async def _once(ready: PreparedPublishing, access: Access, options: PublishOptions) -> bool:
    log = logs.to_stderr(LogFormat(options.log_format), options.verbosity)

    def report(finding: Finding) -> None:
        log.write([log_line.of_finding(finding)])

    async with _publisher(ready, access, report, _owner_now) as writers:
        # gRPC and file reads block.
        reading: KubeletReading = await asyncio.to_thread(ready.source.read)
        if reading.view is None:
            raise BadInput(
                [
                    *map(_as_error, reading.findings),
                    input_error.Required("nothing to publish of this node yet"),
                ]
            )
        for each in reading.findings:
            report(each)
        writers.offer(reading.view)
        return await writers.write_once()


async def _owner_now(
    api: ApiClient, node_name: str, report: Callable[[Finding], None]
) -> NodeOwner | None:
    try:
        return await publisher.owner_now(api, node_name, report)
    except BadInput as unreachable:
        raise BadInput([*map(_as_error, unreachable.findings)]) from None
