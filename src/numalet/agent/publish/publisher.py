"""Publishes one node through paced writers; serves the metrics of ``numalet publish``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from numalet.agent.publish.pod_annotator import PodAnnotator
from numalet.core.config.numalet_config import PublishSettings
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.value import Mutable, Value, replace
from numalet.io.documents.cluster import numa_node
from numalet.io.kube_api import access as accesses
from numalet.io.kube_api import paths
from numalet.io.kube_api.access import Access
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.tasks import together
from numalet.shared.findings.publish import (
    PublishCurrentAgain,
    PublishUnreachable,
)
from numalet.shared.kubernetes import node_resource_topology
from numalet.shared.publish import writer
from numalet.shared.publish.node_view import NodeObjects, NodeOwner, PublishedView
from numalet.shared.publish.writer import ClassWriter, PacedWriter

_LONGEST_WAIT_SECONDS: Final = 60.0


class PublishChoice(Value, kw_only=True):
    node_name: str
    has_topology: bool = True
    force: bool = False
    has_placement: bool = False
    has_kai: bool = False
    refresh_seconds: float = 3600.0


def choice_of(node_name: str, settings: PublishSettings) -> PublishChoice:
    """Apply defaults to the settings."""
    usual = PublishChoice(node_name=node_name)
    has_topology, seconds = settings.node_resource_topology, settings.refresh_seconds
    return PublishChoice(
        node_name=node_name,
        has_topology=usual.has_topology if has_topology is None else has_topology,
        force=bool(settings.force),
        has_placement=bool(settings.numa_placement),
        has_kai=bool(settings.kai),
        refresh_seconds=usual.refresh_seconds if seconds is None else seconds,
    )


def access_of(settings: PublishSettings) -> Access:
    """Raises ``BadInput`` without a cluster."""
    kubeconfig = settings.kubeconfig
    return accesses.of(None if kubeconfig is None else Path(kubeconfig), settings.context)


class NodePublisher(Mutable):
    numa_node: PacedWriter[NodeObjects]
    topology: PacedWriter[dict[str, Any]] | None
    has_placement: bool = False
    pods: PodAnnotator | None = None

    @property
    def writers(self) -> Sequence[tuple[str, PacedWriter[Any]]]:
        """Writers with the kind of their object."""
        kinds: list[tuple[str, PacedWriter[Any]]] = [(numa_node.KIND, self.numa_node)]
        if self.topology is not None:
            kinds.append((node_resource_topology.KIND, self.topology))
        return kinds

    def offer(self, view: PublishedView) -> None:
        self.numa_node.offer(view.objects)
        topology = view.topology_with_placement if self.has_placement else view.topology
        if self.topology is not None and topology is not None:
            self.topology.offer(dict(topology))
        if self.pods is not None:
            self.pods.offer(view)

    async def run(self) -> None:
        async with together() as group:
            for _, each in self.writers:
                group.create_task(each.run())
            if self.pods is not None:
                group.create_task(self.pods.run())

    async def write_once(self) -> bool:
        """Write immediately; True if all offered objects are stored."""
        for _, each in self.writers:
            await each.write()
        if self.pods is not None:
            await self.pods.write_once()
        # An idle writer has nothing to store: its content is unknown, not failed.
        are_stored = all(each.is_current or each.is_idle for _, each in self.writers)
        return are_stored and (self.pods is None or self.pods.is_current)


def publisher(
    api: ApiClient,
    choice: PublishChoice,
    owner: NodeOwner | None,
    utc_now: Callable[[], datetime],
    report: Callable[[Finding], None],
) -> NodePublisher:
    def reporting(kind: str) -> Callable[[Finding | None], None]:
        return lambda finding: report(
            PublishCurrentAgain(what=kind) if finding is None else finding
        )

    refresh = choice.refresh_seconds
    topology = None
    if choice.has_topology:
        topology = writer.topology_writer(
            api,
            choice.node_name,
            force=choice.force,
            owner=owner,
            interval=replace(writer.TOPOLOGY_INTERVAL, refresh_seconds=refresh),
            report=reporting(node_resource_topology.KIND),
        )
    return NodePublisher(
        writer.numa_node_writer(
            api,
            choice.node_name,
            ClassWriter(api),
            utc_now,
            owner=owner,
            interval=replace(writer.NUMA_NODE_INTERVAL, refresh_seconds=refresh),
            report=reporting(numa_node.KIND),
        ),
        topology,
        choice.has_placement,
        PodAnnotator(api=api, node_name=choice.node_name, force=choice.force, report=report)
        if choice.has_kai
        else None,
    )


class _Metadata(msgspec.Struct):
    uid: str = ""


class _NodeObject(msgspec.Struct):
    metadata: _Metadata


async def owner_of(
    api: ApiClient,
    node_name: str,
    report: Callable[[Finding], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> NodeOwner | None:
    """Read the Node object, if RBAC permits it; retry while the API server is unreachable."""
    wait, is_first = 1.0, True
    # Without an owner reference, the objects would outlive the node, so do not go on without it.
    while True:
        try:
            return await owner_now(api, node_name, report)
        except BadInput as unreachable:
            if is_first:
                for each in unreachable.findings:
                    report(each)
        is_first = False
        await sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT_SECONDS)


async def owner_now(
    api: ApiClient, node_name: str, report: Callable[[Finding], None]
) -> NodeOwner | None:
    """As ``owner_of``, one attempt. Raises ``BadInput`` if the API server is unreachable."""
    try:
        content = await api.get(paths.node(node_name))
        uid = msgspec.json.decode(content, type=_NodeObject).metadata.uid
        return NodeOwner(node_name, uid) if uid else None
    except ApiRefused as refused:
        # A temporary refusal says nothing about the Node, so the caller tries again.
        if refused.status.is_temporary:
            raise BadInput([PublishUnreachable(problem=str(refused))]) from None
        report(_no_owner(node_name, refused))
    except ApiUnreachable as unreachable:
        raise BadInput([PublishUnreachable(problem=str(unreachable))]) from None
    except msgspec.MsgspecError as error:
        report(_no_owner(node_name, error))
    return None


def _no_owner(node_name: str, problem: Exception) -> Finding:
    return input_error.Unreadable(
        f"cannot read the Node object of {node_name}, so the published objects have no owner: "
        f"{problem}; set --node-name to the name of the Node, and grant the verb get for nodes",
        severity=Severity.WARNING,
    )


@dataclass(frozen=True, eq=False)
class PublishMetrics(Collector):
    writers: NodePublisher

    def collect(self) -> Iterator[Metric]:
        writes = CounterMetricFamily(
            "numalet_publish_writes",
            "Writes of objects of this node to the API server, by result.",
            labels=("kind", "result"),
        )
        current = GaugeMetricFamily(
            "numalet_publish_current",
            "Whether the stored object matches the node.",
            labels=("kind",),
        )
        known = [(kind, each.counts, each.is_current) for kind, each in self.writers.writers]
        if (pods := self.writers.pods) is not None:
            known.append(("Pod", pods.counts, pods.is_current))
        for kind, counts, is_current in known:
            writes.add_metric((kind, "written"), counts.written)
            writes.add_metric((kind, "put-off"), counts.put_off)
            writes.add_metric((kind, "failed"), counts.failed - counts.put_off)
            current.add_metric((kind,), is_current)
        yield writes
        yield current
