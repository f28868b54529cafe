"""The plan: a node of the engine, the runtime's containers, and the settings they should have.

Every function returns the next plan. Containers without exclusive CPUs have the shared pool, so
each allocation shrinks it for all of them, and each release grows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from numalet.agent.nri import deciding, kubelet_devices
from numalet.agent.nri.deciding import ENFORCED, OwnRefusal, Refusal, Terms
from numalet.agent.nri.kubelet_devices import NO_DEVICES, KubeletDevices, OfPod
from numalet.agent.nri.seen import Record, SeenContainer, SeenPod, Sets
from numalet.core.admission import roster
from numalet.core.managers.cpu import confinement, cpu_mask
from numalet.core.managers.cpu.confinement import Confined
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.memory.ledger import Blocks, MemoryLedger
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value, field, replace, without_keys
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.state import rebase
from numalet.wording import kubelet

Manifests = Mapping[str, Pod]
"""Pods of the cluster on this node, by the runtime's uid."""

MOST_OVERRIDES: Final = 3
OVERRIDES_WITHIN_SECONDS: Final = 600.0
"""A container is left to another program that sets its CPUs or NUMA nodes so often in this time."""


class Member(Value):
    """A container that may run. ``key`` is its name in the engine.

    ``overrides`` are the times of ``MOST_OVERRIDES`` at most.
    """

    seen: SeenContainer
    key: ContainerKey
    in_force: Sets
    overrides: tuple[float, ...] = ()

    @property
    def is_left(self) -> bool:
        """Whether another program sets its CPUs and NUMA nodes now (docs/decisions/0029)."""
        return len(self.overrides) >= MOST_OVERRIDES


class Plan(Value):
    """``members`` are by container id, ``sandboxes`` by sandbox id.

    ``refused`` has containers without room, by the runtime's uid and name; some run unpinned.
    """

    node: Node
    terms: Terms = ENFORCED
    members: Mapping[str, Member] = field(default_factory=dict)
    sandboxes: Mapping[str, SeenPod] = field(default_factory=dict)
    refused: Mapping[ContainerKey, Refusal] = field(default_factory=dict)


def why(reason: Refusal) -> str:
    return reason.message if isinstance(reason, OwnRefusal) else kubelet.message(reason)


class Created(Value):
    """``refused`` says why a container got nothing; it is in the shared pool then.

    ``unknown_devices`` are resources whose devices were not known, so the decision ignored them.
    """

    plan: Plan
    wanted: Sets
    record: Record | None = None
    refused: Refusal | None = None
    unknown_devices: Sequence[str] = ()


def created(
    plan: Plan, seen: SeenContainer, manifest: Pod | None, devices: KubeletDevices = NO_DEVICES
) -> Created:
    """Decide on a container that is about to be created."""
    plan = _with_sandbox(plan, seen.pod)
    pod = _workload(seen, manifest)
    key = ContainerKey(pod.uid, seen.name)
    node, refused, unknown = plan.node, None, []
    if not seen.pod.is_ignored and pod.uid not in node.snapshot.pods:
        unknown = kubelet_devices.unknown_of(pod, _devices_of(seen.pod, devices), devices)
        node, refused = _admitted(node, pod, plan.terms, seen.pod, devices)
    if refused is None and key.pod_uid in node.snapshot.pods:
        node = node.container_started(key)
    member = Member(seen, key, Sets())
    plan = replace(plan, node=node)
    sets = wanted(plan, member)
    members = {**plan.members, seen.id: replace(member, in_force=sets)}
    plan = with_refusal(replace(plan, members=members), seen, refused)
    return Created(plan, sets, _record(node.snapshot, key), refused, unknown)


def with_refusal(plan: Plan, seen: SeenContainer, reason: Refusal | None) -> Plan:
    """Return the plan with the outcome of a container's decision; None if it had room."""
    key = ContainerKey(seen.pod.uid, seen.name)
    refused = without_keys(plan.refused, [key])
    return replace(plan, refused=refused if reason is None else {**refused, key: reason})


def updates(plan: Plan) -> Mapping[str, Sets]:
    """Return the settings to change by container id; other settings are empty."""
    return {
        each.seen.id: changes
        for each in plan.members.values()
        if not each.is_left
        and not (changes := _missing(each.in_force, wanted(plan, each))).is_empty
    }


def updated(plan: Plan, changes: Mapping[str, Sets]) -> Plan:
    """Return the plan after these settings came into force, of the containers that it knows."""
    members = dict(plan.members)
    for container_id, sets in changes.items():
        member = members.get(container_id)
        if member is not None:
            in_force = Sets(sets.cpus or member.in_force.cpus, sets.nodes or member.in_force.nodes)
            members[container_id] = replace(member, in_force=in_force)
    return replace(plan, members=members)


