"""What a check says about options, CPUs and the next start is what the engine decides when asked.

A finding that the engine contradicts is a false alarm; a refusal without a finding is a gap.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness import thoroughness
from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import KubeletWouldCrash
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Finding
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.insight.lint import on_options, probes, rules, starting
from numalet.insight.lint.subject import LintSubject
from values import cpu_builders, random_nodes

pytestmark = pytest.mark.property

SEEDS = range(thoroughness.of(40, 2000))
NOT_AGAIN = {"lint/pod-stops-next-start", "lint/pods-empty-the-pool"}
WHOLE_CORES = {"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"}


def subjects() -> Iterator[tuple[LintSubject, Node, list[Finding]]]:
    """Any setup that starts, with up to four pods."""
    for seed in SEEDS:
        rng = random.Random(seed)
        setup = random_nodes.setup(rng)
        pods = (
            replace(random_nodes.shape(rng), uid=f"u{at}", name=f"p{at}")
            for at in range(rng.choice([0, 1, 2, 3, 4]))
        )
        subject = LintSubject(
            config=setup.config,
            machine=setup.machine,
            pods=tuple(pods),
            behaviour=setup.behaviour,
            devices=setup.devices,
        )
        node = starting.start(subject).empty
        if node is not None:
            yield subject, node, [*rules.check(subject).own]


def named(finding: Finding) -> str:
    return str(finding.fields.get("pod", "")).partition(" ")[0].removeprefix("default/")


def admitted(node: Node, pods: tuple[Pod, ...]) -> tuple[Node, list[Decision]]:
    decisions = []
    for pod in pods:
        node, decision = node.admit(pod)
        node = node.pod_started(pod.uid) if decision.admitted else node
        decisions.append(decision)
    return node, decisions


def test_findings_about_pods_are_what_the_engine_decides() -> None:
    alone: set[bool] = set()
    for subject, node, found in subjects():
        never = {named(f) for f in found if f.code.startswith(("lint/pod-n", "lint/pod-l"))}
        crashing = {named(f) for f in found if f.code == "lint/pod-crashes-kubelet"}
        for pod in subject.pods:
            after, decision = node.admit(pod)
            alone.add(decision.admitted)
            if decision.admitted:
                assert pod.name not in never
            else:
                assert pod.name in never | crashing
            for finding in found:
                if finding.code == "lint/fractional-cpus" and named(finding) == pod.name:
                    assert not after.snapshot.cpu.cpus_of(pod.uid, finding.fields["container"])
    assert alone == {True, False}


def test_a_kubelet_that_would_not_start_again_is_reported_before() -> None:
    for subject, node, found in subjects():
        after, decisions = admitted(node, subject.pods)
        # A rejected pod can hold CPUs until the next admission.
        if subject.behaviour.state_follows_the_machine or not (
            decisions and decisions[-1].admitted
        ):
            continue
        is_refused = isinstance(starting.started(subject, after.state_files()), StartRefused)
        assert is_refused is bool(NOT_AGAIN & {each.code for each in found})


def without_option(config: KubeletConfig, option: str) -> KubeletConfig:
    of_cpus, of_nodes = (
        {name: on for name, on in (options or {}).items() if name != option} or None
        for options in (config.cpu_manager_policy_options, config.topology_manager_policy_options)
    )
    return replace(
        config, cpu_manager_policy_options=of_cpus, topology_manager_policy_options=of_nodes
    )


def test_an_option_that_changes_nothing_can_be_removed() -> None:
    removed: set[str] = set()
    for subject, node, found in subjects():
        for finding in found:
            option = finding.fields.get("setting", "")
            if not option.islower() or not finding.fields["pods"].startswith("default/"):
                continue
            removed.add(option)
            other = replace(subject, config=without_option(subject.config, option))
            without = starting.started(other, {})
            assert isinstance(without, Node)
            before, now = (admitted(each, subject.pods)[1] for each in (node, without))
            assert [each.placements for each in before] == [each.placements for each in now]
    assert len(removed) > 2


@pytest.mark.parametrize("policy", random_nodes.POLICIES)
def test_a_kubelet_that_can_hang_is_reported_before(policy: str) -> None:
    machine = replace(cpu_builders.shape(4, 4, 4, 2), memory_capacity_bytes=64 << 30)
    hanging = 0
    for seed in range(thoroughness.of(50, 2000)):
        reserved = random.Random(seed).sample(machine.cpu_ids, 4)
        config = KubeletConfig(
            cpu_manager_policy="static",
            cpu_manager_policy_options=WHOLE_CORES,
            reserved_system_cpus=",".join(map(str, reserved)),
            uses_default_eviction=True,
            feature_gates={"CPUManagerPolicyAlphaOptions": True},
            topology_manager_policy=policy,
        )
        subject = LintSubject(config=config, machine=machine)
        node = starting.start(subject).empty
        assert node is not None
        decisions = (node.admit(probes.of_cpus(count))[1] for count in range(2, 32, 2))
        if any(isinstance(each.rejection, KubeletWouldCrash) for each in decisions):
            hanging += 1
            assert [*on_options.may_hang(subject, node.rules)]
    assert bool(hanging) is (policy in ("none", "best-effort"))
