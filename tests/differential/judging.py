"""Compare numalet's outcome of a scenario with the one that the oracle recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import msgspec

from differential.oracle_program import Oracle
from differential.shrinking import Scenario
from numalet.core.model.findings import BadInput
from numalet.insight.simulate import runner
from numalet.insight.usecases import replaying
from numalet.insight.usecases.replaying import FailedReport, PassedReport, UnusableReport
from numalet.insight.usecases.scenario_file import RawScenario

_CRASH: Final = "KubeletWouldCrash"
_CRASH_AT_START: Final = "the kubelet would crash at this start"
_CRASH_KIND: Final = "crash"

CHANCE_RUNS: Final = 24
"""Runs of a scenario that show whether its outcome depends on chance."""


class Verdict(Enum):
    """What became of one scenario."""

    AGREED = "agree"
    CHANCE = "depend on chance"
    NOT_SEEN = "depend on chance and came out otherwise in all runs"
    NOT_RECORDED = "not recorded"
    DIFFERENT = "differ"


@dataclass(frozen=True)
class Judged:
    """A scenario with its verdict.

    Attributes:
        verdict: whether numalet's outcome is the recorded one.
        line: the recorded line; empty without one.
        reason: the place of the first difference and both values, or why there is no line.
        kind: the place without numbers and names, by which differences are grouped.
    """

    verdict: Verdict
    line: bytes = b""
    reason: str = ""
    kind: str = ""


def judge(oracle: Oracle, scenarios: Iterable[Scenario]) -> list[Judged]:
    """Run scenarios on both; a difference counts if it is there in many runs."""
    listed = list(scenarios)
    recorded = oracle.record(listed)
    first = [_judged(recorded.lines, recorded.left_out, each["name"]) for each in listed]
    for at, scenario in enumerate(listed):
        if _crashed(recorded.left_out.get(scenario["name"], "")):
            first[at] = _judged_crash(oracle, scenario, first[at].reason)
        elif first[at].verdict is Verdict.CHANCE:
            first[at] = _judged_chance(oracle, scenario)
    doubtful = [
        scenario
        for scenario, judged in zip(listed, first, strict=True)
        if judged.verdict is Verdict.DIFFERENT and judged.kind != _CRASH_KIND
    ]
    if not doubtful:
        return first
    again = oracle.record(doubtful, runs=CHANCE_RUNS, device_runs=CHANCE_RUNS)
    second = {each["name"]: _again(again.lines, again.left_out, each) for each in doubtful}
    return [
        second.get(scenario["name"], judged) for scenario, judged in zip(listed, first, strict=True)
    ]


def _judged_chance(oracle: Oracle, scenario: Scenario) -> Judged:
    """Judge a scenario whose outcome varies: numalet's must be one that the kubelet has."""
    copies = [{**scenario, "name": f"{scenario['name']}#{at}"} for at in range(CHANCE_RUNS)]
    recorded = oracle.record(copies, runs=1, device_runs=1, failure_runs=1)
    judged = [_judged(recorded.lines, recorded.left_out, each["name"]) for each in copies]
    agreed = [each for each in judged if each.verdict is Verdict.AGREED]
    if agreed:
        return Judged(Verdict.CHANCE, agreed[0].line)
    return Judged(Verdict.NOT_SEEN, judged[0].line, judged[0].reason, judged[0].kind)


def _crashed(cause: str) -> bool:
    return cause.startswith(("the kubelet panicked", "the worker died"))


def _judged_crash(oracle: Oracle, scenario: Scenario, cause: str) -> Judged:
    """Judge a scenario in which the kubelet crashes: numalet must foresee it at the same step."""
    at = _foreseen_crash(scenario)
    if at is None:
        # The kubelet compares nodes in random order, so another run may end with a refusal before
        # it reaches the crash. Then numalet's outcome is the refusal.
        for _ in range(CHANCE_RUNS):
            again = oracle.record([scenario], runs=1, device_runs=1)
            if not _crashed(again.left_out.get(scenario["name"], "")):
                judged = _judged(again.lines, again.left_out, scenario["name"])
                if judged.verdict is Verdict.AGREED:
                    return Judged(Verdict.CHANCE, judged.line, cause)
                return judged
        return Judged(
            Verdict.DIFFERENT, reason=f"{cause}; numalet foresees no crash", kind=_CRASH_KIND
        )
    shortest = {**scenario, "steps": scenario["steps"][: at + 1]}
    until = {**scenario, "steps": scenario["steps"][:at], "name": f"{scenario['name']}-until"}
    recorded = oracle.record([shortest, until])
    if not _crashed(recorded.left_out.get(shortest["name"], "")):
        reason = f"{cause}; numalet foresees it at step {at}, where there is none"
        return Judged(Verdict.DIFFERENT, reason=reason, kind=_CRASH_KIND)
    return _judged(recorded.lines, recorded.left_out, until["name"])


