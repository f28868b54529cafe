"""A set of CPUs as a value, and its text: the Linux CPU list, ``0-3,8``.

``parse`` is the kubelet's own parser (``cpuset.Parse``, v1.32), as strict as Go's and with its
error texts, for state files and ``reservedSystemCPUs``. Files of the Linux kernel have another,
more tolerant parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from numalet.core.model import go_text
from numalet.core.model.go_text import GoNumberError

CpuSet: TypeAlias = frozenset[int]

EMPTY: Final[CpuSet] = frozenset()

MOST_CPUS: Final = 1 << 20
"""Maximum number of CPUs in a list: ``0-999999999`` is a typo, not a machine."""


class CpuListError(ValueError):
    """The text is not a CPU list; ``go_text`` is the kubelet's error text."""

    def __init__(self, go_text: str) -> None:
        self.go_text = go_text
        super().__init__(go_text)


def parse(text: str) -> CpuSet:
    """Return the CPUs of a list by the kubelet's rules; raises ``CpuListError``.

    Empty text is the empty set. Order, overlap and repetition are allowed, blanks are not: even a
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
    """Return the CPUs of one part between commas: a number, or an inclusive range."""
    first, dash, last = part.partition("-")
    start = _number(first)
    if not dash:
        return (start,)
    end = _number(last)
    if start > end:
        raise CpuListError(f'invalid range "{part}" ({start} > {end})')
    # Our own limit: the kubelet would exhaust its memory here.
    if end - start >= MOST_CPUS:
        raise CpuListError(f'too many CPUs in "{part}" (more than {MOST_CPUS})')
    return range(start, end + 1)


def _number(digits: str) -> int:
    try:
        return go_text.atoi(digits)
    except GoNumberError as error:
        raise CpuListError(error.go_text) from None


def text(cpus: Iterable[int]) -> str:
    """Return the list format: ascending, longest ranges, no blanks; empty text for no CPUs."""
    return ",".join(
        [str(first) if first == last else f"{first}-{last}" for first, last in runs(cpus)]
    )


def runs(cpus: Iterable[int]) -> Iterator[tuple[int, int]]:
    ordered = sorted(cpus if isinstance(cpus, frozenset) else set(cpus))
    at, end = 0, len(ordered) - 1
    while at <= end:
        first = ordered[at]
        stop = at
        if at < end and ordered[at + 1] == first + 1:
            # The last run is often long, for example in a shared pool: test it first.
            stop = end if ordered[end] - first == end - at else _end_of_run(ordered, at)
        yield first, ordered[stop]
        at = stop + 1


def _end_of_run(ordered: Sequence[int], at: int) -> int:
    """Return the end of the run that begins at ``at`` and is not the last one."""
    # Gallop instead of stepping: ascending numbers are consecutive exactly where their difference
    # equals the difference of their positions.
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
