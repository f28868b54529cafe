"""Decisions as an agent's log tells them, in the format of recordings.

The messages and their keys are the kubelet's. A line has no provider, as in the kubelet; the hints
of one subject come in the order in which providers are asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from numalet.core.model import cpu_set, numa_mask
from numalet.insight.simulate import outcome

Plain: TypeAlias = dict[str, Any]
"""A JSON object."""

VERDICTS: Final = ("Pod admitted", "Pod admission denied")
"""The last line of each decision."""


def decisions(lines: Iterable[Plain], groups: Sequence[Plain]) -> Iterator[Plain]:
    """The decisions of a log, with the uids of the pods; ``groups`` are the devices there are."""
    told: list[Plain] = []
    for line in lines:
        told.append(line)
        if line["msg"] in VERDICTS:
            yield _decision(told, groups)
            told = []


def _decision(lines: Sequence[Plain], groups: Sequence[Plain]) -> Plain:
    end = lines[-1]
    found: Plain = {
        "uid": end["podUID"],
        "admitted": "placements" in end,
        "reason": end.get("reason", ""),
        "message": end.get("message", ""),
    }
    if hints := _hints(lines):
        found["hints"] = hints
        found["merged"] = _merged(lines, found["reason"])
        found["affinity"] = {
            each["containerName"]: _hint(each["bestHint"])
            for each in lines
            if each["msg"] == "Topology Affinity"
        }
    return found | (_held(end["placements"], groups) if found["admitted"] else {})


def _hints(lines: Sequence[Plain]) -> Plain:
    found: dict[str, list[Plain]] = {}
    for each in lines:
        if each["msg"] == "TopologyHints":
            shown = {
                resource: None if hints is None else list(map(_hint, hints))
                for resource, hints in each["hints"].items()
            }
            found.setdefault(_subject(each), []).append(shown)
    return {
        subject: dict(zip(outcome.PROVIDERS, each, strict=True)) for subject, each in found.items()
    }


def _merged(lines: Sequence[Plain], reason: str) -> Plain:
    best = [each for each in lines if each["msg"] == "Best TopologyHint"]
    # Nothing is asked about after a hint that is not admitted.
    refused = best[-1:] if reason == "TopologyAffinityError" else []
    return {
        _subject(each): _hint(each["bestHint"]) | {"admit": each not in refused} for each in best
    }


def _subject(line: Plain) -> str:
    subject: str = line.get("containerName", "pod")
    return subject


def _hint(shown: Plain) -> Plain:
    mask = shown["NUMANodeAffinity"]
    nodes = None if mask is None else list(numa_mask.ids(mask))
    return {"nodes": nodes, "preferred": shown["Preferred"]}


def _held(placements: dict[str, Plain], groups: Sequence[Plain]) -> Plain:
    """What containers hold; those that hold nothing of a kind are left out of it."""
    devices = {name: each["devices"] for name, each in placements.items() if each["devices"]}
    return {
        "cpuset": {
            name: cpu_set.text(each["cpus"]) for name, each in placements.items() if each["cpus"]
        },
        "memory": {
            name: [
                {"numa_affinity": one["numaNodes"], "type": one["type"], "size": one["sizeBytes"]}
                for one in each["memory"]
            ]
            for name, each in placements.items()
            if each["memory"]
        },
        "devices": devices,
        "devices_by_numa": {
            name: {
                resource: dict(Counter(_numa_nodes(groups, resource, each) for each in ids))
                for resource, ids in held.items()
            }
            for name, held in devices.items()
        },
    }


def _numa_nodes(groups: Sequence[Plain], resource: str, device: str) -> str:
    """The NUMA nodes of a device."""
    (nodes,) = (
        each["numa_nodes"]
        for group in groups
        if group["resource"] == resource
        for each in group["devices"]
        if each["id"] == device
    )
    return ",".join(map(str, sorted(nodes)))