def _foreseen_crash(scenario: Scenario) -> int | None:
    """Return the first step at which numalet says that the kubelet would crash."""
    line = msgspec.json.encode(scenario).decode()
    try:
        outcome = runner.run(RawScenario(scenario["name"], line, 1).decode())
    except BadInput:
        return None
    for at, step in enumerate(outcome["steps"]):
        decisions = [step, *step.get("readmitted", ())]
        if any(each.get("reason") == _CRASH for each in decisions):
            return at
        # A crash at a restart is a start that numalet refuses with these words.
        if _CRASH_AT_START in (step.get("start_error") or ""):
            return at
    return None


def _again(lines: Mapping[str, bytes], left_out: Mapping[str, str], scenario: Scenario) -> Judged:
    judged = _judged(lines, left_out, scenario["name"])
    if judged.verdict is Verdict.DIFFERENT:
        return judged
    return Judged(Verdict.CHANCE, judged.line, judged.reason)


def _judged(lines: Mapping[str, bytes], left_out: Mapping[str, str], name: str) -> Judged:
    if name not in lines:
        cause = left_out.get(name, "no line came back")
        is_chance = cause.startswith("the outcome varies")
        return Judged(Verdict.CHANCE if is_chance else Verdict.NOT_RECORDED, reason=cause)
    return judge_line(lines[name], name)


def judge_line(line: bytes, name: str) -> Judged:
    """Replay one recorded line with numalet."""
    report = replaying.report(RawScenario(name, line.decode(), 1))
    match report:
        case PassedReport():
            return Judged(Verdict.AGREED, line)
        case FailedReport():
            difference = report.failure
            text = (
                f"{difference.path}: kubelet {difference.expected!r}, numalet {difference.actual!r}"
            )
            return Judged(Verdict.DIFFERENT, line, text, kind_of(difference.path))
        case UnusableReport():
            return Judged(Verdict.DIFFERENT, line, "; ".join(report.problems), "unusable")
        case _:
            return Judged(Verdict.NOT_RECORDED, line, report.cause)


def kind_of(path: str) -> str:
    """Return the fields of a path without indices and without the names of pods and containers."""
    fields = re.findall(r"[A-Za-z_]+", re.sub(r"\[[^]]*\]", "", path))
    known = [each for each in fields if each in _FIELDS]
    return ".".join(known) or path


_FIELDS: Final = frozenset(
    {
        "admit",
        "admitted",
        "affinity",
        "cells",
        "checksum",
        "cpu_state",
        "cpuset",
        "data",
        "dataChecksum",
        "defaultCpuSet",
        "devices",
        "devices_by_numa",
        "entries",
        "hints",
        "initial_cpu_state",
        "initial_memory_state",
        "machineState",
        "memory",
        "memory_state",
        "merged",
        "message",
        "nodes",
        "podEntries",
        "preferred",
        "readmitted",
        "reason",
        "start_error",
        "start_error_stage",
        "steps",
    }
)


def still_different(oracle: Oracle, kind: str, scenarios: Sequence[Scenario]) -> list[bool]:
    """Return of each scenario whether it shows a difference of this kind.

    Candidates of the same search have the same name, so they get numbers here.
    """
    numbered = [{**each, "name": f"{each['name']}#{at}"} for at, each in enumerate(scenarios)]
    judged = judge(oracle, numbered)
    return [each.verdict is Verdict.DIFFERENT and each.kind == kind for each in judged]


def with_outcome(line: bytes) -> dict[str, Any]:
    """Return a recorded line as an object."""
    decoded: dict[str, Any] = msgspec.json.decode(line)
    return decoded
