"""The plugin's pods as an agent's: records, audits, and a node with whole pods.

Commands, pages, metrics and publishers that read an agent then read the plugin, unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from numalet.agent.nri import plan
from numalet.agent.nri.audit import Misplaced
from numalet.agent.nri.following import FollowedPod
from numalet.agent.nri.plan import Member, Plan
from numalet.agent.nri.seen import SeenPod, Sets
from numalet.core.enforcement import comparison
from numalet.core.enforcement.cgroup_settings import CgroupSettings
from numalet.core.enforcement.comparison import Audit, GuaranteeLevel, Reality
from numalet.core.model.pod import Container, ContainerKey, Pod, QosClass
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node
from numalet.core.snapshot import snapshot as snapshots
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import Cause, ContainerPhase, ContainerRun, PodRun, Verdict
from numalet.core.workload.spec import ContainerSpec, RestartPolicy, Workload
from numalet.io.findings.files import RecordTextOnly
from numalet.wording import kubelet

V = TypeVar("V")


class PluginState(Value, kw_only=True):
    """What the plugin knows at one moment.

    ``served`` are the Pod objects by the runtime's uid. The last audit found ``differing``, the
    kernel's sets of containers that differ from the plan, and ``misplaced``, their memory.
    """

    plan: Plan
    served: Mapping[str, FollowedPod]
    differing: Mapping[str, Sets]
    misplaced: Mapping[str, Misplaced]
    is_enforcing: bool

    def is_same(self, before: PluginState) -> bool:
        """Whether nothing was replaced since then."""
        return (
            self.plan is before.plan
            and self.served is before.served
            and self.differing is before.differing
            and self.misplaced is before.misplaced
            and self.is_enforcing == before.is_enforcing
        )


def whole_pods(node: Node) -> Node:
    """Return the node with containers that were decided alone as parts of their pods."""
    snapshot = node.snapshot
    pods: dict[str, Pod] = {}
    for uid, pod in snapshot.pods.items():
        whole = plan.runtime_uid(uid)
        before = pods.get(whole)
        pods[whole] = replace(pod, uid=whole) if before is None else _together(before, pod)
    if pods.keys() == snapshot.pods.keys():
        return node
    return node.at(
        replace(
            snapshot,
            pods=pods,
            sums=snapshots.sum_of_pods(pods.values()),
            cpu=replace(snapshot.cpu, exclusive=_by_pod(snapshot.cpu.exclusive)),
            memory=replace(snapshot.memory, blocks=_by_pod(snapshot.memory.blocks)),
            device=replace(snapshot.device, records=_by_pod(snapshot.device.records)),
            affinities=_by_pod(snapshot.affinities),
        )
    )


def _together(one: Pod, other: Pod) -> Pod:
    more = [each for each in other.app_containers if each.name not in one.by_name]
    return replace(one, app_containers=(*one.app_containers, *more))


def _by_pod(held: Mapping[str, Mapping[str, V]]) -> dict[str, dict[str, V]]:
    pods: dict[str, dict[str, V]] = {}
    for uid, containers in held.items():
        pods.setdefault(plan.runtime_uid(uid), {}).update(containers)
    return pods


def records(
    of: PluginState,
    audits: Mapping[ContainerKey, Audit],
    before: Mapping[str, PodRecord],
    at: datetime,
) -> list[PodRecord]:
    """Return a record of each pod with a sandbox; a pod that was known keeps its time."""
    members: dict[str, dict[str, Member]] = {}
    for each in of.plan.members.values():
        members.setdefault(each.seen.pod.uid, {})[each.seen.name] = each
    # A pod may have an older sandbox that is about to end.
    pods = {each.uid: each for each in of.plan.sandboxes.values()}
    made = []
    for uid, pod in pods.items():
        known = before.get(uid)
        since = at if known is None else known.run.accepted_at
        made.append(_record(of, audits, pod, members.get(uid, {}), since))
    return made


def _record(
    of: PluginState,
    audits: Mapping[ContainerKey, Audit],
    seen: SeenPod,
    members: Mapping[str, Member],
    since: datetime,
) -> PodRecord:
    served = of.served.get(seen.uid)
    pod = _seen_alone(seen, members) if served is None else served.pod
    manifest = _manifest(pod) if served is None else served.manifest
    runs = {} if served is None else dict(served.runs)
    for name, member in members.items():
        audit = audits.get(ContainerKey(seen.uid, name))
        is_held = of.is_enforcing and audit is not None and audit.aligned
        runs[name] = _run(member, runs.get(name), is_held=is_held)
    refused = (each for key, each in of.plan.refused.items() if key.pod_uid == seen.uid)
    why = next(map(plan.why, refused), "")
    verdict = Verdict(admitted=True)
    if why and not members:
        verdict = Verdict(admitted=False, reason=kubelet.CREATE_CONTAINER_ERROR, message=why)
    images = _images(manifest["spec"])
    workload = Workload(
        pod=pod,
        containers=tuple(
            ContainerSpec(name=each.name, kind=each.kind, image=images.get(each.name, ""))
            for each in pod.containers()
        ),
        restart_policy=RestartPolicy(manifest["spec"].get("restartPolicy") or "Always"),
        manifest=manifest,
    )
    run = PodRun(
        accepted_at=(served and served.created_at) or since,
        verdict=verdict,
        containers=runs,
        causes=(Cause(RecordTextOnly.code, {"text": why}),) if why and members else (),
    )
    return PodRecord(workload, run)


def _seen_alone(seen: SeenPod, members: Mapping[str, Member]) -> Pod:
    """Return the pod as far as the runtime knows it: the containers that it has now."""
    containers = (each.seen.alone.app_containers[0] for each in members.values())
    classes = (seen.qos_class, *(each.seen.alone.qos_class for each in members.values()))
    return Pod(
        uid=seen.uid,
        name=seen.name,
        namespace=seen.namespace,
        app_containers=tuple(containers),
        qos_class=next(filter(None, classes), QosClass.BEST_EFFORT),
    )


def _manifest(pod: Pod) -> dict[str, Any]:
    return {"metadata": {}, "spec": {"containers": list(map(_container, pod.app_containers))}}


def _container(of: Container) -> dict[str, Any]:
    asked = {"requests": of.requests, "limits": of.limits}
    listed = {kind: {name: str(each[name]) for name in each} for kind, each in asked.items()}
    return {"name": of.name, "resources": listed}


def _images(spec: Mapping[str, Any]) -> dict[str, str]:
    containers = (*(spec.get("initContainers") or ()), *spec["containers"])
    return {each["name"]: each.get("image") or "" for each in containers}


def _run(member: Member, served: ContainerRun | None, *, is_held: bool) -> ContainerRun:
    """Return the run of a container that the runtime has; its Pod object may be older."""
    is_running = member.seen.pid > 0
    before = ContainerRun(name=member.seen.name) if served is None else served
    level = GuaranteeLevel.KERNEL if is_held else GuaranteeLevel.NONE
    return replace(
        before,
        phase=ContainerPhase.RUNNING if is_running else ContainerPhase.STARTING,
        attempt=max(before.attempt, 1),
        started_at=before.started_at if before.phase is ContainerPhase.RUNNING else None,
        level=level if is_running else None,
    )


def audits(of: PluginState, at: datetime) -> dict[ContainerKey, Audit]:
    """Return the comparison of each running container with the plan."""
    return {
        ContainerKey(each.seen.pod.uid, each.seen.name): _audit(of, each, at)
        for each in of.plan.members.values()
        if each.seen.pid and not each.seen.pod.is_ignored
    }


def _audit(of: PluginState, member: Member, at: datetime) -> Audit:
    wanted = plan.wanted(of.plan, member)
    found = of.differing.get(member.seen.id, member.in_force)
    machine = of.plan.node.rules.machine
    audit = comparison.audit(
        CgroupSettings(cpus=wanted.cpus or None, memory_nodes=tuple(sorted(wanted.nodes)) or None),
        Reality(
            pages_bytes={},
            # Without a set the kernel allows every CPU and NUMA node.
            allowed_cpus=found.cpus or frozenset(machine.cpu_ids),
            allowed_nodes=tuple(sorted(found.nodes or machine.node_ids)),
            cgroup=None,
            processes=1,
        ),
        at,
    )
    misplaced = of.misplaced.get(member.seen.id)
    return audit if misplaced is None else replace(audit, misplaced_bytes=misplaced.size_bytes)
