"""Make a scenario small that shows a difference.

A smaller scenario is one that has fewer steps, containers, resources, settings, devices, NUMA
nodes or cores. It is kept if it still shows the difference; the search ends when nothing more can
be removed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

Scenario: TypeAlias = dict[str, Any]
ShowsDifference: TypeAlias = Callable[[Sequence[Scenario]], Sequence[bool]]
"""Tells of each of several scenarios whether it shows the difference."""

BATCH: Final = 24
"""Candidates that are tried at once, because a start of the oracle takes time."""


def smallest(scenario: Scenario, shows: ShowsDifference, rounds: int = 200) -> Scenario:
    """Return the smallest scenario that was found within this number of rounds."""
    candidates = _smaller(scenario)
    for _ in range(rounds):
        batch = [each for each, _ in zip(candidates, range(BATCH), strict=False)]
        if not batch:
            break
        found = next((one for one, yes in zip(batch, shows(batch), strict=True) if yes), None)
        if found is not None:
            scenario = found
            candidates = _smaller(scenario)
    return scenario


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Yield scenarios with one part less, large parts first."""
    yield from _with_fewer_steps(scenario)
    for path in _removable(scenario):
        smaller = copy.deepcopy(scenario)
        parent: Any = smaller
        for key in path[:-1]:
            parent = parent[key]
        del parent[path[-1]]
        if _is_sound(smaller):
            yield smaller


def _with_fewer_steps(scenario: Scenario) -> Iterator[Scenario]:
    steps = scenario["steps"]
    size = len(steps) - 1
    while size > 0:
        for start in range(0, len(steps), size):
            kept = steps[:start] + steps[start + size :]
            if kept:
                yield {**copy.deepcopy(scenario), "steps": _known(copy.deepcopy(kept))}
        size //= 2


def _known(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps without those about pods that are not admitted before."""
    seen: set[str] = set()
    kept = []
    for step in steps:
        if "admit" in step:
            seen.add(step["admit"]["metadata"]["uid"])
        elif "restart" in step:
            order = [uid for uid in step["restart"]["order"] if uid in seen]
            kept.append({"restart": {**step["restart"], "order": order}})
            continue
        elif step["remove"] not in seen:
            continue
        kept.append(step)
    return kept


_Path: TypeAlias = tuple[str | int, ...]


def _removable(scenario: Scenario) -> Iterator[_Path]:
    yield from _members(scenario, ("devices",))
    yield from _members(scenario, ("machine", "numa_nodes"))
    for at, step in enumerate(scenario["steps"]):
        if "admit" in step:
            yield from _parts_of_pod(step["admit"], ("steps", at, "admit"))
        elif "restart" in step:
            restart = step["restart"]
            yield from (("steps", at, "restart", key) for key in restart if key != "order")
            yield from _members(scenario, ("steps", at, "restart", "order"))
    yield from _deep(scenario["kubelet_config"], ("kubelet_config",))
    for at, node in enumerate(scenario["machine"]["numa_nodes"]):
        place = ("machine", "numa_nodes", at)
        yield from _members(scenario, (*place, "cores"))
        yield from _members(scenario, (*place, "hugepages"))
        if "distances" in node:
            yield (*place, "distances")
    for at, resource in enumerate(scenario["devices"]):
        yield from (("devices", at, "devices", i) for i in range(len(resource["devices"])))
    yield from _members(scenario, ("state_files",))


def _members(scenario: Scenario, path: _Path) -> Iterator[_Path]:
    value: Any = scenario
    for key in path:
        if isinstance(value, dict) and key not in value:
            return
        value = value[key]
    keys: Any = value if isinstance(value, dict) else range(len(value))
    yield from ((*path, key) for key in keys)


def _parts_of_pod(pod: dict[str, Any], path: _Path) -> Iterator[_Path]:
    spec = pod["spec"]
    if "resources" in spec:
        yield (*path, "spec", "resources")
    for kind in ("initContainers", "containers"):
        for at, container in enumerate(spec.get(kind, ())):
            place = (*path, "spec", kind, at)
            yield place
            if "restartPolicy" in container:
                yield (*place, "restartPolicy")
            yield from _deep(container["resources"], (*place, "resources"))


def _deep(value: Any, path: _Path) -> Iterator[_Path]:
    """Yield the path of every member of an object, the outer ones first."""
    if isinstance(value, dict):
        yield from ((*path, key) for key in value)
        for key, member in value.items():
            yield from _deep(member, (*path, key))
    elif isinstance(value, list):
        yield from ((*path, at) for at in range(len(value)))


def _is_sound(scenario: Scenario) -> bool:
    """Return whether a machine and every pod are left."""
    nodes = scenario["machine"]["numa_nodes"]
    has_core = any(node["cores"] for node in nodes)
    pods = [step["admit"]["spec"] for step in scenario["steps"] if "admit" in step]
    return has_core and all(spec["containers"] for spec in pods) and _has_all_distances(nodes)


def _has_all_distances(nodes: list[dict[str, Any]]) -> bool:
    """Return whether every node has one distance for each node, or none at all."""
    return all(len(node.get("distances", nodes)) == len(nodes) for node in nodes)
