"""A set of CPUs as a value, and its text: the Linux CPU list, ``0-3,8``.

The list form has two readers with different manners. ``parse`` is the kubelet's own one
(``cpuset.Parse``, v1.32), as strict as Go's number parser and with its texts; state files
and ``reservedSystemCPUs`` go through it. Files of the Linux kernel are read elsewhere, by a
reader that forgives what snapshots of ``/sys`` do to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from numalet.core.model import go_text
from numalet.core.model.go_text import GoNumberError

CpuSet: TypeAlias = frozenset[int]

EMPTY: Final[CpuSet] = frozenset()

MOST_CPUS: Final = 1 << 20
"""A list naming more CPUs than this is refused: ``0-999999999`` is a slip, not a machine."""


class CpuListError(ValueError):
    """A text that is no CPU list; ``go_text`` is what the kubelet says about it."""

    def __init__(self, go_text: str) -> None:
        self.go_text = go_text
        super().__init__(go_text)


def parse(text: str) -> CpuSet:
    """The CPUs that a list names, by the kubelet's rules; raises ``CpuListError``.

    Empty text is the empty set; order, overlap and repetition do not matter; blanks do: a
    trailing newline is an error. Kubelet: ``cpuset.Parse``, v1.32.
    """
    if text == "":
        return EMPTY
    chosen: set[int] = set()
    for part in text.split(","):
        chosen.update(_cpus_of_part(part))
        if len(chosen) > MOST_CPUS:
            raise CpuListError(f'too many CPUs in "{part}" (more than {MOST_CPUS})')
    return frozenset(chosen)


def _cpus_of_part(part: str) -> Iterable[int]:
    """The CPUs of one part between commas: a number, or a range with both ends in it."""
    first, dash, last = part.partition("-")
    start = _number(first)
    if not dash:
        return (start,)
    end = _number(last)
    if start > end:
        raise CpuListError(f'invalid range "{part}" ({start} > {end})')
    # Not in the kubelet, which would fill its memory here.
    if end - start >= MOST_CPUS:
        raise CpuListError(f'too many CPUs in "{part}" (more than {MOST_CPUS})')
    return range(start, end + 1)


def _number(digits: str) -> int:
    """The number of one CPU as Go reads it."""
    try:
        return go_text.atoi(digits)
    except GoNumberError as error:
        raise CpuListError(error.go_text) from None


def text(cpus: Iterable[int]) -> str:
    """The list form: ascending, longest ranges, no blanks; empty text for no CPU."""
    return ",".join(
        [str(first) if first == last else f"{first}-{last}" for first, last in runs(cpus)]
    )


def runs(cpus: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The longest unbroken stretches as (first, last), ascending."""
    ordered = sorted(cpus if isinstance(cpus, frozenset) else set(cpus))
    at, end = 0, len(ordered) - 1
    while at <= end:
        first = ordered[at]
        stop = at
        if at < end and ordered[at + 1] == first + 1:
            # The last one is often long, as of the pool that all containers share.
            stop = end if ordered[end] - first == end - at else _end_of_run(ordered, at)
        yield first, ordered[stop]
        at = stop + 1


def _end_of_run(ordered: Sequence[int], at: int) -> int:
    """Where the run ends that begins there and is not the last one.

    In steps that double, not number by number: ascending numbers have all between them where they
    are as far apart as their places are.
    """
    offset = ordered[at] - at
    inside, beyond, step = at + 1, len(ordered) - 1, 1
    while inside + step < beyond and ordered[inside + step] - (inside + step) == offset:
        inside += step
        step *= 2
    beyond = min(inside + step, beyond)
    while beyond - inside > 1:
        middle = (inside + beyond) // 2
        if ordered[middle] - middle == offset:
            inside = middle
        else:
            beyond = middle
    return inside
