"""The lowest set of a given size that meets all requirements, found without listing sets.

*Lowest* is the smallest integer. The search decides nodes from the highest down and tries to leave
each node out before it includes it, so the first solution is the lowest.

One requirement needs no backtracking. Several make a packing problem, whose worst cases are
exponential; docs/explanation/merging.md gives the sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from numalet.core.hints.requirement import OpenSets, Requirement
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask

Lacking = tuple[int, ...]
"""The unmet need of every row. A requirement is met at 0 or below."""

_SCALE = 1 << 96
"""Fixed-point factor: scales the needs of all requirements to one integer unit."""

_VISITS_BEFORE_WEIGHING = 150
_STEPS = 60


class _Row:
    """One requirement, or one upper limit, over the nodes to choose from.

    A limit is a requirement with negative weights: at least minus ``most``. ``alone`` has the
    weights of parts of one node by place, ``shared`` those of other parts by their bit. ``at_most``
    is the most that a node can add.
    """

    def __init__(self, need: int, sign: int, parts: Sequence[tuple[NumaMask, int]]) -> None:
        self.need = need
        self.sign = sign
        self.parts = parts
        self.alone: list[int] = []
        self.shared: dict[int, int] = {}
        self.at_most: list[int] = []

    def clamped(self, lacking: int) -> int:
        """Ignore a surplus over a requirement; keep the unused room below a limit."""
        return max(0, lacking) if self.sign > 0 else lacking


class LowestSet:
    """One problem: the nodes to choose from and the requirements. Caches results between calls."""

    def __init__(self, sets: OpenSets, further: Sequence[Requirement] = ()) -> None:
        self.mandatory = sets.mandatory
        self.is_possible = numa_mask.contains(sets.universe, sets.mandatory)
        self.node_ids = numa_mask.ids(sets.universe & ~sets.mandatory)
        # Entry n is the lowest set of n nodes, which is the answer as soon as the needs are met.
        self.lowest_masks = [0, *accumulate(1 << node_id for node_id in self.node_ids)]
        self.rows = self._rows([*sets.requirements, *further])
        self._place_parts()
        self.start: Lacking = tuple(row.clamped(row.need) for row in self.rows)
        self.scales = [
            _SCALE // row.need if row.sign > 0 and row.need > 0 else 0 for row in self.rows
        ]
        self._visited = 0
        self._weighted: list[int] | None = None
        self._heaviest_first: dict[int, list[list[int]]] = {}
        self._best_of: dict[int, list[list[int]]] = {}
        self._failed: dict[tuple[int, int, int], list[Lacking]] = {}

    def lowest(self, size: int) -> NumaMask | None:
        """Return the lowest set with ``size`` nodes that meets the requirements, if any."""
        count = size - self.mandatory.bit_count()
        if not self.is_possible or not 0 <= count <= len(self.node_ids):
            return None
        mask = self._lowest(len(self.node_ids), count, self.start, 0)
        return None if mask is None else mask | self.mandatory

    def fewest(self) -> int | None:
        """Return the number of nodes of the smallest non-empty set, if there is one."""
        if not self.is_possible:
            return None
        mandatory = self.mandatory.bit_count()
        for count in range(0 if mandatory else 1, len(self.node_ids) + 1):
            if self.may_be_met(len(self.node_ids), count, self.start) and (
                self._heaviest_do(count) or self.lowest(count + mandatory) is not None
            ):
                return count + mandatory
        return None

    def smallest(self) -> NumaMask | None:
        """Return the lowest set with the fewest nodes, if there is one."""
        size = self.fewest()
        return None if size is None else self.lowest(size)

    def _rows(self, requirements: Sequence[Requirement]) -> list[_Row]:
        """Make rows for the requirements that the mandatory nodes leave open."""
        rows = []
        among = self.lowest_masks[-1]
        for requirement in requirements:
            reached = requirement.reached_by(self.mandatory)
            parts = [
                (part & among, weight)
                for part, weight in requirement.parts
                if part & among and not part & self.mandatory
            ]
            need = requirement.need - reached
            if need > 0:
                # Clamping makes all sufficient parts equal, so that failed branches match more.
                rows.append(_Row(need, 1, [(part, min(weight, need)) for part, weight in parts]))
            if requirement.most is not None:
                rows.append(_Row(reached - requirement.most, -1, parts))
        return rows

    def _place_parts(self) -> None:
        places = {1 << node_id: place for place, node_id in enumerate(self.node_ids)}
        parts = {part for row in self.rows for part, _ in row.parts if part not in places}
        # A device attached to several nodes counts once, with its first chosen node. One bit per
        # such part says whether that has happened.
        self.shared_bits = {part: 1 << index for index, part in enumerate(sorted(parts))}
        self.touched_at = [0] * len(places)
        for part, bit in self.shared_bits.items():
            for node_id in numa_mask.ids(part):
                self.touched_at[places[1 << node_id]] |= bit
        self.touched_below = [0, *accumulate(self.touched_at, int.__or__)]
        for row in self.rows:
            row.alone, row.at_most = [0] * len(places), [0] * len(places)
            for part, weight in row.parts:
                signed = row.sign * weight
                place = places.get(part)
                if place is not None:
                    row.alone[place] += signed
                    row.at_most[place] += signed
                    continue
                bit = self.shared_bits[part]
                row.shared[bit] = row.shared.get(bit, 0) + signed
                # A part touched before adds 0. For a limit 0 is the best case, so only
                # requirements add the weight to this upper bound.
                for node_id in numa_mask.ids(part) if row.sign > 0 else ():
                    row.at_most[places[1 << node_id]] += signed
        self.alone_below = [[0, *accumulate(row.alone)] for row in self.rows]

    def _lowest(self, places: int, count: int, lacking: Lacking, touched: int) -> NumaMask | None:
        """Return the lowest ``count`` of the first ``places`` nodes that fill all rows, if any."""
        # Bound: not even the heaviest nodes left can fill some row, or the weighted sum of all
        # rows.
        if not self.may_be_met(places, count, lacking):
            return None
        # Shortcut: the lowest nodes are enough, so they are the answer.
        if self._lowest_do(count, lacking, touched):
            return self.lowest_masks[count]
        if count in (0, places):
            return None
        # Dominance: a branch that failed with these needs or smaller ones fails here, too. The
        # key has no node ids, so the search depends on the number of equal nodes only.
        failed = self._failed.setdefault((places, count, touched & self.touched_below[places]), [])
        if any(all(map(int.__le__, earlier, lacking)) for earlier in failed):
            return None
        self._visited += 1
        if self._visited == _VISITS_BEFORE_WEIGHING:
            self._weigh(places, count, lacking)
        last = places - 1
        # Without this node first: any solution there is lower.
        mask = self._lowest(last, count, lacking, touched)
        if mask is None:
            less, now_touched = self.with_node(last, lacking, touched)
            mask = self._lowest(last, count - 1, less, now_touched)
            if mask is not None:
                mask |= 1 << self.node_ids[last]
        if mask is None:
            failed.append(lacking)
        return mask

    def may_be_met(self, places: int, count: int, lacking: Lacking) -> bool:
        """Return False only if ``count`` of the first ``places`` nodes cannot fill all rows."""
        # Fill each row, and the weighted sum of all rows, with the best nodes for it alone.
        best_of = self._best_of.get(places)
        if best_of is None:
            best_of = self._best_of[places] = self._sums_of_best(places)
        for need, sums in zip(lacking, best_of, strict=False):
            if sums[count] < need:
                return False
        if len(self.rows) == 1:
            return True
        return best_of[-1][count] >= sum(map(int.__mul__, self.scales, lacking))

    def _sums_of_best(self, places: int) -> list[list[int]]:
        """Return for each row and for the weighted sum: the sums of the best 0, 1, 2 ... nodes."""
        columns = self._columns()
        sorted_above = self._heaviest_first.get(places + 1)
        if sorted_above is None:
            heaviest = [sorted(column[:places], reverse=True) for column in columns]
        else:
            # The search moves down one place at a time: removing one node is cheaper than sorting.
            heaviest = [each.copy() for each in sorted_above]
            for each, column in zip(heaviest, columns, strict=True):
                each.remove(column[places])
        self._heaviest_first[places] = heaviest
        return [[0, *accumulate(each)] for each in heaviest]

    def _columns(self) -> list[list[int]]:
        if len(self.rows) == 1:
            return [self.rows[0].at_most]
        return [*(row.at_most for row in self.rows), self._worth]

    @property
    def _worth(self) -> list[int]:
        """The most that each node adds to the weighted sum of all rows."""
        if self._weighted is None:
            weighted = [0] * len(self.node_ids)
            for row, scale in zip(self.rows, self.scales, strict=True):
                if scale:
                    weighted = [
                        sum_ + scale * at for sum_, at in zip(weighted, row.at_most, strict=True)
                    ]
            self._weighted = weighted
        return self._weighted

    def _weigh(self, places: int, count: int, lacking: Lacking) -> None:
        """Improve the weights of the weighted sum by subgradient steps, so that it prunes more."""
        # Any non-negative weights give a valid bound; the initial ones are proportional to the
        # needs. This runs once, in long searches only, so floats are exact enough: the results
        # are integers.
        rows = [at for at, scale in enumerate(self.scales) if scale and lacking[at] > 0]
        worth = [[each / lacking[at] for each in self.rows[at].at_most[:places]] for at in rows]
        shares = best_shares = [1.0] * len(rows)
        highest = float("-inf")
        for step in range(_STEPS):
            together = sum(shares)
            if not together:
                break
            sums = [sum(map(float.__mul__, shares, column)) for column in zip(*worth, strict=True)]
            heaviest = sorted(range(places), key=sums.__getitem__, reverse=True)[:count]
            # The gap is the unmet share of the weighted need: the larger it is, the more branches
            # this bound cuts. The weights with the largest gap are kept.
            gap = (together - sum(sums[at] for at in heaviest)) / together
            if gap > highest:
                highest, best_shares = gap, shares
            missing = [1 - sum(row[at] for at in heaviest) for row in worth]
            # Shrinking steps, as usual for subgradient methods. A step may worsen the bound, so the
            # best one is kept above.
            length = 1 / (step + 2)
            shares = [
                max(share + length * lack, 0.0) for share, lack in zip(shares, missing, strict=True)
            ]
        for at, share in zip(rows, best_shares, strict=True):
            self.scales[at] = int(share * _SCALE) // lacking[at]
        self._weighted = None
        # Both caches hold sums with the old weights.
        self._heaviest_first.clear()
        self._best_of.clear()

    def _lowest_do(self, count: int, lacking: Lacking, touched: int) -> bool:
        new = self.touched_below[count] & ~touched
        for row, need, sums in zip(self.rows, lacking, self.alone_below, strict=True):
            given = sums[count]
            if new and row.shared:
                given += sum(weight for bit, weight in row.shared.items() if bit & new)
            if given < need:
                return False
        return True

    def with_node(self, place: int, lacking: Lacking, touched: int) -> tuple[Lacking, int]:
        """Return the unmet needs and the touched shared parts after including this node."""
        new = self.touched_at[place] & ~touched
        less = []
        for row, need in zip(self.rows, lacking, strict=True):
            given = row.alone[place]
            if new and row.shared:
                given += sum(weight for bit, weight in row.shared.items() if bit & new)
            less.append(row.clamped(need - given))
        return tuple(less), touched | new

    def is_met_by(self, mask: NumaMask) -> bool:
        """Return whether this set, which includes the mandatory nodes, meets all requirements."""
        lacking, touched = self.start, 0
        for place, node_id in enumerate(self.node_ids):
            if mask >> node_id & 1:
                lacking, touched = self.with_node(place, lacking, touched)
        return all(need <= 0 for need in lacking)

    def _heaviest_do(self, count: int) -> bool:
        """Return whether the nodes with the highest worth are enough; False proves nothing."""
        worth = self._worth
        places = range(len(worth))
        lacking, touched = self.start, 0
        for place in sorted(places, key=worth.__getitem__, reverse=True)[:count]:
            lacking, touched = self.with_node(place, lacking, touched)
        return all(need <= 0 for need in lacking)
