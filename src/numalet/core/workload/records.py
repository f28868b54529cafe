"""The records of the agent's pods, by uid in order of acceptance, with an index by name.

The agent stores a ``PodRecord`` on disk and shows it in its API.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from datetime import datetime
from enum import Enum
from itertools import compress
from operator import is_not
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.workload.run import Cause, PodRun
from numalet.core.workload.spec import Count, Workload


class PodRecord(Value):
    """A workload and its run; ``resource_version`` grows with every change."""

    workload: Workload
    run: PodRun
    resource_version: Count = 0

    @property
    def uid(self) -> str:
        return self.workload.pod.uid

    def with_run(self, run: PodRun, resource_version: int) -> PodRecord:
        return replace(self, run=run, resource_version=resource_version)


class EventKind(Enum):
    NORMAL = "Normal"
    WARNING = "Warning"


class NodeEvent(Value, kw_only=True):
    """An event in Kubernetes' format.

    ``pod_uid`` is empty for an event of the node itself; ``count`` counts equal events in a row.
    ``message`` is made from ``causes``; they are empty if it is the kubelet's own text.
    """

    kind: EventKind
    reason: str
    message: str
    at: datetime
    resource_version: int
    pod_uid: str = ""
    pod_name: str = ""
    namespace: str = ""
    container: str = ""
    first_at: datetime | None = None
    count: int = 1
    causes: tuple[Cause, ...] = ()


def event_about(
    pod: Pod,
    kind: EventKind,
    reason: str,
    message: str,
    at: datetime,
    container: str = "",
    causes: tuple[Cause, ...] = (),
) -> NodeEvent:
    return NodeEvent(
        kind=kind,
        reason=reason,
        message=message,
        causes=causes,
        at=at,
        resource_version=0,
        pod_uid=pod.uid,
        pod_name=pod.name,
        namespace=pod.namespace,
        container=container,
    )


_Name: TypeAlias = tuple[str, str]

_NO_RECORDS: Final[Mapping[str, PodRecord]] = MappingProxyType({})


class Records(Mapping[str, PodRecord]):
    """An immutable mapping; ``with_record`` and ``without`` return the next one."""

    __slots__ = ("_by_uid", "_uids")

    def __init__(self, by_uid: Mapping[str, PodRecord] = _NO_RECORDS) -> None:
        self._by_uid: Mapping[str, PodRecord] = {**by_uid}
        uids: dict[_Name, tuple[str, ...]] = {}
        for uid, record in by_uid.items():
            uids[_name(record)] = (*uids.get(_name(record), ()), uid)
        self._uids: Mapping[_Name, tuple[str, ...]] = uids

    def __getitem__(self, uid: str) -> PodRecord:
        return self._by_uid[uid]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_uid)

    def __len__(self) -> int:
        return len(self._by_uid)

    # ``Mapping``'s versions of these four would call ``__getitem__`` for every item.

    def __contains__(self, uid: object) -> bool:
        return uid in self._by_uid

    def keys(self) -> KeysView[str]:
        return self._by_uid.keys()

    def values(self) -> ValuesView[PodRecord]:
        return self._by_uid.values()

    def items(self) -> ItemsView[str, PodRecord]:
        return self._by_uid.items()

    def changed_since(self, before: Records) -> list[str]:
        """Uids of new and replaced records in order. Records are compared by identity."""
        # Without a loop in Python: each commit of the agent asks several times about all its pods.
        uids, old = self._by_uid, map(before._by_uid.get, self._by_uid)
        return [*compress(uids, map(is_not, old, uids.values()))]

    def named(self, namespace: str, name: str) -> PodRecord | None:
        """Return the record of a pod by name; prefer one without a deletion."""
        leaving = None
        for uid in self._uids.get((namespace, name), ()):
            leaving = self._by_uid[uid]
            if leaving.run.deletion is None:
                return leaving
        return leaving

    def with_record(self, record: PodRecord) -> Records:
        """Add or replace a record; a new uid is last. A pod's name never changes."""
        uid, uids = record.uid, self._uids
        if uid not in self._by_uid:
            name = _name(record)
            uids = {**uids, name: (*uids.get(name, ()), uid)}
        return _made({**self._by_uid, uid: record}, uids)

    def without(self, uid: str) -> Records:
        """Remove the record of an existing uid."""
        kept = {**self._by_uid}
        name = _name(kept.pop(uid))
        uids = {**self._uids}
        others = tuple(each for each in uids.pop(name) if each != uid)
        return _made(kept, {**uids, name: others} if others else uids)


def _name(record: PodRecord) -> _Name:
    pod = record.workload.pod
    return pod.namespace, pod.name


def _made(by_uid: Mapping[str, PodRecord], uids: Mapping[_Name, tuple[str, ...]]) -> Records:
    made = Records()
    made._by_uid, made._uids = by_uid, uids
    return made
