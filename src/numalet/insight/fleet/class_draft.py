"""A class file as far as a cluster's objects determine it, with reasons; the rest is blank.

Machines are from ``class_evidence``. The configuration of a kubelet is in no object of the API
server, so it is blank unless the user gives it or lets the kubelets report it; what capacity and
allocatable show of it is said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from numalet.core.cluster.objects import ClusterObjects
from numalet.core.config.releases import table, versions
from numalet.core.model import resources
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.insight.fleet import class_evidence, class_groups
from numalet.insight.fleet.class_evidence import KnownMachine, Proposal
from numalet.insight.fleet.class_groups import NodeGroup
from numalet.wording import numbers

_EVICTION_BYTES: Final = 100 << 20
"""The kubelet's default of ``evictionHard: {memory.available: 100Mi}``."""
_ALIGNMENT: Final = "TopologyAffinityError"
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9.-]+", re.ASCII)


class DraftNote(Value):
    """The reason for the value of a field, or why it is blank and where to find it."""

    field: str
    text: str


class DraftMatch(Value):
    names: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}


class DraftPool(Value, kw_only=True):
    """A pool of a drafted class file; ``nodes`` are those that it was made from.

    ``blank`` names the fields that are not known; their values are null. ``configuration`` is a
    file or fields of KubeletConfiguration. ``devices`` is null also if they are the profile's.
    """

    name: str
    nodes: tuple[str, ...]
    match: DraftMatch
    machine: str | None
    memory_per_node: str | None = None
    hugepages_per_node: Mapping[str, int] = {}
    devices: tuple[str, ...] | None = None
    configuration: str | dict[str, Any] | None = None
    blank: tuple[str, ...] = ()
    notes: tuple[DraftNote, ...] = ()


class ClassDraft(Value, tag_field="schema", tag="numalet.fleet-classes/1"):
    """A drafted class file; ``published`` are the nodes that need none."""

    pools: tuple[DraftPool, ...]
    published: tuple[str, ...] = ()


class KubeletSettings(Value, kw_only=True):
    """What is known of the kubelets' configuration.

    ``file`` is that of all of them, as the user says. With a ``policy`` instead, the CPU Manager is
    static. ``reported`` has fields that kubelets reported by node, ``unread`` why others did not.
    """

    file: str | None = None
    policy: str | None = None
    scope: str | None = None
    memory_policy: str | None = None
    reported: Mapping[str, Mapping[str, Any]] = {}
    unread: Mapping[str, str] = {}


def draft(
    given: ClusterObjects,
    known: Sequence[KnownMachine],
    pool_label: str,
    settings: KubeletSettings,
) -> ClassDraft:
    """Return the pools in the order in which they have to be matched."""
    groups = class_groups.groups_of(given, pool_label, settings.reported)
    # The last group of an instance type is the largest: its pool also matches nodes to come.
    last = {each.instance_type: each for each in groups}
    pools = [
        _pool(
            group,
            name,
            DraftMatch(labels={pool_label: group.instance_type})
            if group.instance_type and last[group.instance_type] is group
            else DraftMatch(names=tuple(sorted(each.name for each in group.nodes))),
            class_evidence.proposed(group, known),
            settings,
        )
        for group, name in zip(groups, _names(groups), strict=True)
    ]
    published = (name for name in given.nodes if class_groups.is_published(name, given))
    return ClassDraft(tuple(pools), tuple(sorted(published)))


def _names(groups: Sequence[NodeGroup]) -> list[str]:
    """Return a name for each group; the largest of an instance type has no number."""
    names: list[str] = []
    for group in reversed(groups):
        name = stem = _NO_NAME.sub("-", group.instance_type or group.gpu).strip("-.") or "nodes"
        number = 1
        while name in names:
            number += 1
            name = f"{stem}-{number}"
        names.append(name)
    return names[::-1]


def _pool(
    group: NodeGroup, name: str, match: DraftMatch, proposal: Proposal, settings: KubeletSettings
) -> DraftPool:
    notes = [DraftNote("name", each) for each in _facts(group)]
    notes += [DraftNote("machine", each) for each in proposal.reasons]
    pages, page_notes = _pages(group, proposal)
    devices, is_known, device_notes = _devices(group, proposal)
    configuration, config_notes = _configuration(group, settings)
    notes += [DraftNote("hugepages_per_node", each) for each in page_notes]
    notes += [DraftNote("devices", each) for each in device_notes]
    notes += [DraftNote("configuration", each) for each in config_notes]
    blank = {
        "machine": proposal.machine is None,
        "devices": not is_known,
        "configuration": configuration is None,
    }
    return DraftPool(
        name=name,
        nodes=tuple(sorted(each.name for each in group.nodes)),
        match=match,
        machine=proposal.machine,
        memory_per_node=proposal.memory_per_node,
        hugepages_per_node=pages,
        devices=devices,
        configuration=configuration,
        blank=tuple(each for each, is_blank in blank.items() if is_blank),
        notes=tuple(notes),
    )


def _facts(group: NodeGroup) -> Iterable[str]:
    amounts = {
        resources.CPU: str(group.cpus),
        resources.MEMORY: str(Quantity.from_bytes(group.memory_bytes)),
        **{name: str(count) for name, count in group.devices.items()},
    }
    said = ", ".join(f"{value} {name}" for name, value in amounts.items())
    count = len(group.nodes)
    nodes = group.first.name if count == 1 else f"{count} nodes, such as {group.first.name}"
    yield f"{nodes}: {said}; kubelet {group.release or 'of unknown release'}"
    version = versions.minor_version(group.first.kubelet_version)
    if version is None or version.release is None:
        yield (
            f"numalet does not know this release, so these nodes stay undecided; release: "
            f'"{table.NEWEST.name if version is None else version.nearest.name}" decides them '
            "by the rules of that one"
        )


