"""Our own rules where releases differ: fields, gates, thresholds, and cgroup v1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.model.findings import Finding
from numalet.insight.lint import rules
from numalet.insight.lint.subject import Host, LintSubject
from numalet.io.documents.kubelet import kubelet_config
from values import builders

MACHINE = builders.machine(10, 10)


def found(
    config: KubeletConfig, release: str, code: str, host: Host | None = None
) -> tuple[Finding, ...]:
    """What the rule with this code finds under a release."""
    subject = LintSubject(
        config=config,
        machine=MACHINE,
        host=host or Host(),
        behaviour=replace(EXACT, release=table.of_name(release)),
    )
    return tuple(each for each in rules.check(subject).findings if each.code == f"lint/{code}")


def document(**fields: Any) -> KubeletConfig:
    return kubelet_config.decode(fields, "kubelet.yaml")


MAINTENANCE = "cgroup v1 support is in maintenance mode"
REMOVED = "cgroup v1 support is unsupported and will be removed in a future release"


@pytest.mark.parametrize(
    ("release", "given", "text"),
    [
        ("1.34", None, None),
        ("1.34", False, None),
        ("1.34", True, MAINTENANCE),
        ("1.35", None, REMOVED),
        ("1.35", True, REMOVED),
        ("1.35", False, None),
        ("1.36", None, REMOVED),
        ("1.37", None, REMOVED),
    ],
)
def test_cgroup_v1_is_refused_by_default_in_later_releases(
    release: str, given: bool | None, text: str | None
) -> None:
    config = KubeletConfig(fail_cgroup_v1=given)
    host = Host(cgroup_version=1)
    refused = found(config, release, "cgroup-v1-refused", host)

    words = f"kubelet is configured to not run on a host using cgroup v1. {text}"
    assert ([words] if text else []) == [each.in_kubelet_words for each in refused]
    assert bool(found(config, release, "cgroup-v1", host)) is (text is None)
    assert found(config, release, "cgroup-v1-refused", Host(cgroup_version=2)) == ()


@pytest.mark.parametrize(
    ("field", "value", "since"),
    [
        ("mergeDefaultEvictionSettings", True, "1.33"),
        ("userNamespaces", {"idsPerPod": 65536}, "1.33"),
        ("imagePullCredentialsVerificationPolicy", "AlwaysVerify", "1.33"),
        ("preloadedImagesVerificationAllowlist", ["a/b"], "1.33"),
        ("memoryReservationPolicy", "None", "1.36"),
        ("tlsCurvePreferences", [29], "1.36"),
        ("defaultPodSysctls", {"net.ipv4.ip_forward": "1"}, "1.37"),
    ],
)
def test_a_field_that_the_release_does_not_know_does_nothing(
    field: str, value: object, since: str
) -> None:
    config = document(**{field: value})
    warned = {
        release.name: [
            str(each) for each in found(config, release.name, "field-of-a-later-release")
        ]
        for release in table.RELEASES
    }

    assert warned == {
        name: [f"{field} does nothing in release {name}; Kubernetes has it since {since}"]
        if name < since
        else []
        for name in warned
    }
    (finding,) = found(config, "1.32", "field-of-a-later-release")
    assert finding.where.path == f"$.{field}"


@pytest.mark.parametrize(
    ("option", "levels"),
    [
        ("strict-cpu-reservation", ["Alpha", None, None, None, None, None]),
        ("prefer-align-cpus-by-uncorecache", ["Alpha", "Alpha", None, None, None, None]),
        ("align-by-socket", ["Alpha"] * 6),
    ],
)
def test_an_option_lacks_its_gate_only_where_the_release_asks_one(
    option: str, levels: list[str | None]
) -> None:
    config = KubeletConfig(cpu_manager_policy_options={option: "true"})
    lacking = [found(config, release.name, "option-without-gate") for release in table.RELEASES]

    assert levels == [each[0].fields["maturity"] if each else None for each in lacking]


def test_default_thresholds_that_are_merged_are_not_missed() -> None:
    config = document(
        evictionHard={"nodefs.available": "5%"},
        mergeDefaultEvictionSettings=True,
        memoryManagerPolicy="Static",
        kubeReserved={"memory": "512Mi"},
        reservedMemory=[{"numaNode": 0, "limits": {"memory": "612Mi"}}],
    )

    assert found(config, "1.32", "default-eviction-not-merged")
    assert found(config, "1.32", "no-memory-threshold")
    assert not found(config, "1.33", "default-eviction-not-merged")
    assert not found(config, "1.33", "no-memory-threshold")


@pytest.mark.parametrize(
    ("release", "fix"),
    [
        ("1.32", "add memory.available to evictionHard, and the same amount to reservedMemory"),
        (
            "1.33",
            "add memory.available to evictionHard, or set mergeDefaultEvictionSettings to true, "
            "and the same amount to reservedMemory",
        ),
    ],
)
def test_a_missing_threshold_is_mended_as_the_release_allows(release: str, fix: str) -> None:
    config = document(evictionHard={"nodefs.available": "5%"})
    (finding,) = found(config, release, "no-memory-threshold")

    assert fix == finding.fix.format(**finding.fields)
