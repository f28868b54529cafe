"""Drawings of the tokens, and of placeholders for a missing node.

The page ``/design`` of the dashboard shows both; use it to check changes of ``tokens``.
"""

from __future__ import annotations

from typing import Final

from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import replace
from numalet.drawing import node_drawing, room_drawing, svg, tokens
from numalet.drawing.node.pen import STYLE
from numalet.insight.maps import finding, room
from numalet.insight.maps.map_devices import DeviceUse, MapDevice
from numalet.insight.maps.node_map import (
    ColoursBy,
    MapPod,
    MemoryBar,
    MemoryGroup,
    MemoryPart,
    NodeMap,
    NumaBlock,
)
from numalet.insight.maps.refusal import Refusal
from numalet.insight.maps.resource_maps import CpuCell, CpuUse
from numalet.insight.maps.shared_pool import PooledPod, SharedPool

_COLUMN_PX: Final = 160
_ROW_PX: Final = 32
_SAMPLE_WIDTH_PX: Final = 360

STATES: Final = {
    "empty": ("ink-2", "0", "No NUMA nodes", "The machine reports none."),
    "loading": ("ink-2", "…", "Not read yet", "The node appears when it has been read."),
    "refused": ("bad", "x", "The kubelet would not start", "Its complaint is above the drawing."),
    "stale": ("warning", "!", "Not current", "This is the last known state of the node."),
    "gone": ("bad", "x", "The agent has stopped", "This page returns by itself when it is back."),
}
"""A colour, a sign, a heading and a sentence for each state, by its name."""


def _pod(name: str, namespace: str, *cpus: int, gib: int) -> MapPod:
    return MapPod(
        uid=name, namespace=namespace, name=name, qos_class=None, nodes=(0,),
        cpus=frozenset(cpus), memory_bytes={"memory": gib << 30}, devices={},
    )  # fmt: skip


_PODS: Final = (
    _pod("web", "shop", 1, 9, 2, 10, gib=24),
    _pod("db", "shop", 3, gib=8),
    _pod("log", "system", 11, gib=4),
)
_OWNERS: Final = {cpu: pod.uid for pod in _PODS for cpu in pod.cpus}


def _cell(cpu: int) -> CpuCell:
    if cpu in _OWNERS:
        return CpuCell(cpu, CpuUse.EXCLUSIVE, _OWNERS[cpu])
    return CpuCell(cpu, CpuUse.RESERVED if cpu in {0, 8} else CpuUse.SHARED)


_NODE: Final = NodeMap(
    title="A node with all that a drawing can show",
    nodes=tuple(
        NumaBlock(
            node_id=at,
            node_class=NodeClass.CPU,
            sockets=(0,),
            distances=(10, 20)[:: 1 - 2 * at],
            cores=tuple((_cell(cpu), _cell(cpu + 8)) for cpu in range(4 * at, 4 * at + 4)),
            memory=(MemoryBar("memory", 64 << 30, 4 << 30, 16 << 30, parts),),
            caches=caches,
        )
        for at, parts, caches in (
            (
                0,
                (MemoryPart("web", 24 << 30), MemoryPart("db", 8 << 30), MemoryPart("", 12 << 30)),
                (frozenset({0, 1, 8, 9}), frozenset({2, 3, 10, 11})),
            ),
            (1, (MemoryPart("", 44 << 30),), ()),
        )
    ),
    groups=(MemoryGroup((0, 1), ("log",)),),
    devices=tuple(
        MapDevice("example.com/gpu", f"gpu{at}", (0,), use, "web" if at == 1 else "")
        for at, use in enumerate(DeviceUse)
    ),
    pods=_PODS,
    refused=(Refusal("ml/two", "It needs 2 GPUs, and 1 is free.", {"example.com/gpu"}),),
    pool=SharedPool(frozenset({0, 8, *range(4, 8), *range(12, 16)}), (PooledPod("ns/job", 2500),)),
)


def nodes() -> dict[str, str]:
    """Draw one node with all that a drawing can show, by what the reader chose."""
    shown = {
        "colours by pod": (ColoursBy.POD, ""),
        "colours by namespace": (ColoursBy.NAMESPACE, ""),
        "CPU 6 is found": (ColoursBy.POD, "CPU 6"),
        "GPU 1 is found": (ColoursBy.POD, "GPU 1"),
        "a pod is found": (ColoursBy.POD, "web"),
    }
    return {
        name: node_drawing.draw(
            replace(_NODE, colours_by=colours_by), prefix=f"shown{at}-",
            found=finding.find(_NODE, words),
        )
        for at, (name, (colours_by, words)) in enumerate(shown.items())
    }  # fmt: skip


def rooms() -> dict[str, str]:
    """Draw the rows of NUMA nodes, wide and narrow."""
    rows = room.rooms(_NODE)
    return {
        name: room_drawing.draw(
            _NODE, rows, link=lambda _: "#main", width_px=width_px, prefix=f"rows-{name}-", best=1
        )
        for name, width_px in (("wide", 960), ("narrow", 364))
    }


def palette(width_px: int = 960) -> str:
    """Draw all colours with their names, the type scale and the grid."""
    columns = max(1, width_px // _COLUMN_PX)
    names = [*tokens.COLOURS]
    rows = -(-len(names) // columns)
    type_top = rows * _ROW_PX + 8
    height_px = type_top + len(tokens.TEXT_PX) * _ROW_PX
    picture = svg.root(width_px, height_px, "Colours and sizes of text", STYLE, "node")
    for at, name in enumerate(names):
        left, top = at % columns * _COLUMN_PX, at // columns * _ROW_PX
        light, dark = tokens.COLOURS[name]
        swatch = svg.add(
            picture, "rect", x=left + 1, y=top + 1, width=24, height=24, rx=4,
            style=f"fill:var(--{name});stroke:var(--line)",
        )  # fmt: skip
        svg.named(swatch, f"{name}: {light}, in the dark {dark}")
        svg.add(picture, "text", name, css_class="figure", x=left + 32, y=top + 17)
    for at, (name, size_px) in enumerate(tokens.TEXT_PX.items()):
        words = f"{name}, {size_px} px: 0123456789"
        shown = svg.shortened_text(words, width_px, name)
        style = f"font-size:{size_px}px"
        svg.add(picture, "text", shown, x=0, y=type_top + at * _ROW_PX + 24, style=style)
    return svg.text_of(picture)


def state(name: str) -> str:
    """Draw the placeholder for a node in one of ``STATES``."""
    colour, sign, heading, sentence = STATES[name]
    picture = svg.root(_SAMPLE_WIDTH_PX, 72, f"{heading}: {sentence}", STYLE, "node")
    svg.add(
        picture, "rect", css_class="block", x=1, y=1, width=_SAMPLE_WIDTH_PX - 2, height=70, rx=4
    )
    svg.add(
        picture, "text", sign, css_class="heading", x=20, y=32, text_anchor="middle",
        style=f"fill:var(--{colour})", aria_hidden="true",
    )  # fmt: skip
    room_px = _SAMPLE_WIDTH_PX - 48
    shown = svg.shortened_text(heading, room_px, is_bold=True)
    svg.add(picture, "text", shown, css_class="heading", x=40, y=32)
    sentence = svg.shortened_text(sentence, room_px, "small")
    svg.add(picture, "text", sentence, css_class="small", x=40, y=52)
    return svg.text_of(picture)
