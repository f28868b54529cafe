"""What a look at a kubelet comes to, look after look."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from numalet.agent.findings.kubelet import KubeletWouldNotStart
from numalet.agent.kubelet import document as kubelet_document
from numalet.agent.kubelet import observed
from numalet.agent.kubelet.observed import (
    MANY_RESTARTS,
    MISSED_AFTER,
    RECONCILED_WITHIN,
    RESTARTS_COUNTED_FOR,
    SETTLED_WITHIN,
    Evidence,
    KubeletObservation,
    PodName,
)
from numalet.agent.telemetry import gauges
from numalet.agent.telemetry import metrics as names
from numalet.core.enforcement.comparison import GuaranteeLevel, Reality
from numalet.core.model import input_error
from numalet.core.model.findings import NoteFinding
from numalet.core.model.pod import ContainerKey
from numalet.insight.state import verify as state_verify
from running import agents, kubelet_node
from values import builders

MACHINE = agents.SHAPE.open().info
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ContainerKey("uid-one", "main")


def _reality(cpus: frozenset[int], nodes: frozenset[int]) -> Reality:
    return Reality(
        pages_bytes={},
        allowed_cpus=cpus,
        allowed_nodes=tuple(sorted(nodes)),
        cgroup=None,
        processes=1,
    )


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    """One pod, where it was promised."""
    kubelet = kubelet_node.made(tmp_path)
    kubelet.admit("one")
    return Evidence(
        root="/var/lib/kubelet",
        files=kubelet.node.state_files(),
        config="/etc/kubelet.yaml",
        realities={KEY: _reality(*kubelet.promised(KEY))},
        pods={"uid-one": PodName("shop", "one")},
    )


def test_what_is_as_promised_is_no_problem(evidence: Evidence) -> None:
    first = observed.observe(None, evidence, MACHINE, NOW)
    assert first.problems == ()
    assert first.audits[KEY].aligned
    # That files are there is no sign that they were written just now.
    assert first.changed == ()
    second = observed.observe(first, replace(evidence, files={}), MACHINE, NOW)
    assert ((), tuple(sorted(evidence.files))) == (second.changed, second.removed)
    third = observed.observe(second, evidence, MACHINE, NOW)
    assert (tuple(sorted(evidence.files)), ()) == (third.changed, third.removed)


def test_a_container_elsewhere_is_reported_when_it_lasts_and_once(evidence: Evidence) -> None:
    strange = replace(evidence, realities={KEY: _reality(*kubelet_node.EVERYTHING)})
    first = observed.observe(None, strange, MACHINE, NOW)
    assert [each.finding.code for each in first.problems] == [
        "kubelet/cpus-differ",
        "kubelet/memory-nodes-differ",
    ]
    assert first.lasting_problems == ()
    lasting = observed.observe(first, strange, MACHINE, NOW + RECONCILED_WITHIN)
    assert lasting.problems == lasting.lasting_problems == lasting.news
    assert {NOW} == {each.since for each in lasting.lasting_problems}
    later = observed.observe(lasting, strange, MACHINE, NOW + timedelta(hours=1))
    assert (len(later.lasting_problems), later.news) == (2, ())
    corrected = observed.observe(later, evidence, MACHINE, NOW + timedelta(hours=2))
    assert corrected.problems == ()


def test_a_set_that_is_narrower_than_promised_is_one_too(evidence: Evidence) -> None:
    sets = evidence.realities[KEY]
    fewer = _reality(frozenset(sorted(sets.allowed_cpus)[:1]), frozenset(sets.allowed_nodes))
    (problem,) = observed.observe(
        None, replace(evidence, realities={KEY: fewer}), MACHINE, NOW
    ).problems
    assert problem.finding.code == "kubelet/cpus-differ"
    assert problem.finding.where.document == "shop/one/main"


def test_where_nothing_is_promised_or_in_force_nothing_differs(evidence: Evidence) -> None:
    unknown = replace(evidence, realities={KEY: _reality(frozenset(), frozenset())})
    assert observed.observe(None, unknown, MACHINE, NOW).problems == ()
    strangers = {ContainerKey("other", "main"): _reality(*kubelet_node.EVERYTHING)}
    nothing = replace(evidence, files={}, realities=strangers, pods={})
    assert observed.observe(None, nothing, MACHINE, NOW).problems == ()
    # The CPUs that it shares with others are promised to everybody.
    sharing = replace(evidence, realities=strangers, pods={})
    (problem,) = observed.observe(None, sharing, MACHINE, NOW).problems
    assert (
        problem.finding.code,
        problem.finding.where.document,
    ) == ("kubelet/cpus-differ", "other/main")


def test_notes_about_files_are_no_problems_and_what_can_not_be_read_is(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = state_verify.verify(evidence.files, MACHINE)[0]
    noted = replace(report, findings=(NoteFinding(),))
    monkeypatch.setattr(state_verify, "verify", lambda *_: (noted,))
    unread = (input_error.Invalid("not a regular file"),)
    refusal = KubeletWouldNotStart(text="t", config="c", release="1.32")
    bad = replace(evidence, unread=unread, refusal=refusal)
    look = observed.observe(None, bad, MACHINE, NOW)
    assert (look.is_unsettled, look.news) == (True, ())
    look = observed.observe(look, bad, MACHINE, NOW + SETTLED_WITHIN)
    assert [each.finding.code for each in look.news] == [
        "input/invalid",
        "kubelet/would-not-start",
    ]


def _refused(evidence: Evidence, text: str) -> Evidence:
    """The same in the middle of two writes: the file contradicts itself."""
    refusal = KubeletWouldNotStart(text=text, config="c", release="1.32")
    files = {**evidence.files, "cpu_manager_state": text}
    return replace(evidence, files=files, refusal=refusal)


@pytest.mark.slow
def test_what_is_wrong_between_two_writes_is_no_problem(evidence: Evidence) -> None:
    look = observed.observe(None, evidence, MACHINE, NOW)
    for number in range(1000):
        at = NOW + timedelta(seconds=number)
        look = observed.observe(look, _refused(evidence, f"write {number}"), MACHINE, at)
        assert look.lasting_problems == ()
        assert look.is_unsettled
        look = observed.observe(look, evidence, MACHINE, at + timedelta(seconds=0.5))
        assert look.problems == ()


def test_what_stays_wrong_is_reported_though_the_file_is_written_again_and_again(
    evidence: Evidence,
) -> None:
    look = observed.observe(None, evidence, MACHINE, NOW)
    evicted_at = None
    for number in range(31):
        look = observed.observe(
            look, _refused(evidence, f"write {number}"), MACHINE, NOW + timedelta(seconds=number)
        )
        if look.lasting_problems and evicted_at is None:
            evicted_at = number
    assert RECONCILED_WITHIN.total_seconds() == evicted_at


def test_a_kubelet_that_stays_away_is_missed(evidence: Evidence) -> None:
    def seen(
        before: KubeletObservation | None, running: str | None, seconds: float
    ) -> KubeletObservation:
        at = NOW + timedelta(seconds=seconds)
        return observed.observe(before, replace(evidence, running=running), MACHINE, at)

    # Where processes can not be seen nothing is known.
    assert seen(seen(None, None, 0), None, 3600).problems == ()
    look = seen(None, "process 1, kubelet", 0)
    look = seen(look, "", 60)
    assert (look.is_unsettled, look.lasting_problems) == (True, ())
    away = seen(look, "", 60 + MISSED_AFTER.total_seconds())
    assert [each.finding.code for each in away.news] == ["kubelet/not-running"]
    back = seen(away, "process 2, kubelet", 90)
    assert (back.problems, [each.code for each in back.notes]) == ((), ["kubelet/started"])
    nothing = replace(evidence, files={}, running="")
    assert observed.observe(None, nothing, MACHINE, NOW).problems == ()


def test_a_kubelet_that_is_started_again_and_again_is_a_problem(evidence: Evidence) -> None:
    look = observed.observe(None, replace(evidence, running="process 0"), MACHINE, NOW)
    codes = []
    for number in range(1, MANY_RESTARTS + 1):
        running = replace(evidence, running=f"process {number}")
        look = observed.observe(look, running, MACHINE, NOW + timedelta(seconds=10 * number))
        codes += [each.finding.code for each in look.news]
    assert codes == ["kubelet/keeps-restarting"]
    at = NOW + timedelta(seconds=10) + RESTARTS_COUNTED_FOR
    assert observed.observe(look, look.evidence, MACHINE, at).problems == ()


def test_a_pod_that_its_kubelet_does_not_know_any_more_is_stale(evidence: Evidence) -> None:
    def status(known: frozenset[str] | None) -> str:
        look = observed.observe(None, replace(evidence, known_pods=known), MACHINE, NOW)
        (row,) = kubelet_document.placements(look)
        return str(row["status"])

    assert [
        status(None),
        status(frozenset({"uid-one"})),
        status(frozenset()),
    ] == ["Observed", "Observed", "Stale"]


def test_containers_that_are_ready_are_counted_as_kubectl_counts_them(evidence: Evidence) -> None:
    def ready(of: Evidence) -> str:
        (row,) = kubelet_document.placements(observed.observe(None, of, MACHINE, NOW))
        return str(row["ready"])

    assert ready(evidence) == "1/1"
    listed = {PodName("shop", "one"): frozenset({"main", "other"})}
    assert ready(replace(evidence, app_containers=listed)) == "1/2"
    # An init container that has ended is none of them, though it is in the files.
    ended = {PodName("shop", "one"): frozenset({"app"})}
    assert ready(replace(evidence, app_containers=ended)) == "0/1"


def test_a_document_tells_of_files_containers_and_problems(evidence: Evidence) -> None:
    assert kubelet_document.kubelet_document(None) is None
    refusal = KubeletWouldNotStart(text="t", config="c", release="1.32")
    strange = replace(
        evidence, refusal=refusal, realities={KEY: _reality(*kubelet_node.EVERYTHING)}
    )
    look = observed.observe(None, strange, MACHINE, NOW)
    look = observed.observe(look, strange, MACHINE, NOW + RECONCILED_WITHIN)
    shown = kubelet_document.kubelet_document(look)
    assert shown is not None
    assert (shown["startsWithItsFiles"], shown["containersFound"]) == (False, 1)
    assert (shown["running"], shown["process"]) == (None, None)
    assert {"sound"} == {each["soundness"] for each in shown["files"]}
    assert [each["container"] for each in shown["problems"]] == [None, "main", "main"]
    (row,) = kubelet_document.placements(look)
    assert tuple(row["metadata"][name] for name in ("namespace", "name", "uid")) == (
        "shop",
        "one",
        "uid-one",
    )
    assert (row["aligned"], row["ready"], row["status"]) == (False, "1/1", "Observed")
    assert row["memory"] == {"memory": 2 << 30}
    unnamed = observed.observe(None, replace(strange, pods={}, realities={}), MACHINE, NOW)
    (row,) = kubelet_document.placements(unnamed)
    assert (row["metadata"]["name"], row["aligned"]) == ("uid-one", None)


def test_gauges_count_files_problems_and_containers(evidence: Evidence) -> None:
    node = builders.node(builders.rules(builders.machine(1)))
    level = GuaranteeLevel.NONE
    none = gauges.gauges(node, level, {})
    assert () == none[names.KUBELET_STATE] == none[names.KUBELET_CONTAINERS]
    strange = replace(evidence, realities={KEY: _reality(*kubelet_node.EVERYTHING)})
    look = observed.observe(None, strange, MACHINE, NOW)
    look = observed.observe(look, strange, MACHINE, NOW + RECONCILED_WITHIN)
    measured = gauges.gauges(node, level, look.evidence.pods, look.audits, look)
    assert {dict(labels)["code"]: value for labels, value in measured[names.KUBELET_PROBLEMS]} == {
        "kubelet/cpus-differ": 1.0,
        "kubelet/memory-nodes-differ": 1.0,
    }
    assert [value for _, value in measured[names.KUBELET_STATE]][:3] == [1.0, 0.0, 0.0]
    assert [value for _, value in measured[names.KUBELET_CONTAINERS]] == [0.0, 1.0]
    ((labels, misplaced),) = measured[names.MISPLACED]
    assert (dict(labels)["namespace"], dict(labels)["pod"], misplaced) == ("shop", "one", 0.0)


def test_pages_elsewhere_than_promised_are_a_problem_of_the_container(evidence: Evidence) -> None:
    sets = evidence.realities[KEY]
    strayed = replace(sets, pages_bytes={"memory": {0: 1 << 20, 1: 1 << 12}})
    look = observed.observe(None, replace(evidence, realities={KEY: strayed}), MACHINE, NOW)
    (problem,) = look.problems
    assert (
        problem.finding.code,
        problem.finding.fields["bytes"],
    ) == ("kubelet/memory-misplaced", 1 << 12)
