"""What the facts about schedulers, extenders and the breaker say is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cluster import manifests
from numalet.cluster.doctor import scheduler_rules
from numalet.cluster.doctor.facts import (
    ExtenderProgram,
    LeaseFacts,
    SchedulerConfiguration,
    SchedulingFacts,
)
from numalet.core.config.releases.versions import MinorVersion

NOW = 1_800_000_000.0
OURS = manifests.configurations()["scheduler-sidecar"]
PROGRAM = ExtenderProgram(
    name="Deployment numalet/e",
    listens="127.0.0.1:8888",
    timeout_seconds=5.0,
    scheduler="",
    replicas=1,
    has_lease=False,
    beside_scheduler=False,
)


def given(changed: dict[str, Any] | None = None, **top: Any) -> SchedulingFacts:
    """Our own configuration, with something else in its extender or at its top."""
    extender = OURS["extenders"][0] | (changed or {})
    extender = {name: value for name, value in extender.items() if value is not None}
    document = {**OURS, "extenders": [extender], **top}
    document = {name: value for name, value in document.items() if value is not None}
    return SchedulingFacts(configurations=(SchedulerConfiguration(source="f", document=document),))


def codes(
    facts: SchedulingFacts, release: str | None = "1.34", now_seconds: float | None = NOW
) -> list[str]:
    known = MinorVersion(1, int(release.partition(".")[2])) if release else None
    return [
        each.code.partition("/")[2] for each in scheduler_rules.findings(facts, known, now_seconds)
    ]


@pytest.mark.parametrize("folder", manifests.configurations())
def test_of_our_own_configurations_there_is_nothing_to_say(folder: str) -> None:
    document = manifests.configurations()[folder]
    one = SchedulerConfiguration(source="f", document=document)
    assert codes(SchedulingFacts(configurations=(one,))) == []


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (given(percentageOfNodesToScore=None), "scheduler-nodes-per-cycle"),
        (given(percentageOfNodesToScore=40), "scheduler-nodes-per-cycle"),
        (given(podMaxBackoffSeconds=None), "scheduler-back-off"),
        (given({"nodeCacheCapable": None}), "scheduler-whole-nodes"),
        (given({"weight": 5}), "scheduler-weight"),
        (given({"preemptVerb": None}), "scheduler-no-preempt"),
        (given({"enableHTTPS": True}), "scheduler-unchecked"),
        (given({"enableHTTPS": True, "tlsConfig": {}}), "scheduler-unchecked"),
        (given({"ignorable": True}), "scheduler-fails-open"),
        (given(apiVersion="kubescheduler.config.k8s.io/v1beta3"), "scheduler-api-version"),
    ],
)
def test_each_setting_that_is_not_meant_is_named(facts: SchedulingFacts, code: str) -> None:
    assert codes(facts) == [code]


def test_versions_are_those_that_the_release_reads() -> None:
    old = given(apiVersion="kubescheduler.config.k8s.io/v1beta1")
    assert codes(old, "1.22") == []
    assert codes(old, "1.23") == ["scheduler-api-version"]
    assert codes(given(), "1.24") == ["scheduler-api-version"]
    assert codes(given(), None) == ["scheduler-batching"]


def test_batching_is_off_where_there_would_be_any() -> None:
    assert codes(given(), "1.35") == ["scheduler-batching"]
    assert codes(given(extenders=[], percentageOfNodesToScore=None), "1.35") == []


def test_an_extender_answers_before_the_scheduler_goes() -> None:
    slow = replace(PROGRAM, timeout_seconds=10.0)
    facts = replace(given(), extenders=(slow,))
    (finding,) = scheduler_rules.findings(facts, MinorVersion(1, 34), NOW)
    assert str(finding).startswith("f waits 5 s for http://127.0.0.1:8888; Deployment numalet/e")
    assert codes(replace(given({"httpTimeout": None}), extenders=(slow,))) == ["scheduler-time-out"]
    assert codes(replace(given({"httpTimeout": "10s"}), extenders=(slow,))) == []
    assert codes(replace(given({"httpTimeout": "soon"}), extenders=(slow,))) == []
    elsewhere = replace(slow, listens="127.0.0.1:1")
    assert codes(replace(given(), extenders=(elsewhere,))) == []


def test_one_extender_binds() -> None:
    one = {**OURS["extenders"][0], "bindVerb": "bind"}
    assert codes(given(extenders=[one])) == []
    assert codes(given(extenders=[one, one, "none"])) == ["scheduler-two-binders"]


def test_an_extender_that_has_to_be_asked_about_itself_locks_the_cluster() -> None:
    own = replace(PROGRAM, scheduler="default-scheduler")
    assert codes(replace(given(), extenders=(own,))) == ["extender-asks-itself"]
    assert codes(replace(given(profiles=[{}]), extenders=(own,))) == ["extender-asks-itself"]
    other = [{"schedulerName": "other"}]
    assert codes(replace(given(profiles=other), extenders=(own,))) == []
    assert codes(replace(given({"ignorable": True}), extenders=(own,))) == ["scheduler-fails-open"]


def test_several_extenders_agree_by_a_lease() -> None:
    two = replace(PROGRAM, replicas=2)
    assert codes(SchedulingFacts(extenders=(two,))) == ["extenders-share-nothing"]
    assert codes(SchedulingFacts(extenders=(replace(two, has_lease=True),))) == []
    assert codes(SchedulingFacts(extenders=(replace(two, beside_scheduler=True),))) == []


def test_a_scheduler_without_a_configuration_asks_no_extender() -> None:
    facts = SchedulingFacts(without_configuration=("pod kube-system/s",))
    assert codes(facts) == ["scheduler-without-configuration"]


def test_what_has_ended_or_is_not_renewed_is_named_where_the_time_is_known() -> None:
    lease = LeaseFacts(
        namespace="numalet", name="l", holder="h", renewed_seconds=NOW - 90, duration_seconds=15
    )
    facts = SchedulingFacts(traps={"a": NOW - 61, "b": NOW, "c": NOW + 5}, leases=(lease,))
    found = list(scheduler_rules.findings(facts, None, NOW))
    assert [str(each) for each in found] == [
        "1 node with a taint of the breaker that has ended: a",
        "the lease numalet/l of h was not renewed for 90 s",
    ]
    assert codes(facts, now_seconds=None) == []
    recent = replace(lease, renewed_seconds=NOW - 70)
    assert codes(SchedulingFacts(leases=(recent, replace(lease, holder="")))) == []
