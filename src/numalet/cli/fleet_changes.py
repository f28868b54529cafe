"""Nodes of a fleet that are changed: the options that say how, and the nodes after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from numalet.cli import node_options
from numalet.cli.options import Options, option
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput

if TYPE_CHECKING:
    from numalet.core.cluster.classes import DevicePlaces
    from numalet.core.cluster.cluster import Cluster
    from numalet.insight.fleet.variants import MachineShare, NodeVariants
    from numalet.insight.usecases.clusters import OpenedCluster
    from numalet.io.documents.machine.device_file import DeviceLists

_NODES: Final = ",nodes="
_FORM: Final = "[POOL=]MACHINE[,nodes=COUNT], COUNT a number or a percentage"
_MOST_DIGITS: Final = 9


class StrategyOption(StrEnum):
    """Scoring strategies of the scheduler."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"


class ChangeOptions(Options):
    """Changes of nodes."""

    policy: str | None = option(
        "Topology policy: none, best-effort, restricted or single-numa-node.", "POLICY"
    )
    scope: str | None = option("Topology scope: container or pod.", "SCOPE")
    options: list[str] = option(
        "Options of the topology policy, added; 'KEY=' takes one away.", "KEY=VALUE,..."
    )
    cpu_options: list[str] = option("Options of the CPU Manager, in the same way.", "KEY=VALUE,...")
    memory_policy: str | None = option("Policy of the Memory Manager: None or Static.", "POLICY")
    release: str | None = node_options.release_option("Release of the kubelets, such as 1.36.")
    machine: list[str] = option(
        "Other machines with their devices: for all nodes, those of a pool, or the first N or N% of"
        " its nodes by name; repeatable.",
        "[POOL=]MACHINE[,nodes=N]",
        "-m",
    )
    strategy: StrategyOption | None = option(
        "How the scheduler scores nodes then. Now it is LeastAllocated."
    )
    pool: list[str] = option("Only nodes of this pool; repeatable.", "NAME")

    def check(self) -> None:
        self.changed_options()
        self.changed_cpu_options()

    def changed_options(self) -> Mapping[str, str]:
        """Return the options of the topology policy. Raises ``BadInput``."""
        return pairs("--options", self.options)

    def changed_cpu_options(self) -> Mapping[str, str]:
        """Return the options of the CPU Manager. Raises ``BadInput``."""
        return pairs("--cpu-options", self.cpu_options)

    def is_empty(self) -> bool:
        """Return whether no node would change."""
        texts = (self.policy, self.scope, self.memory_policy, self.release)
        pairs = (self.changed_options(), self.changed_cpu_options())
        return not any((*texts, *pairs, self.machine, self.strategy))


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """Parse ``KEY=VALUE,...`` of a repeatable option. Raises ``BadInput``."""
    found: dict[str, str] = {}
    for part in ",".join(given).split(","):
        key, equals, value = part.strip().partition("=")
        if not equals and key:
            raise input_error.Invalid(
                f"invalid {option} {part!r}", expected="KEY=VALUE,..."
            ).bad_input()
        if key:
            found[key] = value
    return found


def variants(fleet: OpenedCluster, changes: ChangeOptions) -> NodeVariants:
    """Return the changed nodes; name unchangeable ones on the error stream.

    Raises ``BadInput`` if a machine, the release or a pool is unknown, or every kubelet refuses.
    """
    from numalet.cli import fleet_answers, output
    from numalet.core.config.releases import table, versions
    from numalet.core.config.rules import StartRefused
    from numalet.insight.fleet import variants as making
    from numalet.insight.fleet.variants import Change
    from numalet.wording import kubelet_start

    if changes.is_empty():
        raise input_error.Required(
            "no change given; use --policy, --release or --machine, for example"
        ).bad_input()
    fleet_answers.check_pools(fleet.cluster, changes.pool)
    release = None
    if changes.release is not None:
        minor = versions.minor_version(changes.release)
        release = None if minor is None else minor.release
        if release is None:
            known = ", ".join(each.name for each in table.RELEASES)
            raise input_error.Invalid(
                f"invalid Kubernetes release {changes.release!r}",
                expected=f"1.34, v1.34 or a version such as v1.34.9; known releases: {known}",
            ).bad_input()
    change = Change(
        policy=changes.policy,
        scope=changes.scope,
        policy_options=changes.changed_options(),
        cpu_options=changes.changed_cpu_options(),
        memory_policy=changes.memory_policy,
        release=release,
        machines=shares(fleet.cluster, changes.machine),
        pools=frozenset(changes.pool),
    )
    # Only the scheduler's strategy changes.
    if change == Change(pools=change.pools):
        return {}
    others, unknown = making.nodes_of(fleet.cluster, fleet.specs, change)
    output.show_findings(unknown)
    refused = [each for each in others.values() if isinstance(each, StartRefused)]
    # Some nodes without a start are part of the answer; if all refuse, the change is a mistake.
    if refused and len(refused) == len(others):
        problems = sorted({kubelet_start.text(each) for each in refused})
        raise BadInput(
            [
                input_error.Invalid(f"no kubelet starts with this change: {each}")
                for each in problems
            ]
        )
    return others


def shares(cluster: Cluster, given: Iterable[str]) -> tuple[MachineShare, ...]:
    """Parse the machines for nodes of the cluster.

    Raises ``BadInput`` if a text has another form, a pool is unknown, or a machine is unreadable.
    """
    return tuple(_share(cluster, each) for each in given)


def _share(cluster: Cluster, given: str) -> MachineShare:
    from numalet.cli import fleet_answers
    from numalet.insight.fleet.variants import MachineShare
    from numalet.io.machines import open_machine

    named, found, count = given.rpartition(_NODES) if _NODES in given else (given, "", "")
    pool, equals, name = named.partition("=")
    if not equals or "/" in pool:
        # A path may contain the sign too; the value of a label contains no slash.
        pool, name = "", named
    pools = cluster.pools()
    fleet_answers.check_pools(cluster, [pool] if pool else ())
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
