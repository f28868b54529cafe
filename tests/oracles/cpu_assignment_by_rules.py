"""The assignment of CPUs as the kubelet does it, rule by rule: an oracle for ``managers.cpu``.

Sets of CPUs are Python sets here, every order is made anew by counting, the distribution is
found by walking over everything, with the kubelet's floating-point score, and with lists that
share their memory as slices do in Go. Slow, and written without the masks, the bounds and the
shortcuts of the real thing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from numalet.core.model.machine_info import MachineInfo

TOO_FEW = "too few"
HANG = "hang"
SHORT = "short"

Result = frozenset[int] | str


class Place(tuple[int, int, int, int]):
    """Node, socket, core and cache of one CPU."""

    __slots__ = ()


NODE, SOCKET, CORE, CACHE = range(4)


@dataclass(frozen=True)
class Rules:
    """One machine."""

    places: Mapping[int, Place]
    sockets: int

    def parts(self, kind: int, cpus: Iterable[int]) -> set[int]:
        """Ids of the nodes, sockets, cores or caches on which these CPUs are."""
        return {self.places[cpu][kind] for cpu in cpus}

    def within(self, kind: int, part: int, cpus: Iterable[int]) -> set[int]:
        """Those of the CPUs that are on this node, socket, core or cache."""
        return {cpu for cpu in cpus if self.places[cpu][kind] == part}

    def average(self, kind: int) -> int:
        """CPUs per part, rounded down."""
        return len(self.places) // len(self.parts(kind, self.places))

    @property
    def numa_first(self) -> bool:
        return self.sockets >= len(self.parts(NODE, self.places))

    def listed(self, kind: int, free: set[int], among: set[int]) -> list[int]:
        """Parts on which some of ``among`` are: fewest free first, then the lower id."""
        return sorted(
            self.parts(kind, among), key=lambda part: (len(self.within(kind, part, free)), part)
        )

    def nested(self, outer: int, inner: int, free: set[int], parts: Iterable[int]) -> list[int]:
        """Inner parts of each outer part."""
        found = []
        for part in parts:
            found += self.listed(inner, free, self.within(outer, part, free))
        return found

    def nodes(self, free: set[int]) -> list[int]:
        if self.numa_first:
            return self.listed(NODE, free, free)
        return self.nested(SOCKET, NODE, free, self.socket_list(free))

    def socket_list(self, free: set[int]) -> list[int]:
        if self.numa_first:
            return self.nested(NODE, SOCKET, free, self.nodes(free))
        return self.listed(SOCKET, free, free)

    def cores(self, free: set[int]) -> list[int]:
        if self.numa_first:
            return self.nested(SOCKET, CORE, free, self.socket_list(free))
        return self.nested(NODE, CORE, free, self.nodes(free))

    def caches(self, free: set[int]) -> list[int]:
        return self.nested(NODE, CACHE, free, self.nodes(free))


def rules_of(machine: MachineInfo) -> Rules:
    """The rules on this machine."""
    places = {}
    for node in machine.nodes:
        for core in node.cores:
            cache = core.socket_id if core.uncore_cache_id is None else core.uncore_cache_id
            for cpu in core.threads:
                place = (node.node_id, core.socket_id, min(core.threads), cache)
                places[cpu] = Place(place)
    return Rules(places, machine.socket_count)


@dataclass
class _Taking:
    rules: Rules
    free: set[int]
    need: int
    taken: set[int] = field(default_factory=set)

    def take(self, cpus: set[int]) -> None:
        self.taken |= cpus
        self.free = self.free - cpus
        self.need -= len(cpus)

    def take_full(self, kind: int, order: Iterable[int], is_full: Callable[[int], bool]) -> None:
        for part in [part for part in order if is_full(part)]:
            everything = self.rules.within(kind, part, self.rules.places)
            if self.need >= len(everything):
                self.take(everything)

    def free_of(self, kind: int, part: int) -> int:
        return len(self.rules.within(kind, part, self.free))

    def all_free(self, kind: int, part: int) -> bool:
        total = len(self.rules.within(kind, part, self.rules.places))
        return self.free_of(kind, part) == total

    def full_nodes(self) -> None:
        free = set(self.free)
        self.take_full(NODE, self.rules.nodes(free), lambda part: self.all_free(NODE, part))

    def full_sockets(self) -> None:
        size = len(self.rules.places) // self.rules.sockets
        order = self.rules.socket_list(set(self.free))
        self.take_full(SOCKET, order, lambda part: self.free_of(SOCKET, part) == size)

    def full_cores(self) -> None:
        size = self.rules.average(CORE)
        order = self.rules.cores(set(self.free))
        self.take_full(CORE, order, lambda part: self.free_of(CORE, part) == size)

    def by_cache(self) -> None:
        for cache in self.rules.caches(set(self.free)):
            if self.need >= self.rules.average(CACHE):
                order = self.rules.caches(set(self.free))
                self.take_full(CACHE, order, lambda part: self.all_free(CACHE, part))
            if self.need < 1:
                return
            cores = sorted(self.rules.parts(CORE, self.rules.within(CACHE, cache, self.free)))
            chosen: set[int] = set()
            for core in cores[: self.need // self.rules.average(CORE)]:
                chosen |= self.rules.within(CORE, core, self.free)
            if len(chosen) == self.need:
                self.take(chosen)
                return

    def singles(self, spread: bool) -> None:
        free = set(self.free)
        kind = SOCKET if spread else CORE
        order = self.rules.socket_list(free) if spread else self.rules.cores(free)
        for part in order:
            for cpu in sorted(self.rules.within(kind, part, free)):
                if self.need > 0:
                    self.take({cpu})


def packed(rules: Rules, available: Iterable[int], count: int, style: str = "plain") -> Result:
    """CPUs by the packed assignment; ``style`` is plain, spread or cache."""
    taking = _Taking(rules, set(available) & set(rules.places), count)
    if count < 1:
        return frozenset()
    if count > len(taking.free):
        return TOO_FEW
    larger, smaller = taking.full_nodes, taking.full_sockets
    if not rules.numa_first:
        larger, smaller = smaller, larger
    steps: list[Callable[[], None]] = [larger, smaller]
    if style == "cache":
        steps.append(taking.by_cache)
    if style != "spread":
        steps.append(taking.full_cores)
    steps.append(lambda: taking.singles(style == "spread"))
    for step in steps:
        step()
        if taking.need < 1:
            break
    return frozenset(taking.taken)


class Slice:
    """A Go slice of ints: appending writes behind the end if the array has room there."""

    def __init__(self, array: list[int], length: int) -> None:
        self.array, self.length = array, length

    def append(self, item: int) -> Slice:
        if self.length < len(self.array):
            self.array[self.length] = item
            return Slice(self.array, self.length + 1)
        room = max(1, 2 * len(self.array))
        array = [*self.items(), item]
        return Slice(array + [-1] * (room - len(array)), self.length + 1)

    def items(self) -> list[int]:
        return self.array[: self.length]

    def copy(self) -> Slice:
        return Slice(self.items(), self.length)


def walk(items: Sequence[int], size: int, shared: bool) -> Iterator[Slice]:
    """Every combination of so many items, as slices; each in memory of its own if not shared."""
    if shared:
        return _walk(items, size, 0, Slice([], 0))
    return (Slice(list(chosen), size) for chosen in combinations(items, size))


def _walk(items: Sequence[int], size: int, start: int, so_far: Slice) -> Iterator[Slice]:
    if size == 0:
        yield so_far
        return
    for at in range(start, len(items) - size + 1):
        yield from _walk(items, size - 1, at + 1, so_far.append(items[at]))


def deviation(numbers: Iterable[int]) -> float:
    """Standard deviation around a rounded mean, rounded, to three decimals."""
    values = list(numbers)
    mean = _rounded(sum(values) / len(values))
    return _rounded(math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)))


def _rounded(number: float) -> float:
    return math.floor(number * 1000 + 0.5) / 1000


def distributed(
    rules: Rules, available: Iterable[int], count: int, group: int, *, shared: bool = True
) -> Result:
    """CPUs by the distributed assignment; winners are overwritten if memory is shared."""
    free = set(available) & set(rules.places)
    if count % group:
        return packed(rules, free, count)
    if count < 1:
        return frozenset()
    if count > len(free):
        return TOO_FEW
    nodes = rules.nodes(free)
    groups = -(-len(rules.places) // group)
    per_node = -(-groups // len(rules.parts(NODE, rules.places)))
    needed = -(-count // group)
    for size in range(-(-needed // per_node), min(needed, len(rules.parts(NODE, free))) + 1):
        found = _best(rules, free, nodes, size, count, group, shared)
        if found == HANG:
            return HANG
        if not isinstance(found, str):
            return _hand_out(rules, free, found[0].items(), found[1].items(), count, group)
    return packed(rules, free, count)


def _best(
    rules: Rules,
    free: set[int],
    nodes: Sequence[int],
    size: int,
    count: int,
    group: int,
    shared: bool,
) -> tuple[Slice, Slice] | str:
    counts = {node: len(rules.within(NODE, node, free)) for node in nodes}
    best, winner, remainder = math.inf, None, Slice([], 0)
    for chosen in walk(nodes, size, shared):
        if best == 0:
            break
        score, givers = _score(counts, chosen.items(), count, group, shared)
        if score < 0:
            return HANG
        if score < best:
            best, winner, remainder = score, chosen, givers
    return "none" if winner is None else (winner, remainder)


def _score(
    counts: Mapping[int, int], chosen: Sequence[int], count: int, group: int, shared: bool
) -> tuple[float, Slice]:
    """Score and remainder of one combination; infinite if it will not do, -1 if it hangs."""
    nothing = Slice([], 0)
    share = count // len(chosen) // group * group
    if (
        sum(counts[node] for node in set(chosen)) < count
        or sum(counts[node] // group for node in chosen) * group < count
        or any(counts[node] < share for node in chosen)
    ):
        return math.inf, nothing
    left = dict(counts)
    for node in chosen:
        left[node] -= share
    remaining = count - share * len(chosen)
    if not remaining:
        return deviation(left.values()), nothing
    givers = [node for node in chosen if left[node] >= group]
    best, winner = math.inf, nothing
    for size in range(len(givers), 0, -1):
        for subset in walk(givers, size, shared):
            if sum(left[node] for node in subset.items()) < remaining:
                continue
            after = _round_robin(left, subset.items(), remaining, group)
            if after is None:
                return -1, nothing
            if deviation(after.values()) < best:
                best, winner = deviation(after.values()), subset
    return best, winner


def _round_robin(
    left: Mapping[int, int], subset: Sequence[int], remaining: int, group: int
) -> dict[int, int] | None:
    after = dict(left)
    while remaining > 0:
        before = remaining
        for node in subset:
            if remaining > 0 and after[node] >= group:
                after[node] -= group
                remaining -= group
        if remaining == before:
            return None
    return after


def _hand_out(
    rules: Rules,
    free: set[int],
    chosen: Sequence[int],
    givers: Sequence[int],
    count: int,
    group: int,
) -> Result:
    taking = _Taking(rules, set(free), count)
    share = count // len(chosen) // group * group
    for node in chosen:
        cpus = packed(rules, rules.within(NODE, node, taking.free), share)
        if not isinstance(cpus, str):
            taking.take(set(cpus))
    remaining = count - share * len(chosen)
    while remaining > 0:
        before = remaining
        for node in givers:
            if remaining > 0 and taking.free_of(NODE, node) >= group:
                cpus = packed(rules, rules.within(NODE, node, taking.free), group)
                assert not isinstance(cpus, str)
                taking.take(set(cpus))
                remaining -= group
        if remaining == before:
            return HANG
    return SHORT if taking.need > 0 else frozenset(taking.taken)
