"""The holdings of a pod as one short text, because a cluster stores thousands of them.

    1f2e3d c0-3,64-67 m0=16Gi d0=0-1;9a8b7c m0=256Mi

A text is a list of parts, each a name and its holdings separated by spaces. The name is the hash of
a container, ``*`` for the pod as a whole, or ``~`` for resources that later containers may reuse.

    c0-3        these CPUs; c alone is an entry without CPUs
    m0-1=16Gi   memory of these NUMA nodes; m1Gi:0=2Gi huge pages of that size; m alone: no block
    d0=0-1      devices by position, of the first of the state's ``resources``
    a0-1+       devices will be allocated with this affinity, + preferred or -; a*- any NUMA node
    r           ran when the kubelet started
    s           assumed to run, though its pod is not known yet
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from numalet.core.cluster.published_state import ContainerHeld, Held, PodHeld
from numalet.core.hints.provider import Hint
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model import cpu_set, numa_mask, resources
from numalet.core.model.value import replace

_UNITS: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_SIZE: Final = re.compile(r"([0-9]{1,20})(Ki|Mi|Gi|Ti|Pi|Ei)?")
_RUN: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
_HASH: Final = re.compile(r"[0-9a-f]{6}")
_WHOLE: Final = "*"
_REUSABLE: Final = "~"
_ANY_NODE: Final = "*"
_MOST_NUMBERS: Final = 1 << 16
_HUGE: Final = "hugepages-"


class PublishedTextError(ValueError):
    """A text with another syntax; its words are for a finding."""


def size_text(size_bytes: int) -> str:
    """The size in the largest binary unit that leaves a whole number."""
    for power, unit in zip(range(len(_UNITS), 0, -1), _UNITS, strict=True):
        if size_bytes and size_bytes % (1 << 10 * power) == 0:
            return f"{size_bytes >> 10 * power}{unit}"
    return str(size_bytes)


def size_bytes(text: str) -> int:
    """The bytes of a size. Raises ``PublishedTextError``."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise PublishedTextError(f"{text[:40]!r} is no size")
    unit = match[2]
    size = int(match[1]) << (10 * (len(_UNITS) - _UNITS.index(unit)) if unit else 0)
    if size >= 1 << 64:
        raise PublishedTextError(f"{text[:40]!r} is more than 64 bits can hold")
    return size


