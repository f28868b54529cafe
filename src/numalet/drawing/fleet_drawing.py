"""The map of a fleet as heat maps: free amounts of one resource in the unit that people read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from numalet.core.model import resources
from numalet.drawing import heat_map
from numalet.drawing.heat_map import HeatCell, HeatPool
from numalet.insight.fleet.heat import FleetCell, FleetMap, MappedPool

Href = Callable[[str, int, str], str]
"""The link of a cell: its name, the number of nodes that it stands for, the resource."""

_GIB: Final = 1 << 30


def draw(
    fleet: FleetMap,
    *,
    width_px: int = 960,
    href: Href = lambda name, count, resource: "",
) -> str:
    pools = [_pool(each, fleet.resource, href) for each in fleet.pools]
    return heat_map.draw(pools, unit(fleet.resource), width_px=width_px)


def unit(resource: str) -> str:
    """Return the unit, as in ``free CPUs`` or ``GiB free of memory``."""
    if resource == resources.CPU:
        return "free CPUs"
    if resources.is_memory_type(resource):
        return f"GiB free of {resource}"
    return f"free {resource}"


def rounded(resource: str, amount: int) -> int:
    """Round thousandths of a CPU or bytes down to CPUs or GiB."""
    if resource == resources.CPU:
        return amount // 1000
    return amount // _GIB if resources.is_memory_type(resource) else amount


def _pool(pool: MappedPool, resource: str, href: Href) -> HeatPool:
    most = max((share.total for each in pool.cells for share in each.shares), default=0)
    cells = [_cell(each, resource, href) for each in pool.cells]
    unknown = [
        HeatCell(
            name=each.name,
            free_by_numa_node=None,
            count=each.count,
            words=each.why,
            href=href(each.name, each.count, resource),
        )
        for each in pool.undecided
    ]
    return HeatPool(
        name=pool.name or "no pool",
        cells=(*cells, *unknown),
        most_per_numa_node=rounded(resource, most),
    )


def _cell(cell: FleetCell, resource: str, href: Href) -> HeatCell:
    words = [] if cell.trap is None else [cell.trap.text]
    if not cell.is_open:
        words.append("gets no new pods: cordoned or not ready")
    is_whole = not cell.shares and cell.in_all.total > 0
    if cell.elsewhere.total and not is_whole:
        words.append(f"{cell.elsewhere.free} free on no NUMA node")
    # A NUMA node that never has the resource is neither free nor used.
    free = tuple(rounded(resource, each.free) for each in cell.shares if each.total)
    in_all = rounded(resource, cell.in_all.free), rounded(resource, cell.in_all.total)
    return HeatCell(
        name=cell.name,
        # A resource may be on no NUMA node.
        free_by_numa_node=free or ((0,) if cell.in_all.total else ()),
        whole=in_all if is_whole else None,
        is_trap=cell.trap is not None,
        is_fitting=cell.is_fitting,
        is_closed=not cell.is_open,
        count=cell.count,
        words="; ".join(words),
        href=href(cell.name, cell.count, resource),
    )
