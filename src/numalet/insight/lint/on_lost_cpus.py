"""Rules about CPUs that a pod keeps unused, or that pods take from the system.

The node decides on the pods, and on containers of every size.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.config.rules import CpuPolicy, StartRefused
from numalet.core.managers.cpu import cpu_mask, static_policy, topology
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.model import cpu_set, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import Container, ContainerKind, Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node import largest_request
from numalet.core.node.node import Node
from numalet.insight.lint import on_pods, probes, starting
from numalet.insight.lint.lint_finding import LintFinding, LintWarning
from numalet.insight.lint.subject import LintSubject


class LintInitContainerKeepsCpus(LintFinding):
    sentence = (
        "pod {pod} holds CPUs {cpus} that no container uses after init container {container} has "
        "ended: {held} CPUs in all, and the scheduler counts {counted}"
    )
    why = (
        "Later containers take over the CPUs of an init container only if these suit their own "
        "request. The kubelet releases the others when the whole pod ends."
    )
    fix = "{change}"
    pod: str
    container: str
    cpus: str
    held: int
    counted: int
    change: str


class LintReservationOnUnevenCores(LintWarning):
    sentence = "CPUs {reserved} are reserved, and cores have different numbers of CPUs: {effect}"
    why = (
        "The static policy compares the free CPUs of a core with the average of all cores, rounded "
        "down. If a CPU is offline, a core with a reserved CPU can count as free."
    )
    fix = "{change}"
    reserved: str
    effect: str
    change: str


def init_containers(subject: LintSubject, node: Node) -> Iterator[Finding]:
    """Report exclusive CPUs of init containers that stay unused for the pod's lifetime.

    Kubelet v1.32: ``staticPolicy.updateCPUsToReuse``, ``staticPolicy.RemoveContainer``.
    """
    if node.rules.cpu.policy is not CpuPolicy.STATIC:
        return
    for alike in on_pods.in_groups(subject.pods, lambda each: sorted(each.requests.items())):
        pod = alike[0]
        after = node.admit(pod)[0]
        unused = _unused(after, pod)
        if not unused:
            continue
        held = len(cpu_set.EMPTY.union(*after.snapshot.cpu.exclusive[pod.uid].values()))
        counted = static_policy.of_pod(pod)
        owners = [
            each
            for each in pod.init_containers
            if unused & (after.snapshot.cpu.cpus_of(pod.uid, each.name) or cpu_set.EMPTY)
        ]
        yield LintInitContainerKeepsCpus(
            pod=f"{pod}{on_pods.and_more(alike)}",
            container=", ".join(each.name for each in owners),
            cpus=cpu_set.text(unused),
            held=held,
            counted=counted,
            change=_change(node, pod, owners),
            where=subject.place_of(pod, owners[0].name),
            # The scheduler counts the CPUs of a large init container for the whole lifetime too.
            severity=Severity.WARNING if held > counted else Severity.NOTE,
        )


def _unused(after: Node, pod: Pod) -> CpuSet:
    """Return CPUs that init containers of an admitted pod hold and no later container does."""
    of_pod = after.snapshot.cpu.exclusive.get(pod.uid, {})
    if pod.uid not in after.snapshot.pods or pod.uid in after.snapshot.cpu.pods:
        return cpu_set.EMPTY
    init = {each.name for each in pod.init_containers if each.kind is ContainerKind.INIT}
    ended = (cpus for name, cpus in of_pod.items() if name in init)
    used = (cpus for name, cpus in of_pod.items() if name not in init)
    return cpu_set.EMPTY.union(*ended).difference(*used)


def _change(node: Node, pod: Pod, owners: list[Container]) -> str:
    """Return a request of the init containers with which the node leaves no CPU unused."""
    later = {
        static_policy.of_container(pod, each)
        for each in pod.containers()
        if each.kind is not ContainerKind.INIT
    }
    names = ", ".join(each.name for each in owners)
    count = min(later - {0}, default=0)
    changed = pod
    for owner in owners:
        amount = Quantity.from_int(count)
        changed = largest_request.asking(changed, owner.name, resources.CPU, amount)
    after, decision = node.admit(changed)
    if count and decision.admitted and not _unused(after, changed):
        return f"let init container {names} ask for {count} of cpu; then it keeps none"
    return (
        f"let init container {names} ask for a number of cpu that is not whole; it then runs in "
        "the shared pool"
    )


def uneven_cores(subject: LintSubject, node: Node) -> Iterator[Finding]:
    """Report reservations that break where an offline CPU makes cores different.

    Kubelet v1.32: ``cpuAccumulator.isCoreFree``, ``CPUTopology.CPUsPerCore``.
    """
    cpu, machine = node.rules.cpu, node.rules.machine
    cores = [core.threads for each in machine.nodes for core in each.cores]
    sizes = {len(core) for core in cores}
    if cpu.policy is not CpuPolicy.STATIC or len(sizes) < 2:
        return
    policy = static_policy.build(cpu, topology.discover(machine))
    assert isinstance(policy, CpuStaticPolicy), "the node has started with it"
    reserved = cpu_mask.to_set(policy.reserved.cpus)
    split = [core for core in cores if 0 < len(reserved.intersection(core)) < len(core)]
    effect = _given_away(subject, node, reserved, len(policy.allocatable))
    is_number = cpu.reserved_cpus is None and not cpu.reserved_count % max(sizes)
    # With full-pcpus-only, another rule reports every split core.
    if not effect and is_number and split and not cpu.full_pcpus_only:
        parts = ", ".join(f"{{{','.join(map(str, core))}}}" for core in split)
        effect = f"the kubelet chose them by their number, and only a part of the cores {parts}"
    if not effect:
        return
    whole = cpu_set.text(reserved.union(*split))
    yield LintReservationOnUnevenCores(
        reserved=cpu_set.text(reserved),
        effect=effect,
        change=f"bring the missing CPUs online, or set reservedSystemCPUs to {whole}",
        where=subject.config.where("reservedSystemCPUs" if cpu.reserved_cpus else "kubeReserved"),
    )


def _given_away(subject: LintSubject, node: Node, reserved: CpuSet, most: int) -> str:
    """Describe the smallest container that gets reserved CPUs; empty if there is none."""
    for count in range(1, most + 1):
        pod = probes.of_cpus(count)
        after, _ = node.admit(pod)
        given = reserved & (after.snapshot.cpu.cpus_of(pod.uid, "c") or cpu_set.EMPTY)
        if given:
            stops = isinstance(starting.started(subject, after.state_files()), StartRefused)
            next_start = "; while it runs the kubelet does not start again" if stops else ""
            return (
                f"a container with {count} CPUs gets the reserved CPUs {cpu_set.text(given)}"
                f"{next_start}"
            )
    return ""
