"""The same nodes with another configuration, release or machine: empty, one start per class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from numalet.core.cluster import classes
from numalet.core.cluster.classes import ClassSpec, DevicePlaces
from numalet.core.cluster.cluster import Cluster, ClusterNode
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import NoteFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.value import Value, field, replace
from numalet.core.node.node import Node

NodeVariants: TypeAlias = Mapping[str, Node | StartRefused]
"""Empty nodes by name, or why their kubelets would not start."""


class FleetClassUnknown(NoteFinding):
    sentence = "node {name} is not changed: its machine and configuration are unknown"
    name: str


class MachineShare(Value, kw_only=True):
    """Nodes that get another machine, with these devices.

    They are the next ``nodes`` by name in ``pool`` (or in all pools) after those of earlier shares;
    without ``nodes``, all remaining ones.
    """

    machine: MachineInfo
    devices: DevicePlaces
    pool: str | None = None
    nodes: int | None = None


class Change(Value, kw_only=True):
    """The change; a field that is not set keeps the current value.

    Options are added to the existing ones; an empty value removes one. Only nodes of these
    ``pools`` change, or all if empty. If only machines change, only nodes with another machine
    change.
    """

    policy: str | None = None
    scope: str | None = None
    policy_options: Mapping[str, str] = field(default_factory=dict)
    cpu_options: Mapping[str, str] = field(default_factory=dict)
    memory_policy: str | None = None
    release: Release | None = None
    machines: tuple[MachineShare, ...] = ()
    pools: frozenset[str] = frozenset()

    def concerns(self, node: ClusterNode) -> bool:
        return not self.pools or node.pool in self.pools

    @property
    def is_of_machines_alone(self) -> bool:
        return bool(self.machines) and replace(self, machines=()) == Change(pools=self.pools)

    def shares(self, nodes: Iterable[ClusterNode]) -> dict[str, int]:
        """Return the share of ``machines`` by node name, for nodes with a new machine."""
        given: dict[str, int] = {}
        concerned = sorted((each.name, each.pool) for each in nodes if self.concerns(each))
        for at, share in enumerate(self.machines):
            left = [
                name for name, pool in concerned if name not in given and share.pool in (None, pool)
            ]
            given.update(dict.fromkeys(left[: share.nodes], at))
        return given

    def of(self, spec: ClassSpec, share: MachineShare | None = None) -> ClassSpec:
        config = spec.config
        config = replace(
            config,
            topology_manager_policy=self.policy or config.topology_manager_policy,
            topology_manager_scope=self.scope or config.topology_manager_scope,
            topology_manager_policy_options=_with(
                config.topology_manager_policy_options, self.policy_options
            ),
            cpu_manager_policy_options=_with(config.cpu_manager_policy_options, self.cpu_options),
            memory_manager_policy=self.memory_policy or config.memory_manager_policy,
        )
        return replace(
            spec,
            config=config,
            behaviour=replace(spec.behaviour, release=self.release or spec.behaviour.release),
            machine=spec.machine if share is None else share.machine,
            devices=spec.devices if share is None else share.devices,
        )


def nodes_of(
    cluster: Cluster, specs: Mapping[str, ClassSpec], change: Change
) -> tuple[NodeVariants, tuple[FleetClassUnknown, ...]]:
    """Return every changed node, empty; and findings on nodes of an unknown class.

    ``specs`` are the classes of the cluster's nodes by name.
    """
    started: dict[tuple[str, int | None], Node | StartRefused] = {}
    nodes: dict[str, Node | StartRefused] = {}
    unknown = []
    shares = change.shares(cluster.nodes.values())
    for name, each in sorted(cluster.nodes.items()):
        at = shares.get(name)
        if not change.concerns(each) or (at is None and change.is_of_machines_alone):
            continue
        spec = specs.get(each.class_name)
        if spec is None:
            unknown.append(FleetClassUnknown(name=name))
            continue
        key = (each.class_name, at)
        # A start costs much more than a copy, and thousands of nodes share a few classes.
        if key not in started:
            share = None if at is None else change.machines[at]
            started[key] = classes.start(change.of(spec, share))
        empty = started[key]
        if not isinstance(empty, StartRefused):
            empty = classes.member(empty, each.node.rules.identity)
        nodes[name] = empty
    return nodes, tuple(unknown)


def _with(
    options: Mapping[str, str] | None, changes: Mapping[str, str]
) -> Mapping[str, str] | None:
    if not changes:
        return options
    # An empty value removes the option.
    return {name: value for name, value in {**(options or {}), **changes}.items() if value}
