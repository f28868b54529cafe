"""The content of state files: nodes by group, the pool, the containers' allocations.

It is what ``numalet state show -o json`` prints; ``cpus`` are lists such as ``0-3,8``.

A *group* is a set of NUMA nodes whose memory is allocated together. Only its sums are reliable: the
kubelet's figures per node depend on the order of events. Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from numalet.core.managers.memory.ledger import NodeMemory
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.listed_pod import Holdings, ListedPod
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.insight.maps.resource_maps import TypeDocument, type_rows
from numalet.insight.state import state_diff
from numalet.insight.state.reading import States

BY_ID: Final = "container ID"
"""Placeholder for the pod of a container that a first-format file names by container ID."""


class StateFinding(Value):
    """One finding: a stable code, the values in its sentence by name, and the sentence.

    ``file`` and ``path`` say where; they are empty if the finding has no place in a file.
    """

    code: str
    severity: Severity
    file: str
    path: str
    fields: dict[str, Any]
    text: str


def of(finding: Finding, file: str | None = None) -> StateFinding:
    return StateFinding(**parts(finding, file))


def parts(finding: Finding, file: str | None = None) -> dict[str, Any]:
    """Return the fields; ``file`` replaces the one of the finding."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "file": finding.where.document if file is None else file,
        "path": finding.where.path,
        "fields": {name: finding.fields[name] for name in sorted(finding.fields)},
        "text": str(finding),
    }


class StateContainer(Value):
    pod_uid: str
    container: str


class HolderNodeRow(Value):
    """A NUMA node of a group."""

    node_id: int
    assignments: int
    types: list[TypeDocument]


class GroupRow(Value):
    """NUMA nodes whose memory is allocated together; ``types`` are the sums over them.

    ``containers`` have memory on exactly these nodes.
    """

    numa_nodes: tuple[int, ...]
    types: list[TypeDocument]
    nodes: tuple[HolderNodeRow, ...]
    containers: tuple[StateContainer, ...]


class HeldMemory(Value):
    """Memory of one type on a set of NUMA nodes; ``size`` in bytes."""

    numa_nodes: tuple[int, ...]
    type: str
    size: int


class HolderRow(StateContainer):
    """The allocation of one container; ``name`` is ``namespace/pod`` or the uid.

    ``devices`` are texts such as ``gpu0@0, gpu1@0+1`` by resource: ids, and their NUMA nodes.
    ``stale``: its pod was deleted or has ended, and the kubelet releases the allocation at the
    next admission.
    """

    name: str
    memory: tuple[HeldMemory, ...]
    cpus: str
    devices: Mapping[str, str]
    stale: bool


class StateMap(Value, tag_field="schema", tag="numalet.state-show/1"):
    """The whole content. ``policies`` are by manager, as far as there is a file.

    ``default_cpu_set`` is the shared pool, null without a file of the CPU Manager.
    """

    policies: Mapping[Literal["cpu", "memory"], str]
    groups: tuple[GroupRow, ...]
    default_cpu_set: str | None
    registered_devices: Mapping[str, tuple[str, ...]]
    holders: tuple[HolderRow, ...]
    unreadable: tuple[StateFinding, ...]


def state_map(
    states: States, names: Mapping[str, str], is_gone: Callable[[str], bool] = lambda uid: False
) -> StateMap:
    """Return the map; ``names`` are ``namespace/pod`` by uid, as far as known.

    ``is_gone`` returns whether a pod with this uid does not run any more.
    """
    policies: dict[Literal["cpu", "memory"], str] = {}
    if states.cpu is not None:
        policies["cpu"] = states.cpu.policy_name
    if states.memory is not None:
        policies["memory"] = states.memory.policy_name
    written = None if states.device is None else states.device.written
    return StateMap(
        policies=policies,
        groups=_groups(states),
        default_cpu_set=None if states.cpu is None else cpu_set.text(states.cpu.ledger.default),
        registered_devices={} if written is None else written.registered,
        holders=tuple(_holder(states, key, names, is_gone) for key in _holders(states)),
        unreadable=tuple(map(of, state_diff.unreadable(states))),
    )


