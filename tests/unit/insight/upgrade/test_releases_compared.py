"""What changes between two releases: the start, gates, options, rules, pods, state files."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import CommandFlag, KubeletConfig
from numalet.core.config.releases import table
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.pod import (
    Container,
    ContainerKind,
    Pod,
    PodLevelResources,
    QosClass,
    StatusResources,
)
from numalet.core.model.quantity import Quantity
from numalet.core.node.restarting import KubeletRestart
from numalet.core.snapshot.placement import Placement
from numalet.insight.lint.subject import LintSubject
from numalet.insight.simulate.session import Scenario
from numalet.insight.upgrade import compare, files, pods
from numalet.insight.upgrade.compare import ReleasesCompared
from numalet.insight.usecases import scenario_document
from numalet.io.documents.text.typed import Place
from numalet.wording import restarts
from oracles import recordings
from values import builders, cpu_builders

CACHES = replace(cpu_builders.shape(1, 1, 8, 2, cores_per_cache=2), memory_capacity_bytes=64 << 30)


def compared(subject: LintSubject, before: str = "1.32", after: str = "1.36") -> ReleasesCompared:
    first, second = (
        replace(subject, behaviour=replace(EXACT, release=table.of_name(name)))
        for name in (before, after)
    )
    return compare.compare(first, second)


def changes(subject: LintSubject, before: str = "1.32", after: str = "1.36") -> dict[str, Finding]:
    both = compared(subject, before, after)
    found = (*both.changes, *both.others)
    return {finding.code.removeprefix("upgrade/"): finding for finding in found}


def seen(subject: LintSubject) -> KubeletRestart:
    """What the kubelet of the subject decides; it starts."""
    result = pods.seen(subject)
    assert isinstance(result, KubeletRestart)
    return result


def static_cpus(**more: Any) -> KubeletConfig:
    return KubeletConfig(
        cpu_manager_policy="static", reserved_system_cpus="0-1", uses_default_eviction=True, **more
    )


def recorded(name: str) -> Scenario:
    (line,) = (
        line for line in recordings.lines(name.partition("-")[0]) if f'"{name}"'.encode() in line
    )
    return scenario_document.decode(msgspec.json.decode(line), Place("recorded"))


def subject_of(scenario: Scenario) -> LintSubject:
    pods = tuple(step for step in scenario.steps if isinstance(step, Pod))
    return LintSubject(
        config=scenario.config, machine=scenario.machine, devices=scenario.devices, pods=pods
    )


def of_rules(found: tuple[Finding, ...]) -> set[str]:
    """The names of rules and gates among these changes."""
    return {each.fields.get("name") or each.fields["gate"] for each in found if _is_rule(each)}


def _is_rule(of: Finding) -> bool:
    return of.code in ("upgrade/rule", "upgrade/rule-ends", "upgrade/gate-default")


def test_rules_that_do_not_affect_the_inputs_are_apart() -> None:
    nothing = compared(
        LintSubject(config=KubeletConfig(uses_default_eviction=True), machine=CACHES)
    )
    assert of_rules(nothing.changes) == set()
    assert "kept_cpus_may_break_cores" not in of_rules(nothing.changes)
    assert "odd_requests_drop_one_cpu" in of_rules(nothing.others)
    assert "InPlacePodVerticalScaling" in of_rules(nothing.others)
    assert {each.severity for each in nothing.others} == {Severity.NOTE}


def test_a_rule_that_moves_a_pod_affects_the_inputs() -> None:
    by_cache = static_cpus(
        cpu_manager_policy_options={"prefer-align-cpus-by-uncorecache": "true"},
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
    )
    odd = LintSubject(config=by_cache, machine=CACHES, pods=(cpu_builders.simple("odd", "3"),))
    found = compared(odd)
    assert "odd_requests_drop_one_cpu" in of_rules(found.changes)
    assert of_rules(found.changes).isdisjoint(of_rules(found.others))


def test_a_rule_that_ends_and_a_gate_that_is_gone_are_tried_too() -> None:
    plain = LintSubject(config=static_cpus(), machine=CACHES)
    back = compared(plain, "1.37", "1.32")
    assert "state_files_have_data" in of_rules(back.changes), "the files have another form"
    assert "PodLevelResourcesFixDefaulting" in of_rules(back.others)
    stopped = LintSubject(config=static_cpus(fail_swap_on=True, max_pods=-1), machine=CACHES)
    assert "odd_requests_drop_one_cpu" in of_rules(compared(stopped).others)


def test_a_release_compared_with_itself_changes_nothing() -> None:
    subject = subject_of(recorded("topology-10549"))

    for release in table.RELEASES:
        assert compared(subject, release.name, release.name).changes == ()


def test_a_flag_that_is_gone_is_an_error_and_hides_nothing_else() -> None:
    flag = CommandFlag("pod-infra-container-image", Location("env", "--pod-infra", 1))
    config = static_cpus(
        flags=(flag,), cpu_manager_policy_options={"strict-cpu-reservation": "true"}
    )
    found = changes(LintSubject(config=config, machine=CACHES), "1.34", "1.35")

    assert str(found["does-not-start"]).endswith("unknown flag: --pod-infra-container-image")
    assert found["flag/unknown"].severity is Severity.ERROR
    assert found["flag/unknown"].where == flag.where
    assert found["without-flags"].fields == {
        "release": "1.35",
        "flags": "--pod-infra-container-image",
    }
    assert "option" in found


def test_an_option_that_graduated_lets_the_kubelet_start() -> None:
    config = static_cpus(
        cpu_manager_policy_options={"strict-cpu-reservation": "true"},
        origins={"cpuManagerPolicyOptions": Location("kubelet.yaml", "$.options", 7)},
    )
    found = changes(LintSubject(config=config, machine=CACHES))

    assert found["starts"].severity is Severity.NOTE
    assert 'Alpha-level Options not enabled, but option "strict-cpu' in str(found["starts"])
    assert str(found["option"]) == (
        "option strict-cpu-reservation, which is used, is alpha in v1.32 and stable in v1.36"
    )
    assert found["option"].where.line == 7
    back = changes(LintSubject(config=config, machine=CACHES), "1.36", "1.32")
    assert back["does-not-start"].severity is Severity.ERROR
    assert "config/cpu-option-needs-gate" in back


def test_a_pod_that_lands_elsewhere_is_named_with_both_places() -> None:
    config = static_cpus(
        cpu_manager_policy_options={"prefer-align-cpus-by-uncorecache": "true"},
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
    )
    asking = builders.pod("u", builders.container("c0", cpu="7", memory="1Gi"))
    subject = LintSubject(config=config, machine=CACHES, pods=(asking,))
    found = changes(subject, "1.32", "1.33")

    assert found["pod-elsewhere"].severity is Severity.WARNING
    assert found["pod-elsewhere"].fields["holds_before"] == "CPUs 2-4,8,10-12"
    assert found["pod-elsewhere"].fields["holds_after"] == "CPUs 2-5,10-12"
    rules = [each.fields["name"] for each in compared(subject).changes if "rule" in each.code]
    assert "odd_requests_drop_one_cpu" in rules
    assert "memory_type_has_a_version" not in rules, "words alone are no news"


def test_a_pod_that_a_later_release_rejects_is_an_error() -> None:
    subject = subject_of(recorded("topology-10549"))
    found = compared(subject).changes
    rejected = [each for each in found if each.code == "upgrade/pod-rejected"]

    assert [each.fields["reason"] for each in rejected] == ["UnexpectedAdmissionError"]
    assert found[0].severity is Severity.ERROR
    back = compared(subject, "1.36", "1.32").changes
    assert "upgrade/pod-admitted" in {each.code for each in back}
    assert "upgrade/rule-ends" in {each.code for each in back}


def test_state_files_that_one_release_alone_reads() -> None:
    config = KubeletConfig(uses_default_eviction=True)
    damaged = '{"policyName":"None","machineState":{},"checksum":0}'
    subject = LintSubject(
        config=config,
        machine=builders.machine(10),
        state_files={memory_file.FILE_NAME: damaged},
    )

    assert "checkpoint is corrupted" in str(changes(subject)["starts"])
    back = changes(subject, "1.36", "1.35")
    assert "memory-state/corrupted" in back
    assert "checkpoint is corrupted" in str(back["does-not-start"])


def test_pods_of_state_files_are_shown_to_the_new_kubelet_again() -> None:
    config = static_cpus(
        cpu_manager_policy_options={"prefer-align-cpus-by-uncorecache": "true"},
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
    )
    asking = builders.pod("u", builders.container("c0", cpu="7", memory="1Gi"))
    held = '{"policyName":"static","defaultCpuSet":"0-1,5-7,9,13-15",'
    held += '"entries":{"u":{"c0":"2-4,8,10-12"}},"checksum":0}'
    subject = LintSubject(
        config=config, machine=CACHES, pods=(asking,), state_files={cpu_file.FILE_NAME: held}
    )

    assert "pod-elsewhere" not in changes(subject), "what a container has it keeps"
    assert "pod-rejected" not in changes(subject)


def whole_cores(*holders: str) -> LintSubject:
    """Pods of 6 CPUs that run under full-pcpus-only, and leave 2 of 16 CPUs free."""
    config = static_cpus(cpu_manager_policy_options={"full-pcpus-only": "true"})
    asked = {"cpu": Quantity.parse("6"), "memory": Quantity.parse("1Mi")}
    container = Container("c", ContainerKind.APP, asked, asked)
    held = '{"policyName":"static","defaultCpuSet":"0-1,8-9",'
    held += '"entries":{"a":{"c":"2-4,10-12"},"b":{"c":"5-7,13-15"}},"checksum":0}'
    return LintSubject(
        config=config,
        machine=CACHES,
        pods=tuple(builders.pod(uid, container) for uid in holders),
        state_files={cpu_file.FILE_NAME: held},
    )


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.34", "1.35", "1.36"])
def test_a_running_pod_that_both_releases_reject_is_lost(release: str) -> None:
    found = compared(whole_cores("a", "b"), release, release).changes

    assert [str(each).partition(": SMT Al")[0] for each in found] == [
        f"v{release} rejects pod default/{uid}, which runs: SMTAlignmentError" for uid in "ab"
    ]
    assert {each.severity for each in found} == {Severity.ERROR}


def test_a_running_pod_is_lost_although_the_earlier_release_does_not_start() -> None:
    subject = whole_cores("a")
    gate = replace(subject.config, feature_gates={"PodLevelResourceManagers": True})
    before = replace(subject, config=gate)
    assert "pod-rejected" in changes(before, "1.35", "1.36")
    files_of_none = replace(subject, config=KubeletConfig(uses_default_eviction=True))
    assert "pod-rejected" not in changes(files_of_none, "1.35", "1.36"), "neither starts"


def test_a_running_pod_that_the_later_release_keeps_is_a_note() -> None:
    subject = whole_cores("a")
    relaxed = replace(subject, config=static_cpus())
    found = list(pods.changes(subject, relaxed, seen(subject), seen(relaxed)))
    assert [each.code for each in found] == ["upgrade/pod-admitted"]
    assert list(pods.changes(subject, subject, seen(subject), seen(subject))) == []
    assert list(pods.lost(relaxed, seen(relaxed))) == []


def test_a_running_pod_that_gets_other_cpus_is_a_warning() -> None:
    newest = replace(whole(), behaviour=replace(EXACT, release=table.of_name("1.36")))
    again = replace(newest, state_files=seen(newest).node.state_files())
    moved = {each.code: str(each) for each in reversed(list(pods.lost(again, seen(again))))}
    assert moved["restart/pod-moved"] == (
        "container a of pod default/u runs with CPUs 2,10; after the restart the kubelet gives "
        "it CPUs 4,12"
    )
    assert moved["upgrade/starts-once"].startswith(
        "v1.36 starts with the state files, and not a second time: start cpu manager error: "
        "current set of available CPUs"
    )


@pytest.mark.parametrize(
    ("release", "standing"),
    [("1.32", "runs"), ("1.33", "runs, when v1.33 starts a second time"), ("1.35", "runs")],
)
def test_a_status_that_the_kubelet_writes_counts_at_its_second_start(
    release: str, standing: str
) -> None:
    subject = whole_cores("a", "b")
    empty = StatusResources({"c": {}}, {}, {"c": True})
    given = tuple(replace(pod, allocated=empty) for pod in subject.pods)
    found = compared(replace(subject, pods=given), release, release).changes
    rejected = [each for each in found if each.code == "upgrade/pod-rejected"]

    assert [each.fields["standing"] for each in rejected] == [standing, standing]


def whole_pod() -> Pod:
    """A Guaranteed pod of 4 CPUs, of which one container has 2 to itself."""
    sizes = {name: Quantity.parse(size) for name, size in (("cpu", "4"), ("memory", "2Gi"))}
    exclusive = builders.container("a", cpu="2", memory="1Gi")
    of_pod = PodLevelResources(sizes, sizes, QosClass.GUARANTEED)
    return replace(
        builders.pod("u", exclusive, Container("b", ContainerKind.APP, {}, {})),
        qos_class=QosClass.BURSTABLE,
        pod_level=of_pod,
    )


def whole(**more: Any) -> LintSubject:
    config = static_cpus(
        topology_manager_policy="best-effort",
        topology_manager_scope="pod",
        feature_gates={"PodLevelResourceManagers": True},
    )
    return LintSubject(config=config, machine=CACHES, pods=(whole_pod(),), **more)


def test_gates_that_a_release_refuses_do_not_hide_what_becomes_of_pods() -> None:
    found = changes(whole(), "1.35", "1.36")

    assert "unrecognized feature gate: PodLevelResourceManagers" in str(found["starts"])
    assert found["without-gates"].fields == {
        "release": "1.35",
        "gates": "PodLevelResourceManagers",
    }
    assert found["pod-elsewhere"].fields["holds_before"] == "only shared resources"
    of_rules = [code for code in found if code.startswith("lint/")]
    assert of_rules == ["lint/pod-stops-next-start"], "of all others both find the same"


def test_formats_that_the_earlier_release_does_not_read_are_no_way_back() -> None:
    found = changes(whole(), "1.35", "1.36")

    assert "checkpoint is corrupted" in str(found["no-way-back"])
    assert "no-way-back" not in changes(whole(), "1.36", "1.35")


def test_what_a_pod_has_as_a_whole_is_lost_where_no_release_knows_it() -> None:
    before = replace(whole(), behaviour=replace(EXACT, release=table.of_name("1.36")))
    text = seen(before).node.state_files()[cpu_file.FILE_NAME]
    unsealed = {cpu_file.FILE_NAME: re.sub(r'"checksum":\d+', '"checksum":0', text)}
    without = replace(before.config, feature_gates={})
    after = replace(before, config=without, state_files=unsealed)

    before = replace(before, state_files=unsealed)
    found = {each.code: each for each in files.changes(before, after, seen(before), seen(after))}
    assert found["upgrade/pod-record-lost"].fields["held"] == "CPUs 2-3,10-11"
    assert found["upgrade/pod-record-lost"].fields["holds"] == "only shared resources"


def test_a_start_that_both_refuse_is_still_refused() -> None:
    config = KubeletConfig(kube_reserved={"memory": "1Ti"}, uses_default_eviction=True)
    found = changes(LintSubject(config=config, machine=CACHES))
    assert found["neither-starts"].severity is Severity.ERROR
    assert "kubelet v1.36 does not start either" in str(found["neither-starts"])


def test_a_gate_that_is_set_and_stands_otherwise_is_named() -> None:
    config = static_cpus(feature_gates={"CPUManagerPolicyOptions": True})
    found = changes(LintSubject(config=config, machine=CACHES))
    assert found["gate-set"].fields == {
        "gate": "CPUManagerPolicyOptions",
        "standing_before": "beta, on",
        "standing_after": "GA, locked to on",
        "before": "1.32",
        "after": "1.36",
    }


def started_with(cpus: str) -> tuple[LintSubject, KubeletRestart]:
    """A node that began with a state file in which a container has these CPUs."""
    shared = {"2-3": "0-1,4-15", "4-5": "0-3,6-15"}[cpus]
    held = f'{{"policyName":"static","defaultCpuSet":"{shared}",'
    held += f'"entries":{{"u":{{"c0":"{cpus}"}}}},"checksum":0}}'
    subject = LintSubject(
        config=static_cpus(), machine=CACHES, state_files={cpu_file.FILE_NAME: held}
    )
    return subject, seen(subject)


def test_a_record_that_releases_read_otherwise_is_an_error() -> None:
    (before, first), (after, second) = started_with("2-3"), started_with("4-5")
    (lost,) = files.changes(before, after, first, second)
    assert (lost.code, lost.severity) == ("upgrade/record-lost", Severity.ERROR)
    assert (lost.fields["held"], lost.fields["holds"]) == ("CPUs 2-3", "CPUs 4-5")


def test_what_a_pod_has_as_a_whole_is_no_news_where_both_know_it() -> None:
    newest = replace(whole(), behaviour=replace(EXACT, release=table.of_name("1.36")))
    again = replace(newest, state_files=seen(newest).node.state_files())
    first = seen(again)
    assert first.began.snapshot.cpu.pods
    codes = {each.code for each in files.changes(again, again, first, first)}
    assert not codes & {"upgrade/pod-record-lost", "upgrade/record-lost"}


def test_a_pod_that_both_reject_may_have_another_reason() -> None:
    asking = builders.pod("u", builders.container("c0", cpu="15", memory="1Gi"))
    aligned = static_cpus(topology_manager_policy="restricted")
    whole_cores = static_cpus(cpu_manager_policy_options={"full-pcpus-only": "true"})
    before, after = (
        LintSubject(config=config, machine=CACHES, pods=(asking,))
        for config in (aligned, whole_cores)
    )
    first, second = seen(before), seen(after)
    (other,) = pods.changes(before, after, first, second)
    assert other.code == "upgrade/pod-other-reason"
    assert other.fields["reason_before"] == "TopologyAffinityError"
    assert other.fields["reason_after"] == "SMTAlignmentError"
    assert list(pods.changes(before, before, first, first)) == []


def test_what_a_container_holds_is_one_phrase() -> None:
    memory = (MemoryBlock((0, 1), "memory", 1 << 30), MemoryBlock((1,), "hugepages-2Mi", 4 << 20))
    held = Placement(frozenset({2, 3}), memory, {"example.com/gpu": ("a", "b")})
    assert restarts.shown(held) == (
        "CPUs 2-3; 1Gi of memory on NUMA node 0, 1; 4Mi of hugepages-2Mi on NUMA node 1; "
        "example.com/gpu a, b"
    )
