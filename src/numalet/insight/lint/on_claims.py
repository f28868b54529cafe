"""Rules about pods with claims on nodes where managers and drivers share resources.

The scheduler allocates claims without knowledge of the managers, and the managers ignore claims. If
both manage the same CPUs or memory, each keeps separate accounts.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.config.rules import CpuPolicy, TopologyPolicy
from numalet.core.model import resources
from numalet.core.model.findings import Finding, Severity
from numalet.insight.lint import claim_view, on_pods
from numalet.insight.lint.claim_view import ClaimUse, ClaimView
from numalet.insight.lint.lint_finding import LintFinding, some_of
from numalet.insight.lint.subject import LintSubject


class BesideDraDriverFinding(LintFinding):
    """A manager and a driver with the same resource; ``evidence`` shows the driver."""

    evidence: str


class LintCpuManagerBesideDraDriver(BesideDraDriverFinding):
    sentence = (
        "the CPU Manager's policy is static, and a driver of dynamic resource allocation hands "
        "out the same CPUs: {evidence}"
    )
    why = (
        "Neither knows the allocations of the other: containers are pinned to the same CPUs, or "
        "do not start. Drivers of CPUs demand the CPU Manager's policy none."
    )
    fix = "set cpuManagerPolicy to none where the driver runs, or remove the driver from this node"


class LintMemoryManagerBesideDraDriver(BesideDraDriverFinding):
    sentence = (
        "the Memory Manager's policy is {policy}, and a driver of dynamic resource allocation "
        "hands out the same memory: {evidence}"
    )
    why = (
        "Each of the two counts the memory of every NUMA node as its own, and each sets the nodes "
        "that a container may use: the later one wins."
    )
    fix = (
        "set memoryManagerPolicy to None where the driver runs, or remove the driver from this node"
    )
    policy: str


class LintClaimShared(LintFinding):
    sentence = "{claim} is {resource} for one container, and {count} use it: {users}"
    why = (
        "Drivers of CPUs and memory prepare a claim for one container only; the other containers "
        "fail with CreateContainerError. This applies to init containers too."
    )
    fix = "give each container a separate claim; a ResourceClaimTemplate makes one for each pod"
    claim: str
    resource: str
    count: int
    users: str


class LintClaimsGiveNoHints(LintFinding):
    sentence = (
        "pod {pod}, container {container}: the policy {policy} does not align its claim {claim} "
        "with its CPUs and memory"
    )
    why = (
        "The Topology Manager merges the hints of the CPU Manager, the Memory Manager and device "
        "plugins. Devices of claims are chosen before, by the scheduler, and give no hints."
    )
    fix = (
        "claim CPUs and device together, with matchAttribute; or use the device plugin of the "
        "device"
    )
    pod: str
    container: str
    claim: str
    policy: str


def manager_beside_driver(subject: LintSubject) -> Iterator[Finding]:
    config = subject.config
    if config.cpu_manager_policy == CpuPolicy.STATIC.value:
        evidence = _evidence(subject.claim_view, {resources.CPU})
        if evidence:
            where = config.where("cpuManagerPolicy")
            yield LintCpuManagerBesideDraDriver(evidence=evidence, where=where)
    if subject.pins_memory:
        names = {resources.MEMORY, "hugepages-2Mi", "hugepages-1Gi"}
        evidence = _evidence(subject.claim_view, names)
        if evidence:
            yield LintMemoryManagerBesideDraDriver(
                evidence=evidence,
                policy=config.memory_manager_policy,
                where=config.where("memoryManagerPolicy"),
            )


def _evidence(view: ClaimView, names: set[str]) -> str:
    """Return the evidence of a driver for one of these resources; empty without it."""
    devices = [each for each in view.devices if claim_view.resource_of_device(each) in names]
    nodes = {each.node for each in devices if each.node}
    # Devices of some other node of a cluster dump prove nothing about this one.
    if view.nodes and nodes.issuperset(view.nodes):
        driver = min(each.driver for each in devices)
        return f"{driver} offers devices of node {some_of(view.nodes)}"
    for use in view.uses:
        for request in use.requests:
            if {view.resource_of(each) for each in request.alternatives} & names:
                return f"pod {use.pod}, container {use.container.name} uses {use.claim}"
    return ""


def claim_shared(subject: LintSubject) -> Iterator[Finding]:
    view = subject.claim_view
    by_claim: dict[tuple[str, ...], list[ClaimUse]] = {}
    for use in view.uses:
        if use.claim is None or use.named is None or not use.requests:
            continue
        # Each pod gets a separate claim from a template, so only containers of one pod share it.
        of_pod = () if not use.claim.is_template else (use.pod.uid, use.named.name)
        by_claim.setdefault((str(use.claim), *of_pod), []).append(use)
    for uses in by_claim.values():
        claim = uses[0].claim
        users = [f"pod {use.pod}, container {use.container.name}" for use in uses]
        users = list(dict.fromkeys(users))
        asked = (each for request in uses[0].requests for each in request.alternatives)
        names = sorted({view.resource_of(each) for each in asked} - {""})
        if claim is None or len(users) < 2 or not names:
            continue
        yield LintClaimShared(
            claim=str(claim),
            resource=" and ".join(names),
            count=len(users),
            users=some_of(users, "; "),
            where=subject.place_of(uses[1].pod, uses[1].container.name),
        )


def claims_give_no_hints(subject: LintSubject) -> Iterator[Finding]:
    config, view = subject.config, subject.claim_view
    pins = config.cpu_manager_policy == CpuPolicy.STATIC.value or subject.pins_memory
    if not (subject.aligns and pins):
        return
    strict = (TopologyPolicy.RESTRICTED.value, TopologyPolicy.SINGLE_NUMA_NODE.value)
    is_strict = config.topology_manager_policy in strict
    for alike in view.alike:
        pod = alike[0]
        for use in view.uses_of(pod):
            asked = [each for request in use.requests for each in request.alternatives]
            # Claims of CPUs or memory are reported by ``manager_beside_driver``.
            if use.named is None or any(view.resource_of(each) for each in asked):
                continue
            yield LintClaimsGiveNoHints(
                pod=f"{pod}{on_pods.and_more(alike)}",
                container=use.container.name,
                claim=use.used.name,
                policy=config.topology_manager_policy,
                where=subject.place_of(pod, use.container.name),
                severity=Severity.WARNING if is_strict else Severity.NOTE,
            )