def numbers_text(numbers: Sequence[int]) -> str:
    """A list such as 0-3,8; the order of an unsorted list is kept."""
    ascends = all(one < other for one, other in pairwise(numbers))
    return cpu_set.text(numbers) if ascends else ",".join(map(str, numbers))


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of a list, in its order. Raises ``PublishedTextError``."""
    listed: list[int] = []
    for part in text.split(",") if text else ():
        match = _RUN.fullmatch(part)
        if match is None:
            raise PublishedTextError(f"{part[:40]!r} is no number, and no range of numbers")
        first, last = int(match[1]), int(match[2] or match[1])
        # Checked before the range is built, because a short text may name a huge range.
        if last - first + len(listed) >= _MOST_NUMBERS:
            raise PublishedTextError(f"{text[:40]!r} has more than {_MOST_NUMBERS} numbers")
        listed.extend(range(first, last + 1))
    return tuple(listed)


def mask(text: str) -> int:
    """The set of NUMA nodes in a list. Raises ``PublishedTextError``."""
    ids = numbers(text)
    if ids and max(ids) > 1024:
        raise PublishedTextError(f"{text[:40]!r} names a NUMA node that no machine can have")
    return numa_mask.of(ids)


def pod_text(pod: PodHeld, resource_names: Sequence[str]) -> str:
    """The text of a pod; ``resource_names`` must have every resource of its devices."""
    parts = [
        [each.container_hash, *_words(each.held, resource_names), *_marks(each)]
        for each in pod.containers
    ]
    if whole := list(_words(pod.whole, resource_names)):
        parts.append([_WHOLE, *whole])
    again = list(_words(pod.reusable, resource_names))
    again += [
        _block_text(numa_mask.ids(nodes), resource, size)
        for nodes, resource, size in pod.reusable_memory
    ]
    if again:
        parts.append([_REUSABLE, *again])
    return ";".join(map(" ".join, parts))


def _words(held: Held, resource_names: Sequence[str]) -> Iterable[str]:
    if held.cpus is not None:
        yield "c" + cpu_set.text(held.cpus)
    if held.memory is not None:
        yield from (_block_text(each.nodes, each.resource, each.size_bytes) for each in held.memory)
        if not held.memory:
            yield "m"
    for resource, positions in held.devices.items():
        yield f"d{resource_names.index(resource)}={numbers_text(positions)}"


def _block_text(node_ids: Sequence[int], resource: str, size: int) -> str:
    kind = "" if resource == resources.MEMORY else resource.removeprefix(_HUGE) + ":"
    return f"m{kind}{numbers_text(node_ids)}={size_text(size)}"


def _marks(each: ContainerHeld) -> Iterable[str]:
    if each.affinity is not None:
        nodes, preferred = each.affinity
        text = _ANY_NODE if nodes is None else numbers_text(numa_mask.ids(nodes))
        yield f"a{text}{'+' if preferred else '-'}"
    if each.ran_at_start:
        yield "r"
    if each.is_assumed:
        yield "s"


def pod(text: str, resource_names: Sequence[str]) -> PodHeld:
    """The holdings of a pod from its text. Raises ``PublishedTextError``."""
    containers: list[ContainerHeld] = []
    found = PodHeld()
    for part in text.split(";"):
        name, *words = part.split(" ")
        if name == _WHOLE:
            found = replace(found, whole=_held(words, resource_names))
        elif name == _REUSABLE:
            held = _held(words, resource_names)
            blocks = tuple(
                (numa_mask.of(each.nodes), each.resource, each.size_bytes)
                for each in held.memory or ()
            )
            found = replace(found, reusable=replace(held, memory=None), reusable_memory=blocks)
        elif _HASH.fullmatch(name):
            containers.append(_container(name, words, resource_names))
        else:
            raise PublishedTextError(f"{name[:40]!r} is no container")
    return replace(found, containers=tuple(containers))


def _container(name: str, words: Sequence[str], resource_names: Sequence[str]) -> ContainerHeld:
    marks: dict[str, Any] = {}
    amounts = []
    for word in words:
        match word[:1]:
            case "a":
                marks["affinity"] = _affinity(word[1:])
            case "r":
                marks["ran_at_start"] = True
            case "s":
                marks["is_assumed"] = True
            case _:
                amounts.append(word)
    return ContainerHeld(container_hash=name, held=_held(amounts, resource_names), **marks)


def _affinity(text: str) -> Hint:
    nodes = None if text[:-1] == _ANY_NODE else mask(text[:-1])
    return Hint(nodes, text.endswith("+"))


def _held(words: Iterable[str], resource_names: Sequence[str]) -> Held:
    cpus = None
    blocks: list[MemoryBlock] | None = None
    devices: dict[str, tuple[int, ...]] = {}
    for word in words:
        match word[:1]:
            case "c":
                cpus = frozenset(numbers(word[1:]))
            case "m":
                blocks = blocks or []
                blocks += [_block(word[1:])] if len(word) > 1 else []
            case "d":
                index, _, positions = word[1:].partition("=")
                if not index.isascii() or not index.isdigit() or int(index) >= len(resource_names):
                    raise PublishedTextError(f"{word[:40]!r} is of no resource of the state")
                devices[resource_names[int(index)]] = numbers(positions)
            case _:
                raise PublishedTextError(f"{word[:40]!r} is nothing that a pod can hold")
    memory = None if blocks is None else tuple(blocks)
    return Held(cpus=cpus, memory=memory, devices=devices)


def _block(text: str) -> MemoryBlock:
    place, separator, size = text.partition("=")
    kind, _, nodes = place.rpartition(":")
    if not separator:
        raise PublishedTextError(f"{text[:40]!r} is not a block of memory")
    node_ids = numbers(nodes)
    # Checks the node ids; the order of ``node_ids`` matters and is kept.
    mask(nodes)
    return MemoryBlock(node_ids, _HUGE + kind if kind else resources.MEMORY, size_bytes(size))


def amounts(texts: Mapping[str, str]) -> dict[str, int]:
    """Bytes by memory type. Raises ``PublishedTextError``."""
    return {resource: size_bytes(text) for resource, text in texts.items()}
