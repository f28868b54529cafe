"""Rows, columns and ages of ``kubectl get``. Kubernetes: ``pkg/printers/internalversion``, v1.32.

Columns of priority 1 are shown with ``-o wide``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from numalet.core.model.value import Value
from numalet.shared.kubernetes import table_columns

UNKNOWN: Final = "<unknown>"
_SECOND_OF_CLOCK_SKEW: Final = -1
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

_STEPS: Final = (
    # Below this many seconds: the unit, and the unit of the remainder.
    (2 * _MINUTE, (1, "s"), None),
    (10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
    (3 * _HOUR, (_MINUTE, "m"), None),
    (8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
    (2 * _DAY, (_HOUR, "h"), None),
    (8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
    (2 * _YEAR, (_DAY, "d"), None),
    (8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
)


def age(text: str | None, now: datetime) -> str:
    """The age of a Kubernetes timestamp, or ``<unknown>``."""
    if not text:
        return UNKNOWN
    at = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return duration(now - at)


def duration(length: timedelta) -> str:
    """A duration as kubectl prints it: ``113s``, ``5m30s``, ``3d4h``.

    Kubernetes: ``apimachinery/pkg/util/duration.HumanDuration``, v1.32.
    """
    seconds = int(length.total_seconds())
    if seconds < 0:
        # kubectl tolerates one second of clock skew.
        return "0s" if seconds >= _SECOND_OF_CLOCK_SKEW else "<invalid>"
    for below, (unit, letter), rest in _STEPS:
        if seconds < below:
            left = seconds % unit // rest[0] if rest else 0
            return f"{seconds // unit}{letter}" + (f"{left}{rest[1]}" if rest and left else "")
    return f"{seconds // _YEAR}y"


Cell: TypeAlias = "str | int"
_Object: TypeAlias = Mapping[str, Any]

NONE: Final = "<none>"


class Column(Value):
    """``format`` is ``name`` for the object's name."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": "",
            "priority": self.priority,
        }


class Printer(Value):
    """The columns of a kind, and a function for an object's cells at a time."""

    columns: tuple[Column, ...]
    cells: Callable[[_Object, datetime], tuple[Cell, ...]]


def printer(kind: str) -> Printer:
    """The printer of a kind; by default name and age."""
    return _PRINTERS.get(kind, _ANY)


def _named(*names: str, wide: tuple[str, ...] = ()) -> tuple[Column, ...]:
    named = Column("Name", format="name")
    narrow = (Column(name) for name in names)
    return (named, *narrow, *(Column(name, priority=1) for name in wide))


def _pod(pod: _Object, now: datetime) -> tuple[Cell, ...]:
    cells = table_columns.columns(pod)
    restarts = str(cells.restarts)
    if cells.restarts and cells.restarted_at:
        restarts += f" ({age(cells.restarted_at, now)} ago)"
    spec, status = pod.get("spec", {}), pod.get("status", {})
    return (
        pod["metadata"]["name"],
        cells.ready,
        cells.status,
        restarts,
        _age(pod, now),
        status.get("podIP") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    )


def _gates(spec: _Object, status: _Object) -> str:
    gates = [each.get("conditionType") for each in spec.get("readinessGates") or ()]
    true = {each["type"] for each in status.get("conditions") or () if each.get("status") == "True"}
    return f"{sum(gate in true for gate in gates)}/{len(gates)}" if gates else NONE


def _node(node: _Object, now: datetime) -> tuple[Cell, ...]:
    status = node["status"]
    info, addresses = status["nodeInfo"], status.get("addresses") or ()
    # Reversed, so that the first address of a type wins.
    by_type = {each["type"]: each["address"] for each in reversed(addresses)}
    return (
        node["metadata"]["name"],
        _node_status(node),
        NONE,
        _age(node, now),
        info["kubeletVersion"],
        by_type.get("InternalIP", NONE),
        by_type.get("ExternalIP", NONE),
        info["osImage"] or UNKNOWN,
        info["kernelVersion"] or UNKNOWN,
        info["containerRuntimeVersion"] or UNKNOWN,
    )


def _node_status(node: _Object) -> str:
    ready = [each for each in node["status"]["conditions"] if each["type"] == "Ready"]
    # kubectl prints NotReady for "Unknown" as well.
    words = ["Ready" if each["status"] == "True" else "NotReady" for each in ready] or ["Unknown"]
    if node["spec"].get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _namespace(namespace: _Object, now: datetime) -> tuple[Cell, ...]:
    return (namespace["metadata"]["name"], namespace["status"]["phase"], _age(namespace, now))


def _event(event: _Object, now: datetime) -> tuple[Cell, ...]:
    about, source = event["involvedObject"], event["source"]
    first = age(event.get("firstTimestamp"), now)
    return (
        age(event.get("lastTimestamp"), now) if event.get("lastTimestamp") else first,
        event["type"],
        event["reason"],
        f"{about['kind'].lower()}/{about['name']}",
        about.get("fieldPath", ""),
        ", ".join(source[name] for name in ("component", "host") if source.get(name)),
        event["message"].strip(),
        first,
        event.get("count") or 1,
        event["metadata"]["name"],
    )


def _placement(placement: _Object, now: datetime) -> tuple[Cell, ...]:
    nodes = ",".join(map(str, placement["numaNodes"]))
    return (
        placement["metadata"]["name"],
        placement["ready"],
        placement["status"],
        placement["restarts"],
        nodes or NONE,
        placement["cpus"] or NONE,
        _age(placement, now),
    )


def _any(value: _Object, now: datetime) -> tuple[Cell, ...]:
    return (value["metadata"]["name"], _age(value, now))


def _age(value: _Object, now: datetime) -> str:
    return age(value["metadata"].get("creationTimestamp"), now)


_ANY: Final = Printer(_named("Age"), _any)
_PRINTERS: Final[Mapping[str, Printer]] = {
    "Pod": Printer(
        _named(
            *("Ready", "Status", "Restarts", "Age"),
            wide=("IP", "Node", "Nominated Node", "Readiness Gates"),
        ),
        _pod,
    ),
    "Node": Printer(
        _named(
            *("Status", "Roles", "Age", "Version"),
            wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "Namespace": Printer(_named("Status", "Age"), _namespace),
    "Event": Printer(
        (
            *(Column(name) for name in ("Last Seen", "Type", "Reason", "Object")),
            *(Column(name, priority=1) for name in ("Subobject", "Source")),
            Column("Message"),
            Column("First Seen", priority=1),
            Column("Count", "integer", priority=1),
            Column("Name", format="name", priority=1),
        ),
        _event,
    ),
    "PodPlacement": Printer(
        (
            *_named("Ready", "Status"),
            Column("Restarts", "integer"),
            *(Column(name) for name in ("NUMA Nodes", "CPUs", "Age")),
        ),
        _placement,
    ),
}
