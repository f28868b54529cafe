"""What a look at a kubelet comes to, look after look."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import agents
import builders
import kubelet_node
from numalet.enforcement.levels import GuaranteeLevel
from numalet.enforcement.reality import Reality
from numalet.model.findings import Finding, Severity
from numalet.model.pod import ContainerKey
from numalet.reports import gauges, kubelet_document, kubelet_look, state_verify
from numalet.reports import metric_definitions as names
from numalet.reports.kubelet_look import RECONCILED_WITHIN, Evidence, PodName

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
    first = kubelet_look.look(None, evidence, MACHINE, NOW)
    assert () == first.problems
    assert first.audits[KEY].aligned
    assert sorted(evidence.files) == list(first.changed)
    assert () == kubelet_look.look(first, evidence, MACHINE, NOW).changed


def test_a_container_elsewhere_is_told_when_it_lasts_and_once(evidence: Evidence) -> None:
    strange = replace(evidence, realities={KEY: _reality(*kubelet_node.EVERYTHING)})
    first = kubelet_look.look(None, strange, MACHINE, NOW)
    assert ["kubelet/cpus-differ", "kubelet/memory-nodes-differ"] == [
        each.finding.code for each in first.problems
    ]
    assert () == first.told
    lasting = kubelet_look.look(first, strange, MACHINE, NOW + RECONCILED_WITHIN)
    assert lasting.problems == lasting.told == lasting.news
    assert {NOW} == {each.since for each in lasting.told}
    later = kubelet_look.look(lasting, strange, MACHINE, NOW + timedelta(hours=1))
    assert (2, ()) == (len(later.told), later.news)
    mended = kubelet_look.look(later, evidence, MACHINE, NOW + timedelta(hours=2))
    assert () == mended.problems


def test_a_set_that_is_narrower_than_promised_is_one_too(evidence: Evidence) -> None:
    sets = evidence.realities[KEY]
    fewer = _reality(frozenset(sorted(sets.allowed_cpus)[:1]), frozenset(sets.allowed_nodes))
    (problem,) = kubelet_look.look(
        None, replace(evidence, realities={KEY: fewer}), MACHINE, NOW
    ).problems
    assert "kubelet/cpus-differ" == problem.finding.code
    assert "shop/one/main" == problem.finding.where.document


def test_where_nothing_is_promised_or_in_force_nothing_differs(evidence: Evidence) -> None:
    unknown = replace(evidence, realities={KEY: _reality(frozenset(), frozenset())})
    assert () == kubelet_look.look(None, unknown, MACHINE, NOW).problems
    strangers = {ContainerKey("other", "main"): _reality(*kubelet_node.EVERYTHING)}
    nothing = replace(evidence, files={}, realities=strangers, pods={})
    assert () == kubelet_look.look(None, nothing, MACHINE, NOW).problems
    # The CPUs that it shares with others are promised to everybody.
    sharing = replace(evidence, realities=strangers, pods={})
    (problem,) = kubelet_look.look(None, sharing, MACHINE, NOW).problems
    assert ("kubelet/cpus-differ", "other/main") == (
        problem.finding.code,
        problem.finding.where.document,
    )


def test_notes_about_files_are_no_problems_and_what_can_not_be_read_is(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = state_verify.verify(evidence.files, MACHINE)[0]
    noted = replace(report, findings=(Finding("x/y", severity=Severity.NOTE),))
    monkeypatch.setattr(state_verify, "verify", lambda *_: (noted,))
    unread = (Finding("files/not-a-file", {"path": "p", "error": "e"}),)
    refusal = Finding("kubelet/would-not-start", {"text": "t", "config": "c"})
    look = kubelet_look.look(None, replace(evidence, unread=unread, refusal=refusal), MACHINE, NOW)
    assert ["files/not-a-file", "kubelet/would-not-start"] == [
        each.finding.code for each in look.news
    ]


def test_a_document_tells_of_files_containers_and_problems(evidence: Evidence) -> None:
    assert kubelet_document.kubelet_document(None) is None
    refusal = Finding("kubelet/would-not-start", {"text": "t", "config": "c"})
    strange = replace(
        evidence, refusal=refusal, realities={KEY: _reality(*kubelet_node.EVERYTHING)}
    )
    look = kubelet_look.look(None, strange, MACHINE, NOW)
    look = kubelet_look.look(look, strange, MACHINE, NOW + RECONCILED_WITHIN)
    shown = kubelet_document.kubelet_document(look)
    assert shown is not None
    assert (False, 1) == (shown["startsWithItsFiles"], shown["containersFound"])
    assert {"sound"} == {each["soundness"] for each in shown["files"]}
    assert [None, "main", "main"] == [each["container"] for each in shown["problems"]]
    (row,) = kubelet_document.placements(look)
    assert ("shop", "one", "uid-one") == tuple(
        row["metadata"][name] for name in ("namespace", "name", "uid")
    )
    assert (False, "1/1", "Observed") == (row["aligned"], row["ready"], row["status"])
    assert {"memory": 2 << 30} == row["memory"]
    unnamed = kubelet_look.look(None, replace(strange, pods={}, realities={}), MACHINE, NOW)
    (row,) = kubelet_document.placements(unnamed)
    assert ("uid-one", None) == (row["metadata"]["name"], row["aligned"])


def test_gauges_count_files_problems_and_containers(evidence: Evidence) -> None:
    node = builders.node(builders.rules(builders.machine(1)))
    level = GuaranteeLevel.NONE
    none = gauges.gauges(node, level, {})
    assert () == none[names.KUBELET_STATE] == none[names.KUBELET_CONTAINERS]
    strange = replace(evidence, realities={KEY: _reality(*kubelet_node.EVERYTHING)})
    look = kubelet_look.look(None, strange, MACHINE, NOW)
    look = kubelet_look.look(look, strange, MACHINE, NOW + RECONCILED_WITHIN)
    measured = gauges.gauges(node, level, look.evidence.pods, look.audits, look)
    assert {"kubelet/cpus-differ": 1.0, "kubelet/memory-nodes-differ": 1.0} == {
        dict(labels)["code"]: value for labels, value in measured[names.KUBELET_PROBLEMS]
    }
    assert [1.0, 0.0, 0.0] == [value for _, value in measured[names.KUBELET_STATE]][:3]
    assert [0.0, 1.0] == [value for _, value in measured[names.KUBELET_CONTAINERS]]
    ((labels, misplaced),) = measured[names.MISPLACED]
    assert ("shop", "one", 0.0) == (dict(labels)["namespace"], dict(labels)["pod"], misplaced)
