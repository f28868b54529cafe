"""The node state: everything that the controller must not lose, as an immutable value.

Only a state on disk is published; one that cannot be written is dropped. So memory is never ahead
of the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.telemetry.gauges import CpuGauges, cpu_gauges_after
from numalet.agent.telemetry.metrics import Counts, Labels
from numalet.core.model.value import Value, field, replace
from numalet.core.node.node import Node
from numalet.core.workload.records import NodeEvent, PodRecord, Records
from numalet.core.workload.run import PodRun

EVENTS_KEPT: Final = 1000
"""Kept in memory and shown; the journal has more."""
_RECENT_EVENTS: Final = 100


class NodeState(Value, kw_only=True):
    """The node, pod records by uid in order of acceptance, recent events.

    ``resource_version`` is the latest of all changes. ``counts`` start at zero with each agent.
    ``kubelet``: latest observation of a kubelet that owns the node. ``cpu_gauges``: gauges that
    change with events, if they do. ``gone``: versions of deletions since the last publication, by
    uid.
    """

    node: Node
    records: Records = field(default_factory=Records)
    events: tuple[NodeEvent, ...] = ()
    resource_version: int = 0
    counts: Counts = field(default_factory=Counts)
    kubelet: KubeletObservation | None = None
    cpu_gauges: CpuGauges | None = None
    gone: Mapping[str, int] = MappingProxyType({})

    def at(self, node: Node) -> NodeState:
        if node is self.node:
            return self
        moved = cpu_gauges_after(self.cpu_gauges, self.node, node)
        return replace(self, node=node, cpu_gauges=moved)

    def emptied(self) -> NodeState:
        """The state without pods."""
        node = self.node
        for uid in self.records:
            node = node.remove(uid)
        return replace(self.at(node.release_stale()), records=Records())

    def named(self, namespace: str, name: str) -> PodRecord | None:
        """The record of this name; prefers one that is not being deleted."""
        return self.records.named(namespace, name)

    def with_record(self, record: PodRecord) -> NodeState:
        """Add or replace a record with the next resource version."""
        version = self.resource_version + 1
        numbered = replace(record, resource_version=version)
        return replace(self, records=self.records.with_record(numbered), resource_version=version)

    def with_run(self, uid: str, run: PodRun) -> NodeState:
        record = self.records[uid]
        return self if record.run == run else self.with_record(replace(record, run=run))

    def without(self, uid: str) -> NodeState:
        """Remove a record; a removal has a version too."""
        version = self.resource_version + 1
        gone = {**self.gone, uid: version}
        return replace(self, records=self.records.without(uid), resource_version=version, gone=gone)

    def renumbered(self) -> NodeState:
        """Increase the version, after a change of something without its own version."""
        return replace(self, resource_version=self.resource_version + 1)

    def with_event(self, event: NodeEvent) -> NodeState:
        """Add an event; count it if it repeats a recent one."""
        version = self.resource_version + 1
        # Recent ones only: searching all events at each decision would make a storm quadratic.
        of_pod = [each for each in self.events[-_RECENT_EVENTS:] if each.pod_uid == event.pod_uid]
        last = next((each for each in reversed(of_pod) if _same(each, event)), None)
        if last is not None:
            # A new object at the end: the repeated event is the newest again.
            event = replace(event, first_at=last.first_at or last.at, count=last.count + 1)
        kept = self.events if last is None else [each for each in self.events if each is not last]
        events = (*kept, replace(event, resource_version=version))[-EVENTS_KEPT:]
        return replace(self, events=events, resource_version=version)

    def counted(self, name: str, labels: Labels = (), amount: float = 1.0) -> NodeState:
        return replace(self, counts=self.counts.plus(name, labels, amount))


def _same(one: NodeEvent, other: NodeEvent) -> bool:
    """Whether two events differ only in time and count."""
    return (
        one.reason == other.reason
        and one.container == other.container
        and one.kind == other.kind
        and one.message == other.message
    )
