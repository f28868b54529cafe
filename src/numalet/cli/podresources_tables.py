"""Answers of the PodResources API, in the JSON form of protocol buffers, as tables.

The form omits default values, and writes 64-bit numbers as texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from numalet.cli import output
from numalet.core.model import cpu_set
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType


def of_pods(pods: Iterable[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Yield one row per container."""
    table = _table("pod", "container", "CPUs", "memory", "devices")
    for pod in pods:
        whole = f"{pod.get('namespace', '')}/{pod.get('name', '')}"
        for container in pod.get("containers", ()):
            table.add_row(
                *map(_text, (whole, container.get("name", ""), _cpus(container.get("cpuIds", ())))),
                _lines(map(_memory, container.get("memory", ()))),
                _lines(_devices(container.get("devices", ()))),
            )
            whole = ""
    yield table if table.row_count else Text("No pods.")


def of_allocatable(document: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield CPUs in a line, then memory, then devices."""
    yield Text(f"CPUs     {_cpus(document.get('cpuIds', ()))}")
    yield Text.assemble("memory   ", _indented(map(_memory, document.get("memory", ()))))
    yield Text.assemble("devices  ", _indented(_devices(document.get("devices", ()))))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _text(text: str) -> Text:
    return Text(output.printable(text))


def _lines(lines: Iterable[str]) -> Text:
    return _text("\n".join(lines) or "-")


def _indented(lines: Iterable[str]) -> Text:
    return _text("\n         ".join(lines) or "-")


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
