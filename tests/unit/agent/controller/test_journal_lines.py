"""Events as lines of the journal: ours as codes and values, the kubelet's with its text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numalet.agent.controller import journal
from numalet.agent.controller.journal import Journal
from numalet.agent.findings import events
from numalet.agent.findings.events import (
    EventDriftCorrected,
    EventDriftNotCorrected,
    EventManifestRemarks,
    EventPromisedAnew,
    EventPromiseLost,
    EventStartDelayed,
    EventStartFailed,
    EventUnpromised,
    Message,
)
from numalet.agent.findings.kubelet import KubeletCpusDiffer, KubeletNotRunning
from numalet.cli import code_index
from numalet.core.admission.reasons import AllocationRefused
from numalet.core.managers.memory.reasons import NoNodeFits
from numalet.core.model.findings import Finding, Location
from numalet.core.model.go_text import GoText
from numalet.core.workload import rejections
from numalet.core.workload.records import EventKind, NodeEvent
from numalet.core.workload.run import Cause
from numalet.insight.state.rebase import RebaseCpusGone
from numalet.io.findings.devices import DevicesIdMissing
from numalet.shared.findings.runtime import RuntimeNotExecutable, RuntimeProgramNotFound
from numalet.wording import kubelet

NOW = datetime(2030, 1, 1, tzinfo=UTC)
GOLDEN = Path(__file__).with_name("golden") / "journal.jsonl"
"""The events below as they are on disks."""
WITH_TEXTS = GOLDEN.with_name("journal_with_texts.jsonl")
"""The same as releases wrote them that had a text for each."""
REFUSED = AllocationRefused("main", "memory", NoNodeFits("main"))


def because(frame: type[Finding], *why: Finding, **fields: str) -> Message:
    """The message of such an event for these reasons."""
    values: dict[str, Any] = {**fields, "cause": "; ".join(map(str, why))}
    return events.message(frame(**values), map(Cause.of, why))


NOT_FOUND = RuntimeProgramNotFound(program="it's {mine}")
NOT_EXECUTABLE = RuntimeNotExecutable(program="mine", error="no")
MESSAGES: dict[str, str | Message] = {
    kubelet.STARTED: kubelet.started("main"),
    "UnexpectedAdmissionError": kubelet.message(REFUSED),
    kubelet.FAILED: because(EventStartFailed, NOT_FOUND),
    kubelet.START_DELAYED: because(EventStartDelayed, NOT_EXECUTABLE),
    kubelet.DRIFT_CORRECTED: events.message(EventDriftCorrected(settings="cpuset.cpus, cpu.max")),
    kubelet.NOT_HELD: because(EventDriftNotCorrected, NOT_EXECUTABLE),
    kubelet.PROMISE_LOST: because(
        EventPromiseLost, RebaseCpusGone(cpus="4-5"), file="cpu_manager_state"
    ),
    kubelet.PROMISED_ANEW: events.message(EventPromisedAnew(container="main")),
    kubelet.UNPROMISED: events.message(
        EventUnpromised(reason=kubelet.reason(REFUSED), cause=kubelet.message(REFUSED)),
        rejections.causes(REFUSED),
    ),
    kubelet.MANIFEST_REMARKS: because(
        EventManifestRemarks, NOT_FOUND, NOT_EXECUTABLE, path="/etc/pods/web.yaml"
    ),
    kubelet.DEVICE_WITHOUT_ID: events.located(DevicesIdMissing(resource="example.com/gpu")),
    kubelet.KUBELET_NOT_RUNNING: events.located(KubeletNotRunning(root="/var/lib/kubelet")),
    "NotAsPromised": events.located(
        KubeletCpusDiffer(promised="1-2", found="0-3", where=Location("default/web/main"))
    ),
}


def event(reason: str, message: str | Message) -> NodeEvent:
    said = message if isinstance(message, Message) else Message(message)
    return NodeEvent(
        kind=EventKind.WARNING,
        reason=reason,
        message=said.text,
        causes=said.causes,
        at=NOW,
        resource_version=7,
        pod_uid="uid-1",
        pod_name="web",
        namespace="default",
        container="main",
    )


EVENTS = [event(reason, message) for reason, message in MESSAGES.items()]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_events_are_written_byte_by_byte_as_the_golden_file_has_them(tmp_path: Path) -> None:
    Journal(tmp_path).append(map(journal.line_of, EVENTS))
    written = (tmp_path / journal.FILE_NAME).read_text()
    assert written.splitlines() == GOLDEN.read_text().splitlines()


def test_the_events_come_back() -> None:
    assert [journal.event_of(line) for line in lines(GOLDEN)] == EVENTS


def test_a_line_of_ours_has_no_sentence() -> None:
    for each, line in zip(EVENTS, lines(GOLDEN), strict=True):
        is_ours = isinstance(MESSAGES[each.reason], Message)
        assert ("message" in line, bool(each.causes)) == (not is_ours, is_ours)


def test_lines_of_the_releases_before_are_read() -> None:
    found = [journal.event_of(line) for line in lines(WITH_TEXTS)]
    assert [each and (each.reason, each.message, each.causes) for each in found] == [
        (each.reason, line["message"], ())
        for each, line in zip(EVENTS, lines(WITH_TEXTS), strict=True)
    ]


@pytest.mark.parametrize(
    "damaged",
    [
        {"causes": None},
        {"causes": 1},
        {"causes": ["x"]},
        {"causes": [{}]},
        {"causes": [{"code": "event/start-failed", "fields": 1}]},
        {"causes": []},
    ],
)
def test_a_damaged_line_is_no_event(damaged: dict[str, Any]) -> None:
    line = lines(GOLDEN)[2]
    assert journal.event_of({**line, **damaged}) is None


def test_an_event_of_a_later_release_is_shown_as_it_is() -> None:
    later = Cause("event/later", {"what": "x y"})
    assert events.text((later,)) == "event/later: what 'x y'"
    assert events.text((Cause("event/start-failed", {}), later)) == "Error: event/later: what 'x y'"
    assert events.text((Cause("event/start-failed", {}),)) == "event/start-failed"


def example(of: type[Finding]) -> Finding:
    """One of them, with values that a sentence has to quote."""
    kinds = {each.name: each.type for each in msgspec.structs.fields(of)}
    values: dict[str, Any] = {
        name: kind(7) if kind in (int, float) else GoText(f"it's {{{name}}}")
        for name, kind in kinds.items()
        if name not in ("where", "severity")
    }
    return of(**values, where=Location("/etc/pods/web.yaml", "$.spec", 3))


ROOMS = (
    "numalet.shared.findings.agent",
    "numalet.agent.findings.events",
    "numalet.agent.findings.kubelet",
    "numalet.shared.findings.runtime",
    "numalet.core.findings.state_files",
    "numalet.insight.state.",
    "numalet.io.findings.devices",
    "numalet.io.findings.pods",
)
"""Where the findings are of which events are made."""


def test_any_finding_can_be_the_message_of_an_event() -> None:
    classes = [each for each in code_index.classes().values() if issubclass(each, Finding)]
    texts_only = set()
    for finding in map(example, classes):
        made = events.located(finding)
        assert made.text == finding.located
        if made.causes:
            assert events.text(made.causes) == made.text
        else:
            texts_only.add(type(finding))
    assert [each for each in texts_only if each.__module__.startswith(ROOMS)] == []


def test_a_line_that_is_nested_too_deeply_is_passed_over(tmp_path: Path) -> None:
    kept = Journal(tmp_path)
    kept.append([{"a": 1}])
    with (tmp_path / journal.FILE_NAME).open("a") as file:
        file.write("[" * 100_000 + "\n" + '{"b": 2}\n')
    assert [*kept.lines()] == [{"a": 1}, {"b": 2}]
