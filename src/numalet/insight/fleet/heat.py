"""The drawn values of a fleet: the free amount of one resource by node and NUMA node.

CPUs are in thousandths, memory is in bytes, devices are counted. The free amount of a whole node or
pool is that of the scheduler: what is allocatable minus the sum of requests. It is the same for
every kubelet, and the one of ``fleet fit``, ``fleet traps`` and the metrics. The amounts of NUMA
nodes are those that the kubelet's managers can still allocate there. A device on several NUMA nodes
is included in each of them; devices without a NUMA node are in ``elsewhere``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from numalet.core.cluster import scheduler_sums
from numalet.core.cluster.cluster import Cluster, ClusterNode, Origin
from numalet.core.cluster.facts import DeviceFacts, FactReader, StateFacts
from numalet.core.model import numa_mask, resources
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.value import Value, replace
from numalet.insight.fleet.traps import Trap, Traps

MOST_CELLS: Final = 1_000
"""With more nodes, those that are drawn alike share a cell."""
_MILLI: Final = 1000


class FreeShare(Value):
    node_id: int
    free: int
    total: int


Shares: TypeAlias = tuple[FreeShare, ...]


class FleetCell(Value, kw_only=True):
    """One node; ``name`` is the first of ``count`` nodes that are drawn alike.

    ``shares`` are by ascending NUMA node, and empty if the kubelet does not allocate the resource
    per NUMA node. ``in_all`` is the sum of requests against what is allocatable.
    """

    name: str
    pool: str
    origin: Origin
    shares: Shares
    in_all: FreeShare
    elsewhere: FreeShare
    trap: Trap | None
    is_open: bool
    """Ready and not cordoned, so that the scheduler may send pods there."""
    state: str = "ready"
    is_fitting: bool = False
    """Whether the pod in question fits there."""
    count: int = 1

    @property
    def drawn_as(self) -> tuple[object, ...]:
        """A key that is equal for nodes that are drawn alike."""
        stranded = None if self.trap is None else tuple(self.trap.stranded.items())
        figures = self.shares or self.in_all
        return (figures, self.elsewhere, self.origin, stranded, self.is_open, self.is_fitting)


class UndecidedCell(Value, kw_only=True):
    """``count`` nodes that are undecided for the same reason; ``name`` is the first."""

    name: str
    why: str
    count: int = 1


class MappedPool(Value, kw_only=True):
    """The nodes of one pool by name, and its figures; ``nodes`` includes undecided ones.

    The ``closed`` ones (cordoned or not ready) get no new pods, so ``free``, ``total`` and
    ``most_on_one`` leave them out.
    """

    name: str
    nodes: int
    cells: tuple[FleetCell, ...]
    undecided: tuple[UndecidedCell, ...]
    traps: int
    closed: int
    free: int
    total: int
    most_on_one: int | None
    """The largest free amount on one NUMA node; None if none is allocated per NUMA node."""

    @property
    def not_known(self) -> int:
        return sum(each.count for each in self.undecided)


class FleetMap(Value, kw_only=True):
    """All pools by name. ``resources`` are those that can be drawn, devices first."""

    resource: str
    resources: tuple[str, ...]
    pools: tuple[MappedPool, ...]

    def of_pool(self, name: str) -> FleetMap:
        return replace(self, pools=tuple(each for each in self.pools if each.name == name))

    def matching(self, text: str) -> FleetMap:
        """Return only the nodes with this text in their name or state, such as ``cordoned``."""
        pools = []
        for pool in self.pools:
            cells = [e for e in pool.cells if text in e.name or text in e.state]
            undecided = [e for e in pool.undecided if text in e.name or text == "undecided"]
            if cells or undecided:
                pools.append(_pool(pool.name, cells, undecided))
        return replace(self, pools=tuple(pools))

    def folded(self) -> FleetMap:
        """Return the map with one cell for all nodes of a pool that are drawn alike."""
        return replace(
            self,
            pools=tuple(
                replace(
                    each, cells=_folded(each.cells), undecided=_folded_undecided(each.undecided)
                )
                for each in self.pools
            ),
        )

    def alike(self, name: str) -> FleetMap:
        """Return only the nodes of the same pool that are drawn like this one."""
        pools = []
        for pool in self.pools:
            wanted = [each.drawn_as for each in pool.cells if each.name == name]
            causes = [each.why for each in pool.undecided if each.name == name]
            if wanted or causes:
                cells = [each for each in pool.cells if each.drawn_as in wanted]
                undecided = [each for each in pool.undecided if each.why in causes]
                pools.append(_pool(pool.name, cells, undecided))
        return replace(self, pools=tuple(pools))


class FleetMapper:
    """Maps one cluster after another; reads each node object once. For one thread."""

    def __init__(self) -> None:
        self._reader = FactReader()
        self._facts: dict[str, StateFacts] = {}

    def map(
        self,
        cluster: Cluster,
        traps: Traps,
        resource: str | None = None,
        fitting: Collection[str] = (),
    ) -> FleetMap:
        """Return the map of a resource, by default the first that can be drawn.

        ``fitting`` are the nodes where the pod in question fits.
        """
        facts = self._read(cluster.nodes)
        names = _resources(facts.values())
        chosen = resource if resource in names else names[0]
        trapped = {each.node: each for each in traps.traps}
        pools = cluster.pools()
        undecided: dict[str, list[UndecidedCell]] = {}
        for name, unknown in sorted(cluster.undecided.items()):
            cell = UndecidedCell(name=name, why=str(unknown.why))
            undecided.setdefault(unknown.pool, []).append(cell)
        return FleetMap(
            resource=chosen,
            resources=names,
            pools=tuple(
                _pool(
                    name,
                    [
                        replace(
                            _cell(each, facts[each.name], chosen, trapped.get(each.name)),
                            is_fitting=each.name in fitting,
                        )
                        for each in pools.get(name, ())
                    ],
                    undecided.get(name, ()),
                )
                for name in sorted({*pools, *undecided})
            ),
        )

    def _read(self, nodes: Mapping[str, ClusterNode]) -> Mapping[str, StateFacts]:
        known, read = self._facts, self._reader.facts
        self._facts = {
            name: known[name]
            # The same object has the same facts; nodes of a followed cluster rarely change.
            if name in known and known[name].node is each.node
            else read(each.node)
            for name, each in nodes.items()
        }
        return self._facts


def _resources(every: Iterable[StateFacts]) -> tuple[str, ...]:
    devices: set[str] = set()
    types: set[str] = set()
    for facts in every:
        devices.update(facts.devices)
        for node in facts.memory.values():
            types.update(node.tables)
    return (*sorted(devices), resources.CPU, *sorted(types | {resources.MEMORY}))


def _pool(name: str, cells: Sequence[FleetCell], undecided: Sequence[UndecidedCell]) -> MappedPool:
    opened = [each for each in cells if each.is_open]
    by_numa_node = [share.free for each in opened for share in each.shares]
    return MappedPool(
        name=name,
        nodes=len(cells) + len(undecided),
        cells=tuple(cells),
        undecided=tuple(undecided),
        traps=sum(each.trap is not None for each in cells),
        closed=len(cells) - len(opened),
        free=sum(each.in_all.free for each in opened),
        total=sum(each.in_all.total for each in opened),
        most_on_one=max(by_numa_node, default=None),
    )


def _cell(on: ClusterNode, facts: StateFacts, resource: str, trap: Trap | None) -> FleetCell:
    device, elsewhere = facts.devices.get(resource), FreeShare(-1, 0, 0)
    if device is not None:
        shares, elsewhere = _of_devices(device, facts.node.rules.machine)
    else:
        shares = _of_cpus(facts) if resource == resources.CPU else _of_memory(facts, resource)
    # Unhealthy devices that a pod still uses make the sum negative.
    free = max(0, scheduler_sums.free_of(facts.node, resource))
    return FleetCell(
        name=on.name,
        pool=on.pool,
        origin=on.origin,
        shares=shares,
        in_all=FreeShare(-1, free, scheduler_sums.allocatable_of(facts.node, resource)),
        elsewhere=elsewhere,
        trap=trap,
        is_open=on.is_open,
        state=on.state,
    )


def _of_cpus(facts: StateFacts) -> Shares:
    """Return CPUs that may become exclusive; empty without exclusive CPUs."""
    static = facts.node_class.static_cpus
    if static is None:
        return ()
    return tuple(
        FreeShare(
            part.part_id,
            free * _MILLI,
            (part.cpus & ~static.reserved.cpus).bit_count() * _MILLI,
        )
        for part, free in zip(static.topology.nodes, facts.free_cpus, strict=True)
    )


def _of_memory(facts: StateFacts, resource: str) -> Shares:
    return tuple(
        FreeShare(node_id, node.tables[resource].free, node.tables[resource].allocatable)
        for node_id, node in sorted(facts.memory.items())
        if resource in node.tables
    )


def _of_devices(device: DeviceFacts, machine: MachineInfo) -> tuple[Shares, FreeShare]:
    free_bits, healthy = device.free, device.devices.healthy
    free: dict[int, int] = {}
    total: dict[int, int] = {}
    for at, mask in enumerate(device.devices.masks):
        if not healthy >> at & 1:
            continue
        # The id -1 collects devices without a NUMA node.
        for node_id in numa_mask.ids(mask) or (-1,):
            total[node_id] = total.get(node_id, 0) + 1
            free[node_id] = free.get(node_id, 0) + (free_bits >> at & 1)
    elsewhere = FreeShare(-1, free.pop(-1, 0), total.pop(-1, 0))
    # NUMA nodes without such a device are drawn too, unless they have only memory.
    ids = sorted({*total, *(each.node_id for each in machine.nodes if each.cores)})
    shares = tuple(FreeShare(each, free.get(each, 0), total.get(each, 0)) for each in ids)
    return (shares if total else ()), elsewhere


def _folded(cells: Sequence[FleetCell]) -> tuple[FleetCell, ...]:
    """Return traps first, then cells by descending number of nodes."""
    alike: dict[tuple[object, ...], list[FleetCell]] = {}
    for each in cells:
        alike.setdefault(each.drawn_as, []).append(each)
    folded = [
        replace(every[0], count=sum(each.count for each in every)) for every in alike.values()
    ]
    return tuple(sorted(folded, key=lambda each: (each.trap is None, -each.count, each.name)))


def _folded_undecided(cells: Sequence[UndecidedCell]) -> tuple[UndecidedCell, ...]:
    alike: dict[str, list[UndecidedCell]] = {}
    for each in cells:
        alike.setdefault(each.why, []).append(each)
    return tuple(
        replace(every[0], count=sum(each.count for each in every)) for every in alike.values()
    )
