"""Other machines for nodes of a fleet, in the form ``[POOL=]MACHINE[,nodes=COUNT]``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from numalet.cli import fleet_names
from numalet.core.model import input_error

if TYPE_CHECKING:
    from numalet.core.cluster.classes import DevicePlaces
    from numalet.core.cluster.cluster import Cluster
    from numalet.insight.fleet.variants import MachineShare
    from numalet.io.documents.device_file import DeviceLists

_NODES: Final = ",nodes="
_FORM: Final = "[POOL=]MACHINE[,nodes=COUNT], COUNT a number or a percentage"
_MOST_DIGITS: Final = 9


def shares(cluster: Cluster, given: Iterable[str]) -> tuple[MachineShare, ...]:
    """Parse the machines for nodes of the cluster.

    Raises ``BadInput`` if a text has another form, a pool is unknown, or a machine is unreadable.
    """
    return tuple(_share(cluster, each) for each in given)


def _share(cluster: Cluster, given: str) -> MachineShare:
    from numalet.insight.fleet.variants import MachineShare
    from numalet.io.machines import open_machine

    named, found, count = given.rpartition(_NODES) if _NODES in given else (given, "", "")
    pool, equals, name = named.partition("=")
    if not equals or "/" in pool:
        # A path may contain the sign too; the value of a label contains no slash.
        pool, name = "", named
    pools = cluster.pools()
    fleet_names.check_pools(cluster, [pool] if pool else ())
    there = len(pools[pool]) if pool else len(cluster.nodes)
    machine = open_machine(name)
    return MachineShare(
        machine=machine.info,
        devices=_places(machine.devices),
        pool=pool or None,
        nodes=_count(given, count, there) if found else None,
    )


def _count(given: str, count: str, there: int) -> int:
    """Return the number of nodes, of those that exist; fractions are rounded up."""
    digits = count.removesuffix("%")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        raise input_error.Invalid(f"invalid --machine {given!r}", expected=_FORM).bad_input()
    return -(-there * int(digits) // 100) if count.endswith("%") else int(digits)


def _places(devices: DeviceLists) -> DevicePlaces:
    """Return the NUMA nodes of each device, devices sorted by id."""
    return {
        resource: tuple(each.numa_nodes for each in sorted(every, key=lambda each: each.device_id))
        for resource, every in devices.items()
    }