def _pages(group: NodeGroup, proposal: Proposal) -> tuple[dict[str, int], list[str]]:
    pages: dict[str, int] = {}
    for name, size in group.hugepages.items():
        per_node, rest = divmod(
            size // (resources.page_bytes(name) or size), proposal.cpu_nodes or 1
        )
        if proposal.machine is not None and not rest:
            pages[name.removeprefix(resources.HUGEPAGES_PREFIX)] = per_node
    if not group.hugepages:
        return {}, []
    said = ", ".join(
        f"{Quantity.from_bytes(size)} {name}" for name, size in group.hugepages.items()
    )
    if len(pages) == len(group.hugepages):
        return pages, [f"{said} in all, assumed to be spread evenly, as hugepages=N does at boot"]
    return {}, [
        f"{said} in all; how many pages each NUMA node has is not known: hugepages_per_node"
    ]


def _devices(
    group: NodeGroup, proposal: Proposal
) -> tuple[tuple[str, ...] | None, bool, list[str]]:
    """Return the lines of ``devices``, whether they are known, and the reasons."""
    asked = group.devices
    if asked == {name: len(each) for name, each in proposal.devices.items()}:
        return None, True, []
    if not asked:
        return (), True, ["the node has no devices now; those of the profile are left out"]
    zones = {} if group.topology is None else group.topology.capacity
    placed = {
        name: [
            zone for zone, held in zones.items() if name in held for _ in range(held[name].value)
        ]
        for name in asked
    }
    if all(len(placed[name]) == count for name, count in asked.items()):
        lines = tuple(
            f"{name}=" + ",".join(f"{_stem(name)}{at}@{zone}" for at, zone in enumerate(on))
            for name, on in placed.items()
        )
        return (
            lines,
            True,
            ["counts by NUMA node are from its NodeResourceTopology; ids are made up"],
        )
    notes = [
        f"profile:{(proposal.machine or '').removeprefix('profile:')} has {name}={','.join(each)}"
        for name, each in proposal.devices.items()
        if asked.get(name) == len(each)
    ]
    unknown = [
        f"{count} {name}"
        for name, count in asked.items()
        if len(proposal.devices.get(name, ())) != count
    ]
    notes.append(
        f"not known: the NUMA nodes of {', '.join(unknown)}; nvidia-smi topo -m or lspci on "
        f'{group.first.name} shows them. Write ["{next(iter(asked))}=a@0,b@1,c"] for devices a on '
        "node 0, b on node 1 and c on none"
    )
    return None, False, notes


def _stem(resource: str) -> str:
    return _NO_NAME.sub("-", resource.rpartition("/")[2])


def _configuration(
    group: NodeGroup, settings: KubeletSettings
) -> tuple[str | dict[str, Any] | None, list[str]]:
    name = group.first.name
    if settings.file is not None:
        return settings.file, []
    if name in settings.reported:
        kubelets = numbers.counted(len(group.nodes), "kubelet")
        return dict(settings.reported[name]), [f"as reported by {kubelets} (/configz)"]
    attributes = {} if group.topology is None else group.topology.attributes
    policy = attributes.get(class_groups.POLICY_ATTRIBUTE)
    scope = attributes.get(class_groups.SCOPE_ATTRIBUTE)
    notes = [f"not read: {settings.unread[name]}"] if name in settings.unread else []
    if policy is not None:
        notes.append(f"its NodeResourceTopology says topology policy {policy}, scope {scope}")
    if group.rejections.get(_ALIGNMENT):
        pods = numbers.counted(group.rejections[_ALIGNMENT], "pod")
        notes.append(
            f"rejected with {_ALIGNMENT}: {pods}; so its topology policy is restricted or "
            "single-numa-node"
        )
    fields = _fields(group, settings, policy or settings.policy, scope or settings.scope)
    # Without a reserved CPU, a kubelet with a static CPU Manager does not start.
    if settings.policy is not None and resources.CPU in fields.get("kubeReserved", {}):
        return fields, [
            *notes,
            "kubeReserved is capacity less allocatable; policies as you gave them",
        ]
    notes.append(
        f"not known: kubectl get --raw /api/v1/nodes/{name}/proxy/configz > {name}.configz.json; "
        f"then configuration: {name}.configz.json"
    )
    said = json.dumps(fields)
    notes.append(f"or its fields, where kubeReserved is capacity less allocatable: {said}")
    return None, notes


def _fields(
    group: NodeGroup, settings: KubeletSettings, policy: str | None, scope: str | None
) -> dict[str, Any]:
    cpu_milli, memory_bytes = class_groups.reserved_of(group.first)
    fields: dict[str, Any] = {}
    if policy is not None:
        fields["topologyManagerPolicy"] = policy
        fields["topologyManagerScope"] = scope or "container"
        fields["cpuManagerPolicy"] = "static"
    if settings.memory_policy is not None:
        fields["memoryManagerPolicy"] = settings.memory_policy
        if settings.memory_policy == "Static":
            limits = {resources.MEMORY: str(Quantity.from_bytes(memory_bytes))}
            fields["reservedMemory"] = [{"numaNode": 0, "limits": limits}]
    reserved = {}
    if cpu_milli:
        reserved[resources.CPU] = str(Quantity.from_milli(cpu_milli))
    if memory_bytes > _EVICTION_BYTES:
        kept = Quantity.from_bytes(memory_bytes - _EVICTION_BYTES)
        reserved[resources.MEMORY] = str(kept)
    if reserved:
        fields["kubeReserved"] = reserved
    return fields
