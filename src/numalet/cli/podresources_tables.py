"""Answers of the PodResources API, in the JSON form of protocol buffers, as tables.

The form omits default values, and writes 64-bit numbers as texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from numalet.cli import output
from numalet.cli.tables import Column, Columns, grouped, table
from numalet.core.model import cpu_set
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType


def of_pods(pods: Iterable[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield one row per container, before them one for what the pod got as a whole."""
    named = ((f"{each.get('namespace', '')}/{each.get('name', '')}", each) for each in pods)
    rows = list(grouped((name, _parts(each)) for name, each in named))
    yield table(_COLUMNS, rows) if rows else Text("No pods.")


def _parts(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if pod.get("cpuIds") or pod.get("memory"):
        yield {**pod, "name": "(whole pod)"}
    yield from pod.get("containers", ())


def of_allocatable(document: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield CPUs in a line, then memory, then devices."""
    yield Text(f"CPUs     {_cpus(document.get('cpuIds', ()))}")
    yield Text.assemble("memory   ", _indented(map(_memory, document.get("memory", ()))))
    yield Text.assemble("devices  ", _indented(_devices(document.get("devices", ()))))


_COLUMNS: Final[Columns[tuple[str | None, Mapping[str, Any]]]] = (
    Column("pod", lambda each: each[0] or ""),
    Column("container", lambda each: each[1].get("name", "")),
    Column("CPUs", lambda each: _cpus(each[1].get("cpuIds", ()))),
    Column("memory", lambda each: _lines(map(_memory, each[1].get("memory", ())))),
    Column("devices", lambda each: _lines(_devices(each[1].get("devices", ())))),
)


def _lines(lines: Iterable[str]) -> Text:
    return Text(output.printable("\n".join(lines) or "-"))


def _indented(lines: Iterable[str]) -> Text:
    return Text(output.printable("\n         ".join(lines) or "-"))


def _cpus(ids: Sequence[str | int]) -> str:
    return cpu_set.text(frozenset(map(int, ids))) or "-"


def _memory(block: Mapping[str, Any]) -> str:
    size = numbers.size(int(block.get("size", 0)))
    kind = block.get("memoryType", "")
    return f"{size} {kind}{_nodes(block.get('topology'))}"


def _devices(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each resource and place; a device of several nodes has several entries."""
    nodes_of: dict[tuple[str, str], list[int]] = defaultdict(list)
    for entry in entries:
        for device_id in entry.get("deviceIds", ()):
            known = nodes_of[entry.get("resourceName", ""), device_id]
            known.extend(_node_ids(entry.get("topology")))
    by_place: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for (resource, device_id), node_ids in nodes_of.items():
        by_place[resource, tuple(sorted(node_ids))].append(device_id)
    for (resource, place), device_ids in sorted(by_place.items()):
        yield f"{resource} {', '.join(sorted(device_ids))}{_on(place)}"


def _nodes(topology: Mapping[str, Any] | None) -> str:
    return _on(_node_ids(topology))


def _node_ids(topology: Mapping[str, Any] | None) -> tuple[int, ...]:
    return tuple(int(node.get("ID", 0)) for node in (topology or {}).get("nodes", ()))


def _on(node_ids: Sequence[int]) -> str:
    if not node_ids:
        return ""
    return f" on node{'s' if len(node_ids) > 1 else ''} {cpu_set.text(frozenset(node_ids))}"
