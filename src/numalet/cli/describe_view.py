"""One pod in lines: its requests, its allocation, the hints of a decision, its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from numalet.cli.agent_client import OBSERVED
from numalet.cli.ps_view import age
from numalet.core.model import grammar
from numalet.insight import decision_notes
from numalet.shared.findings import notes
from numalet.wording import numbers, observation

Json: TypeAlias = Mapping[str, Any]

_WIDTH: Final = 14
_MOST_SETS: Final = 8


def text(
    pod: Json,
    placement: Json,
    explanation: Json,
    events: Sequence[Json],
    left_behind: Sequence[str] = (),
) -> str:
    """Describe a pod of the agent; ``left_behind`` are allocations of a pod that may not run."""
    parts = (
        _head(pod, placement),
        ("Still held until the next pod asks for admission:",) if left_behind else (),
        (f"  {line}" for line in left_behind),
        _containers(pod, placement),
        _hints(explanation),
        _events(events, datetime.now(UTC)),
    )
    return "".join(f"{line}\n" for part in parts for line in part)


def observed(placement: Json, kubelet: Json | None, events: Sequence[Json]) -> str:
    """Describe a pod of a kubelet that the agent only observes."""
    parts = (
        _observed_head(placement),
        _observed_containers(placement),
        _differences(placement["metadata"]["uid"], kubelet),
        observation.unknown_parts(placement["metadata"]),
        _events(events, datetime.now(UTC)),
    )
    return "".join(f"{line}\n" for part in parts for line in part)


def _observed_head(placement: Json) -> Iterator[str]:
    metadata = placement["metadata"]
    for name in ("name", "namespace"):
        yield _field(name.title(), metadata[name])
    yield _field("UID", metadata["uid"])
    meaning = observation.STATUS if placement["status"] == OBSERVED else observation.GONE
    yield _field("Status", f"{placement['status']}: {meaning}")
    yield from _where(placement)


def _observed_containers(placement: Json) -> Iterator[str]:
    yield "Containers:"
    for container in placement["containers"]:
        yield f"  {container['name']}:"
        yield from _placed(container)
        if container["audit"] is None:
            yield f"    seen:      {observation.NOT_SEEN}"


def _differences(uid: str, kubelet: Json | None) -> Iterator[str]:
    """Yield current differences from the state files."""
    for problem in (kubelet or {}).get("problems", ()):
        if problem["podUID"] == uid:
            yield f"Differs since {problem['since']}: {problem['text']}"


def _head(pod: Json, placement: Json) -> Iterator[str]:
    metadata, status = pod["metadata"], pod["status"]
    yield _field("Name", metadata["name"])
    yield _field("Namespace", metadata["namespace"])
    yield _field("UID", metadata["uid"])
    yield _field("Node", pod["spec"].get("nodeName", ""))
    yield _field("Created", metadata["creationTimestamp"])
    labels = metadata.get("labels") or {}
    if labels:
        yield _field("Labels", ", ".join(f"{key}={labels[key]}" for key in sorted(labels)))
    yield _field("Status", placement["status"])
    for name in ("reason", "message", "qosClass"):
        if status.get(name):
            yield _field(name[0].upper() + name[1:], status[name])
    yield from _where(placement)


def _where(placement: Json) -> Iterator[str]:
    nodes = ",".join(map(str, placement["numaNodes"])) or "not promised"
    yield _field("NUMA nodes", nodes)
    yield _field("CPUs", placement["cpus"] or "shared")
    if placement.get("unpromised"):
        yield _field("Unpromised", placement["unpromised"])
    if placement["aligned"] is not None:
        misplaced = f", {numbers.size(placement['misplacedBytes'])} misplaced"
        yield _field("Aligned", "yes" if placement["aligned"] else f"no{misplaced}")


def _field(name: str, value: str) -> str:
    return f"{name + ':':<{_WIDTH}}{value}"


def _containers(pod: Json, placement: Json) -> Iterator[str]:
    placed = {each["name"]: each for each in placement["containers"]}
    status = pod["status"]
    known = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    states = {each["name"]: each for each in known}
    for title, key in (("Init containers", "initContainers"), ("Containers", "containers")):
        containers = pod["spec"].get(key) or ()
        if containers:
            yield f"{title}:"
        for container in containers:
            name = container["name"]
            yield f"  {name}:"
            yield from _container(container, placed.get(name), states.get(name))


def _container(container: Json, placed: Json | None, state: Json | None) -> Iterator[str]:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if words:
        yield f"    command:   {' '.join(words)}"
    for kind in ("requests", "limits"):
        asked = (container.get("resources") or {}).get(kind) or {}
        if asked:
            listed = ", ".join(f"{name} {asked[name]}" for name in sorted(asked))
            yield f"    {kind + ':':<11}{listed}"
    if state is not None:
        for title, key in (("state:", "state"), ("before:", "lastState")):
            for name, about in (state.get(key) or {}).items():
                yield f"    {title:<11}{_state(name, about)}"
        if state.get("restartCount"):
            yield f"    restarts:  {state['restartCount']}"
    if placed is not None:
        yield from _placed(placed)


def _state(name: str, about: Json) -> str:
    words = [name, *filter(None, [about.get("reason")])]
    if "exitCode" in about:
        words.append(f"exit code {about['exitCode']}")
    message = about.get("message")
    return ", ".join(words) + (f": {message}" if message else "")


def _placed(placed: Json) -> Iterator[str]:
    if placed["cpus"]:
        yield f"    CPUs:      {placed['cpus']}"
    for block in placed["memory"]:
        nodes = ",".join(map(str, block["numaNodes"]))
        on = grammar.singular(f"on NUMA nodes {nodes}")
        yield f"    {block['type']}: {numbers.size(block['sizeBytes'])} {on}"
    for resource, ids in placed["devices"].items():
        yield f"    {resource}: {', '.join(ids)}"
    if placed["guarantee"]:
        yield f"    held by:   {placed['guarantee']}"
    for code in placed["shortfalls"]:
        yield f"    not held:  {notes.sentence(code)}"
    audit = placed["audit"]
    for kind, sizes in (audit or {}).get("bytesByNumaNode", {}).items():
        listed = ", ".join(f"{numbers.size(size)} on {node}" for node, size in sizes.items())
        yield f"    has {kind}: {listed}"


def _hints(explanation: Json) -> Iterator[str]:
    yield "If it asked now:"
    yield from _decision(explanation)


def _decision(explanation: Json) -> Iterator[str]:
    """Yield a short explanation of a decision."""
    verdict = "admitted" if explanation["admitted"] else f"rejected, {explanation['reason']}"
    yield f"  {verdict} (policy {explanation['policy']}, scope {explanation['scope']})"
    if explanation["why"] is not None:
        yield f"  {explanation['why']['text']}"
    for note in decision_notes.of_document(explanation):
        yield f"  note: {note!s}"
    for subject in explanation["subjects"]:
        yield f"  hints for {subject['subject']}:"
        for answer in subject["answers"]:
            yield f"    {answer['provider']}: {_answer(answer)}"
        merged = subject["merged"]
        yield f"    best: {_set(merged['nodes'], merged['preferred'])}"


def _answer(answer: Json) -> str:
    named = [each for each in answer["resources"] if each != answer["provider"]]
    about = f"{', '.join(named)}: " if named else ""
    if answer["answer"] == "sets":
        offered = [each for each in answer["sets"] if each["offered"]]
        shown = [_set(each["nodes"], each["preferred"]) for each in offered[:_MOST_SETS]]
        more = len(offered) - len(shown)
        return about + "; ".join(shown) + (f"; and {more} more" if more else "")
    reason = answer["reason"]
    said = answer["answer"] if reason is None else reason["text"]
    return f"{about}{said}"


def _set(nodes: Sequence[int] | None, preferred: bool | None) -> str:
    named = "any node" if nodes is None else f"{{{','.join(map(str, nodes))}}}"
    return f"{named} preferred" if preferred else named


def _events(events: Sequence[Json], now: datetime) -> Iterator[str]:
    if not events:
        yield "Events:       none"
        return
    yield "Events:"
    yield f"  {'TYPE':<8} {'REASON':<24} {'AGE':<6} MESSAGE"
    for event in events:
        since = age(event["lastTimestamp"], now)
        times = f" (x{event['count']})" if event.get("count", 1) > 1 else ""
        said = f"{event['message']}{times}"
        yield f"  {event['type']:<8} {event['reason']:<24} {since:<6} {said}"