def observed(plan: Plan, found: Mapping[str, Sets]) -> Plan:
    """Return the plan with the settings that were found, of the containers that it knows."""
    known = {each: sets for each, sets in found.items() if each in plan.members}
    members = {each: replace(plan.members[each], in_force=sets) for each, sets in known.items()}
    return replace(plan, members={**plan.members, **members})


def overridden(plan: Plan, sets: Mapping[str, Sets], now: float) -> Plan:
    """Return the plan after another program set these; what the plan wants is no override."""
    members = dict(plan.members)
    for container_id, each in sets.items():
        member = members.get(container_id)
        if member is None or member.is_left:
            continue
        should = wanted(plan, member)
        after = Sets(each.cpus or should.cpus, each.nodes or should.nodes)
        if not _missing(after, should).is_empty:
            recent = (at for at in member.overrides if now - at < OVERRIDES_WITHIN_SECONDS)
            members[container_id] = replace(member, overrides=(*recent, now))
    return replace(plan, members=members)


def left(plan: Plan) -> frozenset[str]:
    """Return the containers that are left to another program."""
    return frozenset(each.seen.id for each in plan.members.values() if each.is_left)


def started(plan: Plan, container_id: str, pid: int) -> Plan:
    member = plan.members.get(container_id)
    if member is None:
        return plan
    seen = replace(member.seen, pid=pid)
    return replace(plan, members={**plan.members, container_id: replace(member, seen=seen)})


def sandbox_started(plan: Plan, pod: SeenPod) -> Plan:
    return _with_sandbox(plan, pod)


def container_ended(plan: Plan, container_id: str) -> Plan:
    """Forget a container. Its pod keeps the resources: the kubelet may start it again."""
    return replace(plan, members=without_keys(plan.members, [container_id]))


def sandbox_ended(plan: Plan, sandbox_id: str) -> Plan:
    """Release what a pod holds, unless a newer sandbox of it exists."""
    ended = plan.sandboxes.get(sandbox_id)
    sandboxes = without_keys(plan.sandboxes, [sandbox_id])
    gone = [each.seen.id for each in plan.members.values() if _sandbox(each) == sandbox_id]
    plan = replace(plan, members=without_keys(plan.members, gone), sandboxes=sandboxes)
    if ended is None or ended.uid in {each.uid for each in sandboxes.values()}:
        return plan
    node = plan.node
    for uid in list(node.snapshot.pods):
        if runtime_uid(uid) == ended.uid:
            node = node.remove(uid)
    refused = {key: each for key, each in plan.refused.items() if key.pod_uid != ended.uid}
    return replace(plan, node=node.release_stale(), refused=refused)


def rebuilt(
    began: Node,
    before: Plan,
    pods: Iterable[SeenPod],
    seen: Iterable[SeenContainer],
    manifests: Manifests,
    devices: KubeletDevices = NO_DEVICES,
) -> Plan:
    """Return the plan for the containers that a runtime has.

    A container keeps what its record says, else what it held in ``before``; other containers are
    decided now, in the given order. ``began`` is a node without pods. A sandbox without a process
    and without containers has ended: the kubelet removes it later, or when it deletes the pod.
    """
    seen = tuple(seen)
    in_use = {each.pod.sandbox_id for each in seen}
    sandboxes = {
        each.sandbox_id: each for each in pods if each.has_process or each.sandbox_id in in_use
    }
    # Until all are decided, the records of those that follow are not stale.
    node = began.at(_restored(began, before.node.snapshot, sandboxes, seen)).awaiting_sources()
    members = {}
    without_room = {}
    for each in seen:
        pod = _workload(each, manifests.get(each.pod.uid))
        key = ContainerKey(pod.uid, each.name)
        if each.record is not None and key.pod_uid != each.record.pod_uid:
            # It was decided alone, before the Pod object was known.
            pod, key = each.alone, ContainerKey(each.alone.uid, each.name)
        known = before.members.get(each.id)
        overrides = () if known is None else known.overrides
        members[each.id] = Member(each, key, each.in_force, overrides)
        if each.pod.is_ignored:
            continue
        if pod.uid not in node.snapshot.pods:
            node, refused = _admitted(node, pod, before.terms, each.pod, devices)
            if refused is not None and any(deciding.holds(node.snapshot, key) for key in pod.keys):
                node = node.keep_active(pod)
        if pod.uid in node.snapshot.pods:
            node = node.container_started(key)
        elif refused is not None:
            without_room[ContainerKey(each.pod.uid, each.name)] = refused
    return Plan(node.sources_ready(), before.terms, members, sandboxes, without_room)


