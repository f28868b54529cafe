"""Of ten thousand random changes of one member, sealed again, what still verifies is harmless.

The checksum is made right after every change, so that only the rules can find it. What no rule
finds is listed here by class, with why nothing in the file could show it. The files are verified
on their machine; the list is the whole truth about what ``numalet state verify`` can not see.
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from numalet.insight.state import reading, state_diff, verify
from numalet.insight.state.reading import CpuState
from numalet.insight.state.state_diff import StateDifference
from numalet.insight.state.verify import Soundness
from values import state_builders
from values.state_builders import CPU, DEVICE, GPU, MEMORY, Json

pytestmark = pytest.mark.property

CHANGES = {MEMORY: 6_000, CPU: 2_000, DEVICE: 2_000}
FILES = state_builders.files()
FILES[DEVICE] = FILES[DEVICE].replace('"AllocResp":""', '"AllocResp":"CgYKAWESAWI="')
FILES[DEVICE] = state_builders.sealed(DEVICE, json.loads(FILES[DEVICE]))
MACHINE = state_builders.machine()
Path = tuple[Any, ...]

HARMLESS = {
    MEMORY: {
        "the same in other words": "null for 0, blocks in another order, members unknown to Go",
        "a pod has another uid": "uids stand here once, and nobody else's is there",
        "a container has another name": "names stand here once",
    },
    CPU: {
        "the same in other words": "a set is written in another way, members unknown to Go",
        "a pod has another uid": "uids stand here once, and nobody else's is there",
        "a container has another name": "names stand here once",
        "a container has other CPUs of its own pod": "every CPU stays with the pod that has it",
    },
    DEVICE: {
        "the same in other words": "members unknown to Go",
        "a pod has another uid": "uids stand here once",
        "a container has another name": "names stand here once",
        "healthy devices that nobody holds": "a kubelet that starts asks the plugins anew",
    },
}
"""What may still verify without another meaning, by file and class, and why."""

SAID_ONCE = {
    DEVICE: {
        "a device is on another NUMA node": "only its plugin knows where it is",
        "a container has other healthy devices": "only the plugin's answer would tell",
        "the plugin answered something else": "the answer means something to the runtime only",
        "a record is gone": "nothing counts the entries",
    },
}
"""What has another meaning and still verifies, because nothing else in the file says it again."""


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every member of a document, the checksum left out."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in members:
        if key in ("checksum", "Checksum"):
            continue
        yield (*path, key)
        if isinstance(member, dict | list):
            yield from places(member, (*path, key))


def at(value: Any, path: Path) -> Any:
    """The member at a path."""
    for key in path:
        value = value[key]
    return value


def other_number(rng: random.Random, number: int) -> int:
    """Another number: near, far, a power of two away, or with a bit turned."""
    candidates = [
        number + rng.choice((-1, 1)),
        number ^ 1 << rng.randrange(40),
        number + rng.choice((-1, 1)) * (2 << 20) * rng.randrange(1, 2000),
        rng.randrange(1 << 20),
        rng.randrange(12),
        0,
    ]
    return abs(rng.choice([each for each in candidates if abs(each) != number]))


def other_text(rng: random.Random, text: str) -> str:
    """Another text: one letter away, a word of these files, or a list of CPUs."""
    letters = list(text) or ["x"]
    letters[rng.randrange(len(letters))] = rng.choice("abz0123456789-,")
    cpus = ",".join(str(rng.randrange(13)) for _ in range(rng.randrange(1, 4)))
    words = [
        "memory",
        "hugepages-2Mi",
        "hugepages-1Gi",
        "static",
        "Static",
        "none",
        "None",
        "u9",
        "gpu1",
    ]
    candidates = ["".join(letters), cpus, rng.choice(words), text[:-1], ""]
    return rng.choice([each for each in candidates if each != text])


def changed(rng: random.Random, name: str, original: Json) -> tuple[Json, Path]:
    """The document with one member changed, renamed, taken away or added; and where."""
    value = copy.deepcopy(original)
    path = rng.choice(list(places(value)))
    parent, key = at(value, path[:-1]), path[-1]
    member = parent[key]
    match rng.randrange(8):
        case 0 if isinstance(parent, dict):
            new = other_text(rng, key)
            parent[new] = parent.pop(key)
            return value, (*path[:-1], new)
        case 0 | 1:
            parent.pop(key)
        case 2:
            parent[key] = None
        case 3 if isinstance(member, list):
            rng.shuffle(member)
            if rng.random() < 0.5:
                member.append(rng.choice([*member, 0, 1, "gpu1"]))
        case 3 if isinstance(member, dict):
            member[other_text(rng, "new")] = copy.deepcopy(rng.choice([*member.values(), 1, ""]))
        case _ if isinstance(member, int):
            parent[key] = other_number(rng, member)
        case _ if isinstance(member, str):
            parent[key] = other_text(rng, member)
        case _ if isinstance(member, list):
            parent[key] = [] if rng.random() < 0.3 else [rng.randrange(4)]
        case _:
            parent[key] = {}
    return value, path


def kind_of(name: str, before: str, after: str) -> str | None:
    """The class of a change that verifies; None if it is none of those that are known."""
    found = state_diff.differences(reading.read({name: before}), reading.read({name: after}))
    if not found:
        return "the same in other words"
    return _renamed(found) or (_cpus(before, after) if name == CPU else _device(name, found))


def _renamed(found: tuple[StateDifference, ...]) -> str | None:
    """Whether all that is gone from one container has come to another."""
    gone, come = (
        {
            each.subject: {
                (other.what, getattr(other, side))
                for other in found
                if other.subject == each.subject
            }
            for each in found
            if "/" in each.subject and getattr(each, missing) is None
        }
        for side, missing in (("before", "after"), ("after", "before"))
    )
    if {*gone, *come} != {each.subject for each in found} or gone.keys() & come.keys():
        return None
    if sorted(map(sorted, gone.values())) != sorted(map(sorted, come.values())):
        return None
    pods = [{subject.split("/")[0] for subject in side} for side in (gone, come)]
    return "a container has another name" if pods[0] == pods[1] else "a pod has another uid"


def _cpus(before: str, after: str) -> str | None:
    """Whether every CPU stays where it is, as far as pods go."""
    held = []
    for text in (before, after):
        state = reading.read_file(CPU, text)
        assert isinstance(state, CpuState)
        pods = state.ledger.exclusive.items()
        of_pods = {uid: frozenset().union(*pod.values()) for uid, pod in pods}
        held.append((state.policy_name, state.ledger.default, of_pods))
    return "a container has other CPUs of its own pod" if held[0] == held[1] else None


def _device(name: str, found: tuple[StateDifference, ...]) -> str | None:
    if name != DEVICE:
        return None
    if all(each.after is None for each in found if each.what != "healthy devices"):
        changed_lists = all(each.what == "healthy devices" for each in found)
        return "healthy devices that nobody holds" if changed_lists else "a record is gone"
    match [each.what for each in found]:
        case [what] if what.endswith(" response"):
            return "the plugin answered something else"
        case [what] if what == GPU:
            ids = [
                {device.partition("@")[0] for device in str(side).split(", ")}
                for side in (found[0].before, found[0].after)
            ]
            where = "a device is on another NUMA node"
            return where if ids[0] == ids[1] else "a container has other healthy devices"
        case _:
            return None


@pytest.mark.slow
@pytest.mark.parametrize("name", [MEMORY, CPU, DEVICE])
def test_what_still_verifies_is_harmless(name: str) -> None:
    rng = random.Random(20250101)
    original = json.loads(FILES[name])
    base = verify.verify_file(name, FILES[name], MACHINE)
    assert Soundness.SOUND is base.soundness
    seen: Counter[str] = Counter()
    for _ in range(CHANGES[name]):
        value, path = changed(rng, name, original)
        try:
            text = state_builders.sealed(name, value)
        except AssertionError:  # Go can not decode it, so it has no checksum to be made right.
            seen["not decodable"] += 1
            continue
        report = verify.verify_file(name, text, MACHINE)
        if report.soundness is not Soundness.SOUND:
            seen["found"] += 1
            continue
        kind = kind_of(name, FILES[name], text)
        assert kind is not None, f"{path} verifies: {text}"
        seen[kind] += 1

    listed = HARMLESS[name].keys() | SAID_ONCE.get(name, {}).keys()
    assert listed == seen.keys() - {"not decodable", "found"}, seen
    assert seen["found"] > CHANGES[name] // 2, seen