def _groups(states: States) -> tuple[GroupRow, ...]:
    if states.memory is None:
        return ()
    ledger = states.memory.ledger
    by_group: dict[NumaMask, dict[int, NodeMemory]] = {}
    for node_id, node in ledger.nodes.items():
        by_group.setdefault(node.group, {})[node_id] = node
    holders: dict[tuple[int, ...], dict[ContainerKey, None]] = {}
    for key in sorted(ledger.holders()):
        for block in ledger.blocks_of(key.pod_uid, key.container) or ():
            holders.setdefault(tuple(sorted(set(block.nodes))), {})[key] = None
    # If groups overlap, fewer nodes may have this group than it has members.
    rows = [
        GroupRow(
            numa_mask.ids(group),
            _sums(nodes),
            tuple(HolderNodeRow(i, node.assignments, type_rows(node)) for i, node in nodes.items()),
            _containers(holders.pop(numa_mask.ids(group), {})),
        )
        for group, nodes in by_group.items()
    ]
    # Blocks on a set that is the group of no node: the file is damaged, and is shown nevertheless.
    rows += [GroupRow(node_ids, [], (), _containers(keys)) for node_ids, keys in holders.items()]
    return tuple(sorted(rows, key=lambda row: (row.numa_nodes, len(row.nodes))))


def _containers(keys: Iterable[ContainerKey]) -> tuple[StateContainer, ...]:
    return tuple(StateContainer(*key) for key in keys)


def _sums(nodes: Mapping[int, NodeMemory]) -> list[TypeDocument]:
    names = sorted({name for node in nodes.values() for name in node.tables})
    rows = []
    for name in names:
        tables = [node.tables[name] for node in nodes.values() if name in node.tables]
        rows.append(
            TypeDocument(
                name,
                sum(t.total for t in tables),
                sum(t.system_reserved for t in tables),
                sum(t.allocatable for t in tables),
                sum(t.reserved for t in tables),
                sum(t.free for t in tables),
            )
        )
    return rows


def _holders(states: States) -> list[ContainerKey]:
    keys: set[ContainerKey] = set()
    if states.memory is not None:
        keys.update(states.memory.ledger.holders())
    if states.cpu is not None:
        keys.update(states.cpu.ledger.holders())
    if states.device is not None:
        records = states.device.written.records
        keys.update(ContainerKey(uid, name) for uid, pod in records.items() for name in pod)
    return sorted(keys)


def _holder(
    states: States, key: ContainerKey, names: Mapping[str, str], is_gone: Callable[[str], bool]
) -> HolderRow:
    blocks = cpus = None
    devices: Mapping[str, str] = {}
    if states.memory is not None:
        blocks = states.memory.ledger.blocks_of(key.pod_uid, key.container)
    if states.cpu is not None:
        cpus = states.cpu.ledger.cpus_of(key.pod_uid, key.container)
    if states.device is not None:
        records = states.device.written.records.get(key.pod_uid, {}).get(key.container, {})
        devices = {name: state_diff.devices_text(each) for name, each in sorted(records.items())}
    return HolderRow(
        *key,
        names.get(key.pod_uid, key.pod_uid or BY_ID),
        tuple(HeldMemory(b.nodes, b.resource, b.size_bytes) for b in blocks or ()),
        cpu_set.text(cpus or ()),
        devices,
        stale=bool(key.pod_uid) and is_gone(key.pod_uid),
    )


def names(
    states: States, holders: Iterable[HolderRow], listed: Iterable[ListedPod]
) -> dict[str, str]:
    pods: dict[str, dict[str, Holdings]] = {}
    for row in holders:
        held = pods.setdefault(row.pod_uid, {})
        held[row.container] = _holdings(states, row)
    everyone = tuple(listed)
    fitting = {uid: [pod for pod in everyone if _fits(pod, held)] for uid, held in pods.items()}
    times = [pod.name for pods_of_uid in fitting.values() for pod in pods_of_uid]
    # A match counts only if it is unique in both directions.
    return {
        uid: pods_of_uid[0].name
        for uid, pods_of_uid in fitting.items()
        if len(pods_of_uid) == 1 and times.count(pods_of_uid[0].name) == 1
    }


def _fits(pod: ListedPod, held: Mapping[str, Holdings]) -> bool:
    holding = {name: each for name, each in pod.containers.items() if not each.is_nothing}
    # Ended init containers are in the files only, so the comparison starts from the API's answer.
    return bool(holding) and all(held.get(name) == each for name, each in holding.items())


def _holdings(states: States, row: HolderRow) -> Holdings:
    cpus = None if states.cpu is None else states.cpu.ledger.cpus_of(row.pod_uid, row.container)
    records = {}
    if states.device is not None:
        records = dict(states.device.written.records.get(row.pod_uid, {}).get(row.container, {}))
    return Holdings(
        cpus or frozenset(),
        frozenset((part.type, part.size, part.numa_nodes) for part in row.memory),
        frozenset((name, record.device_ids) for name, record in records.items()),
    )
