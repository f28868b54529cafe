"""A simulated node as a source: its rows, events and notes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from cli.commands import EXAMPLES
from numalet.core.config.rules import StartRefused
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import replace
from numalet.dashboard import history_points, node_views, simulated
from numalet.dashboard.simulated import SimulatedNode
from numalet.dashboard.sources import Level
from numalet.insight.decision_notes import DecisionEvicted
from numalet.insight.simulate.session import RemoveStep
from numalet.insight.usecases import simulating
from numalet.insight.usecases.simulating import SimulateInputs
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.machines import MachineChoice

_AT = datetime(2026, 1, 1, tzinfo=UTC)


def _source(*pods: Path) -> SimulatedNode:
    prepared = simulating.prepare(
        SimulateInputs(
            machine=MachineChoice(str(EXAMPLES / "machine.yaml")),
            config=ConfigSources(
                config_file=EXAMPLES / "kubelet.yaml",
                flags=(("--reserved-memory", "0:memory=3Gi;1:memory=2148Mi"),),
            ),
            pods=[str(each) for each in pods],
        )
    )
    assert not isinstance(prepared.session, StartRefused)
    return simulated.source("a", prepared.scenario, prepared.session, _AT, prepared.notes)


def test_an_admitted_pod_holds_what_it_was_promised() -> None:
    source = _source(EXAMPLES / "guaranteed.yaml")
    view = source.view()
    assert view is source.view()
    (row,) = view.rows
    assert (row.status, row.is_rejected) == ("Running", False)
    assert view.by_uid[row.pod.uid] is row
    assert sum(each.promised_bytes["memory"] for each in row.containers) == sum(
        each.memory_bytes["memory"] for each in view.chart.pods
    )
    assert row.containers[0].actual_bytes is None
    assert [event.reason for event in view.events] == ["Admitted"]
    assert source.history() == ()
    assert source.log_path(ContainerKey(row.pod.uid, "a")) is None


def test_a_rejected_pod_has_the_kubelets_words_and_ours() -> None:
    view = _source(EXAMPLES / "guaranteed.yaml", EXAMPLES / "second.yaml").view()
    rejected = [row for row in view.rows if row.is_rejected]
    assert rejected
    for row in rejected:
        assert row.reason
        assert row.why
        assert row.cause.startswith("second (memory 10Gi) does not fit on fewer NUMA nodes: ")
        point = history_points.point(replace(view, rows=()), view, _AT)
        (words,) = (each.words for each in point.events if each.pod == row.title)
        assert f"{row.reason}: {row.cause}".startswith(words)
        assert row.cause[:60] in words
        assert row.containers == ()
        assert (row.reason, True, str(row.pod)) in [
            (event.reason, event.is_warning, event.pod) for event in view.events
        ]


def test_a_finding_becomes_a_note() -> None:
    note = node_views.note(DecisionEvicted(pod="a", evicted="b"))
    assert (note.level, note.code) == (Level.GOOD, "decision/evicted")
    assert note.text.startswith("b: evicted")
    assert note.fix


def test_a_removed_pod_has_no_row_and_a_restart_decides_again() -> None:
    scenario = Path(__file__).parents[2] / "scenarios" / "extension-of-a-hint.yaml"
    prepared = simulating.prepare(SimulateInputs(pods=[str(scenario)]))
    assert not isinstance(prepared.session, StartRefused)
    steps = prepared.scenario.steps
    removed = {each.pod_uid for each in steps if isinstance(each, RemoveStep)}
    asked = [each.uid for each in steps if isinstance(each, Pod)]
    view = simulated.source("a", prepared.scenario, prepared.session, _AT).view()
    assert removed
    assert [row.pod.uid for row in view.rows] == [uid for uid in asked if uid not in removed]
    assert len(view.events) >= len(asked)
