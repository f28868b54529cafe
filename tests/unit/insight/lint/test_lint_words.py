"""Findings in words: sentence, the kubelet's text, rule and fix; and the forms for machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from architecture import references, tree
from numalet.cli import code_index
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.findings.machine import MachineNoteCpuless
from numalet.core.findings.managers import NumaletNodeIdTooHigh
from numalet.core.findings.reservation import ConfigReservedMemorySum
from numalet.core.findings.state_files import MemoryStateOtherPolicy
from numalet.core.model.findings import NOWHERE, Finding, Location, Severity
from numalet.core.model.go_text import GoText
from numalet.insight.lint import formats, rows
from numalet.insight.lint.formats import PlacedRow
from numalet.insight.lint.on_reservation import LintEvictionPercentage
from numalet.insight.lint.rows import FindingRow
from numalet.wording import kubelet_start

START_AREAS = ("config", "cpu-manager", "cpu-state", "memory-state", "numalet")

SUM = ConfigReservedMemorySum(
    total="3Gi",
    type=GoText("memory"),
    expected="3172Mi",
    where=Location("kubelet.yaml", "$.reservedMemory", 12),
)
PERCENT = LintEvictionPercentage(
    value="5%",
    amount_bytes=3 << 30,
    exactly=3 << 30,
    capacity_bytes=60 << 30,
    where=Location("--eviction-hard"),
    severity=Severity.WARNING,
)


BALANCING = FindingRow("lint/numa-balancing", Severity.NOTE, NOWHERE, "it is on")


def test_a_start_error_has_the_kubelets_text_a_rule_and_a_mend() -> None:
    (found,) = rows.rows([SUM])
    assert found.kubelet_text == (
        'the total amount "3Gi" of type "memory" is not equal to the value "3172Mi" determined by'
        " Node Allocatable feature"
    )
    assert found.sentence == str(SUM)
    assert "must equal kubeReserved + systemReserved" in found.rule
    assert found.fix == (
        "make the entries of memory add up to 3172Mi; 'numalet reserve' computes them"
    )
    assert found.place == "kubelet.yaml:12: $.reservedMemory"


def test_a_rule_of_ours_shows_sizes_as_people_read_them() -> None:
    (found,) = rows.rows([PERCENT])
    assert found.kubelet_text == ""
    assert found.sentence == (
        "memory.available 5% is 3Gi (3221225472 bytes) on this machine with 60Gi, and another"
        " number on every other"
    )


def test_a_state_file_has_the_kubelets_whole_text() -> None:
    finding = MemoryStateOtherPolicy(configured="Static", found="None")
    (found,) = rows.rows([finding])
    refused = StartRefused(StartStage.MEMORY_MANAGER_START, (finding,))
    assert found.kubelet_text == kubelet_start.text(refused)
    assert "numalet state rebase" in found.fix
    assert "must be complete" in found.rule


def test_what_the_kubelet_would_crash_on_has_no_text_of_its_own() -> None:
    (found,) = rows.rows([NumaletNodeIdTooHigh(field="f", policy="p", numa_node=64, highest=63)])
    assert found.kubelet_text == ""
    assert found.rule == NumaletNodeIdTooHigh.why


def test_a_note_of_a_reader_has_neither_rule_nor_mend() -> None:
    note = MachineNoteCpuless(value="1", severity=Severity.NOTE)
    (found,) = rows.rows([note])
    assert (found.rule, found.fix) == ("", "")


def test_every_rule_of_ours_has_all_its_words() -> None:
    ours = [each for code, each in code_index.classes().items() if code.startswith("lint/")]
    assert len(ours) > 40
    assert all(each.sentence and each.why and each.fix for each in ours)


def test_every_start_error_has_a_rule_and_a_mend() -> None:
    start = [
        each
        for code, each in code_index.classes().items()
        if code.partition("/")[0] in START_AREAS and issubclass(each, Finding)
    ]
    assert len(start) > 60
    assert [each.code for each in start if not (each.why and each.fix)] == []


def test_sarif_has_a_rule_for_every_code_and_a_result_for_every_finding() -> None:
    found = rows.rows([SUM, PERCENT, SUM])
    log = formats.sarif_document([PlacedRow(each) for each in found], "1.2.3")
    (run,) = log["runs"]

    assert (log["version"], log["$schema"].rpartition("/")[2]) == ("2.1.0", "sarif-2.1.0.json")
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("numalet", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == [SUM.code, PERCENT.code]
    assert driver["rules"][0]["name"] == "ReservedMemorySum"
    assert driver["rules"][1]["defaultConfiguration"] == {"level": "warning"}
    assert [result["ruleIndex"] for result in run["results"]] == [0, 1, 0]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "error"]


def test_sarif_locates_files_by_line_and_flags_by_name() -> None:
    results = formats.sarif_document([PlacedRow(each) for each in rows.rows([SUM, PERCENT])], "1")[
        "runs"
    ][0]["results"]
    assert results[0]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "kubelet.yaml"},
                "region": {"startLine": 12},
            },
            "logicalLocations": [{"fullyQualifiedName": "$.reservedMemory"}],
        }
    ]
    assert results[1]["locations"] == [
        {"logicalLocations": [{"fullyQualifiedName": "--eviction-hard"}]}
    ]


def test_sarif_takes_places_without_line_or_file() -> None:
    found = (replace(BALANCING, where=Location("a b#.yaml")), BALANCING)
    log = formats.sarif_document([PlacedRow(each) for each in found], "1")
    first, second = log["runs"][0]["results"]
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "a%20b%23.yaml"},
                "region": {"startLine": 1},
            }
        }
    ]
    assert second["locations"] == []
    assert "fullDescription" not in log["runs"][0]["tool"]["driver"]["rules"][0]


def test_gitlab_gets_a_line_of_a_file_for_every_finding() -> None:
    found = rows.rows([SUM, PERCENT])
    first, second = formats.gitlab_issues([PlacedRow(each, "main.yaml") for each in found])
    assert first["description"] == formats.finding_text(found[0])
    assert (first["check_name"], first["severity"]) == (SUM.code, "critical")
    assert first["location"] == {"path": "kubelet.yaml", "lines": {"begin": 12}}
    assert second["description"].startswith("--eviction-hard: ")
    assert (second["severity"], second["location"]["path"]) == ("minor", "main.yaml")


def test_a_finding_keeps_its_fingerprint_on_another_line() -> None:
    odd = [replace(BALANCING, where=Location("a.yaml", "$.x", line)) for line in (None, 7)]
    other = replace(odd[0], sentence="another")
    issues = formats.gitlab_issues(map(PlacedRow, (*odd, other, BALANCING)))
    lines = [(each["location"]["path"], each["location"]["lines"]["begin"]) for each in issues]
    assert lines == [("a.yaml", 1), ("a.yaml", 7), ("a.yaml", 1), (".", 1)]
    first, moved, *others = (each["fingerprint"] for each in issues)
    assert first == moved
    assert len({first, *others}) == 3


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "it is on."),
        ({"sentence": "It is on.", "fix": "turn it off"}, "It is on. Fix: turn it off."),
        ({"kubelet_text": "no", "fix": "m"}, "it is on. The kubelet says: no. Fix: m."),
    ],
)
def test_a_message_says_everything_in_one_paragraph(changes: dict[str, Any], expected: str) -> None:
    assert formats.finding_text(replace(BALANCING, **changes)) == expected


def test_workflow_commands_escape_what_would_end_them() -> None:
    odd = replace(
        BALANCING,
        severity=Severity.ERROR,
        where=Location("a,b:c.yaml", "$.x", 7),
        sentence="5% of\nall",
    )
    assert list(formats.github_lines([odd])) == [
        "::error file=a%2Cb%3Ac.yaml,line=7,title=lint/numa-balancing::5%25 of%0Aall."
    ]


def test_workflow_commands_without_a_file_say_the_place_themselves() -> None:
    flag = replace(BALANCING, severity=Severity.WARNING, where=Location("--eviction-hard"))
    whole = replace(BALANCING, where=Location("kubelet.yaml"))
    assert list(formats.github_lines([flag, whole, BALANCING])) == [
        "::warning title=lint/numa-balancing::--eviction-hard: it is on.",
        "::notice file=kubelet.yaml,title=lint/numa-balancing::it is on.",
        "::notice title=lint/numa-balancing::it is on.",
    ]


def test_the_page_of_rules_has_a_row_for_every_rule_with_its_reason() -> None:
    page = (tree.DOCS / "reference" / "lint-rules.md").read_text(encoding="utf-8")
    listed = {row.cells[0].strip("`"): row.cells[3] for row in references.rows(page)}
    assert {
        code: each.why for code, each in code_index.classes().items() if code.startswith("lint/")
    } == listed


def test_what_a_check_says_twice_comes_once_with_its_name() -> None:
    checks = [formats.NamedRows(name, [BALANCING, BALANCING], "a.yaml") for name in ("x", "y")]
    (merged,) = formats.merged_rows(checks)
    assert (merged.row.sentence, merged.combinations) == ("it is on (x; y)", ("x", "y"))
