"""Records: those of all pods, by uid in order of acceptance, and found by name as quickly."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.workload.record import PodRecord

_Name: TypeAlias = tuple[str, str]
"""Namespace and name of a pod."""

_NO_RECORDS: Final[Mapping[str, PodRecord]] = MappingProxyType({})


class Records(Mapping[str, PodRecord]):
    """A mapping that never changes; ``with_record`` and ``without`` give the next one."""

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

    # What ``Mapping`` would make of these four asks for every item by itself.

    def __contains__(self, uid: object) -> bool:
        return uid in self._by_uid

    def keys(self) -> KeysView[str]:
        """The uids."""
        return self._by_uid.keys()

    def values(self) -> ValuesView[PodRecord]:
        """The records."""
        return self._by_uid.values()

    def items(self) -> ItemsView[str, PodRecord]:
        """The records by uid."""
        return self._by_uid.items()

    def named(self, namespace: str, name: str) -> PodRecord | None:
        """The record of the pod of this name; rather one that stays than one that is to go."""
        leaving = None
        for uid in self._uids.get((namespace, name), ()):
            leaving = self._by_uid[uid]
            if leaving.run.deletion is None:
                return leaving
        return leaving

    def with_record(self, record: PodRecord) -> Records:
        """The records with this one, the last unless its uid is known; no pod changes its name."""
        uid, uids = record.uid, self._uids
        if uid not in self._by_uid:
            name = _name(record)
            uids = {**uids, name: (*uids.get(name, ()), uid)}
        return _made({**self._by_uid, uid: record}, uids)

    def without(self, uid: str) -> Records:
        """The records without that of this uid, which is there."""
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
