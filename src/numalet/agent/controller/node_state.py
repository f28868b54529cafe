"""The node state: everything that the controller knows and must not lose, as one immutable value.

A request turns one state into the next; the store writes what differs. A state is published only
after it has been written, and dropped if it can not be written: so what is in memory is never
ahead of what is on the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.telemetry import cpu_gauges
from numalet.agent.telemetry.cpu_gauges import CpuGauges
from numalet.agent.telemetry.metrics import Counts, Labels
from numalet.core.model.value import Value, field, replace
from numalet.core.node.node import Node
from numalet.core.workload.record import NodeEvent, PodRecord
from numalet.core.workload.records import Records
from numalet.core.workload.run import PodRun

EVENTS_KEPT: Final = 1000
"""So many events are kept in memory and shown; the journal holds more."""
_RECENT_EVENTS: Final = 100


class NodeState(Value, kw_only=True):
    """The node's promises, every pod's record by uid in order of acceptance, recent events.

    ``resource_version`` is that of the latest change of any of them. ``counts`` are not kept on
    the disk: counters begin anew with the agent. ``kubelet`` is the latest observation of a kubelet
    that owns the node in the agent's place. ``cpu_gauges`` are the kubelet's gauges that move with
    events, None where they say what the node holds. ``gone`` are the versions at which records
    went, by uid, since this was last published.
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
        """The same records over another node."""
        if node is self.node:
            return self
        moved = cpu_gauges.after(self.cpu_gauges, self.node, node)
        return replace(self, node=node, cpu_gauges=moved)

    def emptied(self) -> NodeState:
        """The state without any pod."""
        node = self.node
        for uid in self.records:
            node = node.remove(uid)
        return replace(self.at(node.release_stale()), records=Records())

    def named(self, namespace: str, name: str) -> PodRecord | None:
        """The record of this name, preferably one that is not being deleted."""
        return self.records.named(namespace, name)

    def with_record(self, record: PodRecord) -> NodeState:
        """The state with this record, which gets the next resource version."""
        version = self.resource_version + 1
        numbered = replace(record, resource_version=version)
        return replace(self, records=self.records.with_record(numbered), resource_version=version)

    def with_run(self, uid: str, run: PodRun) -> NodeState:
        """The state with what has happened to a pod."""
        record = self.records[uid]
        return self if record.run == run else self.with_record(replace(record, run=run))

    def without(self, uid: str) -> NodeState:
        """The state without this pod's record; a removal is a change too."""
        version = self.resource_version + 1
        gone = {**self.gone, uid: version}
        return replace(self, records=self.records.without(uid), resource_version=version, gone=gone)

    def renumbered(self) -> NodeState:
        """The same under another version: something that has none of its own became different."""
        return replace(self, resource_version=self.resource_version + 1)

    def with_event(self, event: NodeEvent) -> NodeState:
        """The state with one more event; one that repeats the last of its kind is counted."""
        version = self.resource_version + 1
        of_pod = [each for each in self.events[-_RECENT_EVENTS:] if each.pod_uid == event.pod_uid]
        last = next((each for each in reversed(of_pod) if _same(each, event)), None)
        if last is not None:
            event = replace(event, first_at=last.first_at or last.at, count=last.count + 1)
        kept = self.events if last is None else [each for each in self.events if each is not last]
        events = (*kept, replace(event, resource_version=version))[-EVENTS_KEPT:]
        return replace(self, events=events, resource_version=version)

    def counted(self, name: str, labels: Labels = (), amount: float = 1.0) -> NodeState:
        """The state with a counter increased."""
        return replace(self, counts=self.counts.plus(name, labels, amount))


def _same(one: NodeEvent, other: NodeEvent) -> bool:
    """Whether two events of one pod are equal but for time and count."""
    return (
        one.reason == other.reason
        and one.container == other.container
        and one.kind == other.kind
        and one.message == other.message
    )
