"""The devices of a block: a chip for each with its id, its state as a shape and as a word.

A ring is a free device, a disc one in use, a cross an unhealthy one. If a NUMA node has many
devices of a resource, they are counted instead of drawn one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model import numa_mask
from numalet.drawing import svg
from numalet.drawing.node.pen import BAR_PX, LINE_PX, PAD_PX, Box, Pen
from numalet.insight.maps import accelerator_memory
from numalet.insight.maps.map_devices import DeviceUse, MapDevice
from numalet.insight.maps.node_map import NumaBlock
from numalet.wording import numbers

_MOST_CHIPS: Final = 16
_CHIP_PX: Final = 20
_NARROWEST_CHIP_PX: Final = 120
_WIDEST_CHIP_PX: Final = 220
_SHAPE_PX: Final = 20
_WORDS: Final = {
    DeviceUse.FREE: "free",
    DeviceUse.IN_USE: "in use",
    DeviceUse.UNHEALTHY: "unhealthy",
}


def of_node(pen: Pen, block: NumaBlock) -> list[MapDevice]:
    return [each for each in pen.chart.devices if each.nodes == (block.node_id,)]


def elsewhere(pen: Pen) -> list[MapDevice]:
    """Return the devices that are attached to several NUMA nodes, or to unknown ones."""
    known = {(each.node_id,) for each in pen.chart.nodes}
    return [each for each in pen.chart.devices if each.nodes not in known]


def mark(
    pen: Pen, group: Element, devices: Iterable[MapDevice], place: Box,
    *, most_chips: int = _MOST_CHIPS,
) -> float:  # fmt: skip
    """Mark devices, by resource; more than ``most_chips`` are a bar. Return the lower end."""
    by_resource: dict[str, list[MapDevice]] = {}
    for each in devices:
        by_resource.setdefault(each.resource, []).append(each)
    top = place.top
    for resource, some in by_resource.items():
        line = f"{resource}: {_counts(some)}"
        end = pen.paragraph(group, line, Box(place.left, top, place.width))
        below = Box(place.left, end, place.width)
        top = (_chips if len(some) <= most_chips else _bar)(pen, group, some, below)
    return top


def mark_owners(pen: Pen, group: Element, block: NumaBlock, place: Box) -> float:
    """Name the owners of the memory of a NUMA node without CPUs, if known; return the lower end."""
    owners = accelerator_memory.owners(pen.chart, block)
    if not owners:
        return place.top
    names = " or ".join(each.called for each in owners)
    known = "" if block.node_id in owners[0].nodes else ", by the distances"
    pen.line(group, f"memory of {names}", place, full=f"memory of {names}{known}")
    return place.top + LINE_PX


def words(pen: Pen, device: MapDevice) -> str:
    parts = [f"{device.resource} {device.full_name}: {_WORDS[device.state]}"]
    if device.pod_uid:
        parts.append(f"held by {pen.pod_title(device.pod_uid)}")
    if device.pci_address:
        parts.append(f"PCI address {device.pci_address}")
    nodes = numa_mask.listed(device.nodes)
    parts.append(f"NUMA node {nodes}" if nodes else "NUMA node not known")
    return ", ".join(parts)


def _counts(devices: Sequence[MapDevice]) -> str:
    counted = {use: sum(each.state is use for each in devices) for use in _WORDS}
    listed = [f"{count} {_WORDS[use]}" for use, count in counted.items() if count]
    return f"{', '.join(listed)} of {len(devices)}"


def _chips(pen: Pen, group: Element, devices: Sequence[MapDevice], place: Box) -> float:
    per_line = max(1, int((place.width + PAD_PX) // (_NARROWEST_CHIP_PX + PAD_PX)))
    wide = min((place.width + PAD_PX) / per_line - PAD_PX, _WIDEST_CHIP_PX)
    for at, device in enumerate(devices):
        left = place.left + at % per_line * (wide + PAD_PX)
        top = place.top + at // per_line * (_CHIP_PX + 4)
        _chip(pen, group, device, Box(left, top, wide, _CHIP_PX))
    return place.top + -(-len(devices) // per_line) * (_CHIP_PX + 4)


def _chip(pen: Pen, group: Element, device: MapDevice, box: Box) -> None:
    node = numa_mask.listed(device.nodes) or "none"
    name = f"n{node}-device-{device.resource}-{device.device_id}"
    more = {"data_pod": device.pod_uid} if device.pod_uid else {}
    if device.called != device.device_id:
        more["data_called"] = device.called
    chip = svg.add(group, "g", id=f"{pen.prefix}{name}", data_device=device.device_id, **more)
    svg.named(chip, words(pen, device))
    held = device.pod_uid if device.state is not DeviceUse.FREE else ""
    holder = pen.holder(held)
    is_trapped = device.state is DeviceUse.FREE and device.resource in pen.refused_devices
    css_class = "chip trap" if is_trapped else "chip"
    svg.add(
        chip, "rect", css_class=css_class, x=box.left, y=box.top, width=box.width,
        height=box.height, rx=4,
    )  # fmt: skip
    shape = Box(box.left, box.top, _SHAPE_PX, box.height)
    if held:
        colour = holder.css_class
        svg.add(
            chip, "rect", css_class=colour, x=box.left, y=box.top, width=4, height=box.height, rx=2
        )
    _shape(chip, device.state, shape)
    place = Box(box.left + _SHAPE_PX, box.top, box.width - _SHAPE_PX - 4, box.height)
    state = "" if device.state is DeviceUse.FREE else f" {_WORDS[device.state]}"
    suffix = f"{state} {holder.letter if held else ''}".rstrip()
    shown = f"{_short_id(device.called, suffix, place.width)}{suffix}"
    pen.line(chip, shown, place, "figure bad" if state == " unhealthy" else "figure")


def _short_id(device_id: str, suffix: str, room_px: float) -> str:
    """Return the id; for a long one its end, where ids of one plugin differ."""
    room_px -= svg.text_width_px(suffix, "small")
    backwards = svg.shortened_text(device_id[::-1], room_px, "small")
    return backwards[::-1]


def _shape(chip: Element, state: DeviceUse, box: Box) -> None:
    middle, down = box.left + box.width / 2 + 1, box.top + box.height / 2
    if state is DeviceUse.UNHEALTHY:
        path = f"M{svg.number(middle - 4)} {svg.number(down - 4)}l8 8m0 -8l-8 8"
        svg.add(chip, "path", css_class="broken", d=path)
    else:
        css_class = "ok" if state is DeviceUse.FREE else "busy"
        svg.add(chip, "circle", css_class=css_class, cx=middle, cy=down, r=4)


def _bar(pen: Pen, group: Element, devices: Sequence[MapDevice], place: Box) -> float:
    parts: dict[tuple[DeviceUse, str], list[MapDevice]] = {}
    for each in devices:
        parts.setdefault((each.state, each.pod_uid), []).append(each)
    order = (DeviceUse.UNHEALTHY, DeviceUse.IN_USE, DeviceUse.FREE)
    node = numa_mask.listed(devices[0].nodes) or "none"
    left = place.left
    for (state, uid), some in sorted(parts.items(), key=lambda item: order.index(item[0][0])):
        wide = place.width * len(some) / len(devices)
        colour = pen.holder(uid).css_class if uid else _UNHELD[state]
        holder = f", held by {pen.pod_title(uid)}" if uid else ""
        count = numbers.counted(len(some), "device")
        box = Box(left, place.top, wide, BAR_PX)
        pen.rect(
            group, box, colour, f"{some[0].resource}: {count} {_WORDS[state]}{holder}", uid=uid,
            mark_id=f"n{node}-devices-{some[0].resource}-{state.value}-{uid}",
            data_devices=str(len(some)),
        )  # fmt: skip
        pen.label_in(group, uid, box)
        left += wide
    return place.top + BAR_PX + 4


_UNHELD: Final = {
    DeviceUse.FREE: "free",
    DeviceUse.IN_USE: "holder",
    DeviceUse.UNHEALTHY: "kept",
}
"""Colours of devices without a known pod where they are counted."""