def _restored(
    began: Node,
    before: Snapshot,
    sandboxes: Mapping[str, SeenPod],
    seen: Iterable[SeenContainer],
) -> Snapshot:
    alive = {each.uid for each in sandboxes.values()}
    cpus: dict[str, dict[str, CpuSet]] = {}
    blocks: dict[str, dict[str, Blocks]] = {}
    confined: dict[str, Confined] = {}

    def hold(key: ContainerKey, held: CpuSet, memory: Blocks) -> None:
        if held:
            cpus.setdefault(key.pod_uid, {})[key.container] = held
        if memory:
            blocks.setdefault(key.pod_uid, {})[key.container] = memory

    for key, place in placement.of_all(before).items():
        if runtime_uid(key.pod_uid) in alive:
            hold(key, place.cpus, place.memory)
    for each in seen:
        if each.record is not None:
            key = ContainerKey(each.record.pod_uid, each.name)
            hold(key, cpu_set.parse(each.record.cpus), each.record.memory)
            if each.record.confined is not None:
                confined[key.pod_uid] = each.record.confined
    staff, snapshot = began.roster, began.snapshot
    if confined:
        snapshot = replace(snapshot, extra_ledgers={confinement.PROVIDER: confined})
    if staff.static_cpus is not None:
        ledger, _ = rebase.rebased_cpus(CpuLedger(exclusive=cpus), staff.static_cpus)
        snapshot = replace(snapshot, cpu=ledger)
    if snapshot.memory.nodes:
        old = MemoryLedger(snapshot.memory.nodes, blocks)
        memory, _ = rebase.rebased_memory(old, roster.initial_memory(staff.rules))
        snapshot = replace(snapshot, memory=memory)
    return snapshot


def _admitted(
    node: Node, pod: Pod, terms: Terms, seen: SeenPod, devices: KubeletDevices
) -> tuple[Node, Refusal | None]:
    held = _devices_of(seen, devices)
    given, shown = kubelet_devices.with_devices(node, pod, held, devices)
    after, refused = deciding.admitted(given, pod, terms, seen.choice, shown)
    return (node if refused else after), refused


def _devices_of(pod: SeenPod, devices: KubeletDevices) -> OfPod:
    return devices.held.get((pod.namespace, pod.name), {})


def _workload(seen: SeenContainer, manifest: Pod | None) -> Pod:
    """Return the whole pod, if it is known and has this container; an ephemeral one is alone."""
    if manifest is None or seen.name not in manifest.by_name:
        return seen.alone
    return manifest


def wanted(plan: Plan, member: Member) -> Sets:
    """Return the sets that a container should have."""
    if member.seen.pod.is_ignored:
        return Sets()
    snapshot, policy = plan.node.snapshot, plan.node.roster.static_cpus
    cpus = placement.cpus(snapshot, *member.key)
    confined = _confined(snapshot, member.key)
    if policy is not None and confined is not None and cpus == snapshot.cpu.default:
        # Without CPUs of its node in the pool, it still needs some.
        node_cpus = cpu_mask.to_set(confinement.cpus_of(policy, confined.node_id))
        cpus = cpus & node_cpus or cpus
    return Sets(cpus, frozenset(placement.memory_nodes(snapshot, *member.key)))


def _confined(snapshot: Snapshot, key: ContainerKey) -> Confined | None:
    ledger: Mapping[str, Confined] = snapshot.extra_ledgers.get(confinement.PROVIDER, {})
    return ledger.get(key.pod_uid)


def _missing(in_force: Sets, wanted: Sets) -> Sets:
    return Sets(
        cpu_set.EMPTY if wanted.cpus == in_force.cpus else wanted.cpus,
        frozenset() if wanted.nodes == in_force.nodes else wanted.nodes,
    )


def _record(snapshot: Snapshot, key: ContainerKey) -> Record | None:
    place, confined = placement.of_container(snapshot, *key), _confined(snapshot, key)
    if not (place.cpus or place.memory or confined):
        return None
    return Record(key.pod_uid, cpu_set.text(place.cpus), place.memory, confined)


def _with_sandbox(plan: Plan, pod: SeenPod) -> Plan:
    if pod.sandbox_id in plan.sandboxes:
        return plan
    return replace(plan, sandboxes={**plan.sandboxes, pod.sandbox_id: pod})


def _sandbox(member: Member) -> str:
    return member.seen.pod.sandbox_id


def runtime_uid(uid: str) -> str:
    """Return the uid of the pod of the runtime; a container alone has its name behind it."""
    return uid.partition("/")[0]


def unpinned(plan: Plan) -> Iterator[Member]:
    """Yield containers with CPUs, memory or a NUMA node of their own that run without them."""
    for container_id in updates(plan):
        member = plan.members[container_id]
        is_confined = _confined(plan.node.snapshot, member.key) is not None
        if is_confined or deciding.holds(plan.node.snapshot, member.key):
            yield member
