"""Objects as the rows that kubectl prints, and ages as it writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from numalet.shared.kubernetes import tables
from numalet.shared.kubernetes.tables import Cell

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BORN = "2026-01-02T03:02:12Z"


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(seconds=-2), "<invalid>"),
        (timedelta(seconds=-1), "0s"),
        (timedelta(0), "0s"),
        (timedelta(seconds=113), "113s"),
        (timedelta(seconds=120), "2m"),
        (timedelta(seconds=325), "5m25s"),
        (timedelta(minutes=10, seconds=59), "10m"),
        (timedelta(minutes=179, seconds=59), "179m"),
        (timedelta(hours=3), "3h"),
        (timedelta(hours=7, minutes=59), "7h59m"),
        (timedelta(hours=8, minutes=59), "8h"),
        (timedelta(hours=47), "47h"),
        (timedelta(hours=48), "2d"),
        (timedelta(days=7, hours=5), "7d5h"),
        (timedelta(days=8, hours=5), "8d"),
        (timedelta(days=729), "729d"),
        (timedelta(days=730), "2y"),
        (timedelta(days=800), "2y70d"),
        (timedelta(days=365 * 8 + 3), "8y"),
    ],
)
def test_an_age_is_the_coarser_the_greater_it_is(length: timedelta, text: str) -> None:
    assert tables.duration(length) == text


def _row(value: dict[str, Any]) -> dict[str, Cell]:
    printer = tables.printer(value["kind"])
    cells = printer.cells(value, NOW)
    return dict(zip((each.name for each in printer.columns), cells, strict=True))


def _narrow(value: dict[str, Any]) -> list[Cell]:
    printer = tables.printer(value["kind"])
    cells = zip(printer.columns, printer.cells(value, NOW), strict=True)
    return [cell for column, cell in cells if column.priority == 0]


def _object(kind: str, **members: Any) -> dict[str, Any]:
    metadata = {"name": "guaranteed", "creationTimestamp": BORN}
    return {"kind": kind, "metadata": metadata, **members}


def test_a_refused_pod_shows_its_reason_as_the_documentation_does() -> None:
    status = {"phase": "Failed", "reason": "TopologyAffinityError"}
    pod = _object("Pod", spec={"containers": [{"name": "c"}]}, status=status)
    assert _narrow(pod) == ["guaranteed", "0/1", "TopologyAffinityError", "0", "113s"]
    wide = _row(pod)
    assert [wide[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")] == [
        "<none>"
    ] * 4


def test_a_pod_that_was_started_again_shows_when() -> None:
    last = {"terminated": {"exitCode": 1, "finishedAt": "2026-01-02T03:04:00Z"}}
    container = {
        "name": "c",
        "ready": True,
        "restartCount": 3,
        "state": {"running": {}},
        "lastState": last,
    }
    pod = _object(
        "Pod",
        spec={
            "containers": [{"name": "c"}],
            "nodeName": "n",
            "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}],
        },
        status={
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}],
            "containerStatuses": [container],
        },
    )
    row = _row(pod)
    assert (row["Ready"], row["Status"], row["Restarts"]) == ("1/1", "Running", "3 (5s ago)")
    assert (row["IP"], row["Node"], row["Readiness Gates"]) == ("10.0.0.1", "n", "1/2")


def _node(ready: str | None, spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    info = dict.fromkeys(("osImage", "kernelVersion", "containerRuntimeVersion"), "")
    conditions = [] if ready is None else [{"type": "Ready", "status": ready}]
    shown = {"nodeInfo": {**info, "kubeletVersion": "v1"}, "conditions": conditions, **status}
    return _object("Node", spec=spec, status=shown)


def test_a_node_is_ready_or_not() -> None:
    assert _narrow(_node("True", {})) == ["guaranteed", "Ready", "<none>", "113s", "v1"]
    assert _row(_node("False", {}))["Status"] == "NotReady"
    closed = _node(None, {"unschedulable": True})
    assert _row(closed)["Status"] == "Unknown,SchedulingDisabled"


def test_a_node_shows_its_addresses_and_its_system() -> None:
    addresses = [
        {"type": "InternalIP", "address": "10.0.0.1"},
        {"type": "InternalIP", "address": "10.0.0.2"},
        {"type": "Hostname", "address": "n"},
    ]
    row = _row(_node("True", {}, addresses=addresses))
    assert (row["Internal-IP"], row["External-IP"]) == ("10.0.0.1", "<none>")
    assert row["OS-Image"] == "<unknown>"


def _event(**members: Any) -> dict[str, Any]:
    return _object(
        "Event",
        **{
            "type": "Warning",
            "reason": "TopologyAffinityError",
            "message": "Resources cannot be allocated with Topology locality\n",
            "involvedObject": {"kind": "Pod", "name": "guaranteed"},
            "source": {"component": "numalet", "host": "n"},
            "firstTimestamp": BORN,
            **members,
        },
    )


def test_an_event_says_what_happened_to_whom() -> None:
    assert _narrow(_event(lastTimestamp="2026-01-02T03:04:00Z")) == [
        "5s",
        "Warning",
        "TopologyAffinityError",
        "pod/guaranteed",
        "Resources cannot be allocated with Topology locality",
    ]
    row = _row(_event(count=4))
    assert (row["Last Seen"], row["First Seen"], row["Count"]) == ("113s", "113s", 4)
    assert row["Source"] == "numalet, n"
    assert _row(_event())["Count"] == 1


def test_namespaces_placements_and_anything_else() -> None:
    assert _narrow(_object("Namespace", status={"phase": "Active"})) == [
        "guaranteed",
        "Active",
        "113s",
    ]
    facts = {"ready": "1/1", "status": "Running", "restarts": 0}
    placed = _object("PodPlacement", **facts, numaNodes=[0, 1], cpus="2-3")
    assert _narrow(placed)[4:6] == ["0,1", "2-3"]
    unplaced = _object("PodPlacement", **facts, numaNodes=[], cpus="")
    assert _narrow(unplaced)[4:6] == ["<none>", "<none>"]
    assert _narrow(_object("NodeState")) == ["guaranteed", "113s"]
    assert _narrow({"kind": "NodeState", "metadata": {"name": "n"}}) == ["n", "<unknown>"]


def test_a_column_is_defined_as_a_table_has_it() -> None:
    name = tables.printer("Pod").columns[0]
    assert name.definition() == {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": "",
        "priority": 0,
    }
