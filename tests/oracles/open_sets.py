"""Random open parts of rules, and what can be done with them by trying everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from hypothesis import strategies as st

from numalet.core.hints.fitness import Distances
from numalet.core.hints.requirement import OpenSets, Requirement
from numalet.core.hints.rule import HintRule
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask


@st.composite
def open_sets(draw: st.DrawFn, nodes: int) -> OpenSets:
    """Up to three requirements; some parts have several nodes, some nodes are mandatory."""
    mask = st.integers(0, 2**nodes - 1)
    universe = draw(mask) | draw(mask) | 1
    mandatory = draw(st.just(0) | mask) & draw(mask) & universe
    requirements = []
    for _ in range(draw(st.integers(0, 3))):
        most = draw(st.sampled_from([1, 4, 1000]))
        alone = range(draw(st.sampled_from([0, nodes, nodes])))
        parts = [(1 << i, draw(st.integers(0, most))) for i in alone]
        shared = st.tuples(mask, st.integers(1, most))
        parts += draw(st.just([]) | st.lists(shared, max_size=4))
        total = Requirement(0, tuple(parts)).reached_by(universe)
        requirements.append(Requirement(draw(st.integers(-1, total)), tuple(parts)))
    return OpenSets(universe, mandatory, tuple(requirements))


@st.composite
def spans(draw: st.DrawFn, nodes: int) -> Requirement:
    """Exactly so many of some sockets, which share nodes at times."""
    mask = st.integers(1, 2**nodes - 1)
    sockets = draw(st.lists(mask, min_size=1, max_size=4))
    count = draw(st.integers(0, len(sockets)))
    return Requirement(count, tuple((socket, 1) for socket in sockets), most=count)


def subsets(mask: NumaMask, size: int) -> Iterator[NumaMask]:
    """All subsets with so many nodes."""
    for chosen in combinations(numa_mask.ids(mask), size):
        yield numa_mask.of(chosen)


def rule_of(sets: OpenSets) -> HintRule:
    """A rule with this open part; what is preferred does not matter."""
    return HintRule(sets.universe, sets, preferred_size=1)


def can_be_shared(out: NumaMask, families: Sequence[OpenSets]) -> bool:
    """Whether the nodes can be given to the families so that each still offers what is left."""
    node_ids = numa_mask.ids(out)
    for owners in product(range(len(families)), repeat=len(node_ids)):
        left = [sets.universe for sets in families]
        for node_id, owner in zip(node_ids, owners, strict=True):
            left[owner] &= ~(1 << node_id)
        if all(sets.offers(mask) for sets, mask in zip(families, left, strict=True)):
            return True
    return False


def _of_boards(draw: st.DrawFn, nodes: int) -> Distances:
    """Up to three boards of neighbouring nodes, close to each other or not."""
    boards = sorted(draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes)))
    between = [draw(st.lists(st.integers(11, 14), min_size=3, max_size=3)) for _ in range(3)]
    return Distances(
        {
            i: {j: 10 if i == j else between[one][other] for j, other in enumerate(boards)}
            for i, one in enumerate(boards)
        }
    )


@st.composite
def distances(draw: st.DrawFn, nodes: int) -> Distances:
    """Any distances, not symmetric either; or those of boards, whose nodes are alike."""
    if draw(st.booleans()):
        return _of_boards(draw, nodes)
    far = st.integers(10, 13)
    rows = [draw(st.lists(far, min_size=nodes, max_size=nodes)) for _ in range(nodes)]
    return Distances({i: dict(enumerate(row)) for i, row in enumerate(rows)})
