"""The lowest set of a given size that remains reachable when families remove nodes.

``SharingOut`` defines reachability. The search decides the nodes from the highest down and leaves
each node out if some set without it is reachable. It always keeps a *witness*: a reachable set that
agrees with every decision so far. The witness is the answer when the budget is spent.
"""

from __future__ import annotations

from numalet.core.hints.multi_knapsack import BudgetUsedUp, SharingOut
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class Remaining(Value):
    """A reachable set; ``exact`` if it is proved to be the best one."""

    mask: NumaMask
    exact: bool


def best(problem: SharingOut, size: int, known: NumaMask | None) -> Remaining:
    """Return the lowest reachable set with ``size`` nodes, or with as few more as possible.

    ``size`` is at least 1. The whole ground set is always reachable, and is the answer if it has at
    most ``size`` nodes. ``known`` is a set of this size that the caller proved reachable.
    """
    ground = problem.ground
    if ground.bit_count() <= size:
        return Remaining(ground, True)
    lowest = numa_mask.lowest(ground, size)
    if lowest == known or problem.can_be_shared_greedily(ground & ~lowest):
        return Remaining(lowest, True)
    start = some(problem, size, known)
    walked = _walked(problem, start.mask)
    return Remaining(walked.mask, walked.exact and start.exact)


def some(problem: SharingOut, size: int, known: NumaMask | None) -> Remaining:
    """Return any reachable set of the best set's size; exact if the size is proved."""
    whole = problem.ground
    if known is not None or whole.bit_count() <= size:
        return Remaining(whole if known is None else known, True)
    for nodes in range(size, whole.bit_count()):
        # Sizes grow from the wanted one, so the first reachable size is the smallest possible.
        leave = whole.bit_count() - nodes
        if problem.is_too_much(numa_mask.EMPTY, whole, leave):
            continue
        try:
            out = problem.share(numa_mask.EMPTY, whole, leave)
        except BudgetUsedUp:
            # Whether a smaller set is reachable stays unknown; the whole ground is reachable
            # without removing a node.
            return Remaining(whole, False)
        if out is not None:
            return Remaining(whole & ~out, True)
    return Remaining(whole, True)


def _walked(problem: SharingOut, witness: NumaMask) -> Remaining:
    """Return the lowest reachable set with as many nodes as the witness."""
    exact = True
    out = numa_mask.EMPTY
    undecided = problem.ground
    while undecided and witness != _lowest_agreeing(witness, undecided):
        bit = 1 << (undecided.bit_length() - 1)
        undecided ^= bit
        # If the witness lacks the node, it proves that the node can go: no test is needed.
        if witness & bit:
            try:
                other = _without(problem, witness, out | bit, undecided)
            except BudgetUsedUp:
                other, exact = None, False
            if other is not None:
                witness = other
        if not witness & bit:
            out |= bit
    return Remaining(witness, exact)


def _lowest_agreeing(witness: NumaMask, undecided: NumaMask) -> NumaMask:
    """Return the lowest set of the witness's size that agrees with all decisions so far."""
    open_part = witness & undecided
    return (witness ^ open_part) | numa_mask.lowest(undecided, open_part.bit_count())


def _without(
    problem: SharingOut, witness: NumaMask, must: NumaMask, may: NumaMask
) -> NumaMask | None:
    """Return a reachable set of the witness's size without ``must`` and with part of ``may``."""
    leave = problem.ground.bit_count() - witness.bit_count() - must.bit_count()
    # Nodes outside ``must`` and ``may`` are already decided to stay.
    if leave < 0 or leave > may.bit_count() or problem.is_too_much(must, may, leave):
        return None
    lowest = numa_mask.lowest(may, may.bit_count() - leave)
    if problem.can_be_shared_greedily(must | (may & ~lowest)):
        return problem.ground & ~must & ~(may & ~lowest)
    out = problem.share(must, may, leave)
    return None if out is None else problem.ground & ~out
