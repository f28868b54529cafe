"""Nodes in random states, of every policy, scope, option and release; and shapes of pods for them.

The same generator of random numbers gives the same nodes everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.releases import table
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model import pod_demand
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.node_constraints import (
    UNCONSTRAINED,
    HostPort,
    NodeConstraints,
    NodeIdentity,
)
from numalet.core.model.pod import (
    Container,
    ContainerKind,
    Pod,
    PodLevelResources,
    QosClass,
    Resources,
)
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node

GPU, NIC = "nvidia.com/gpu", "example.com/nic"
GIB = 1 << 30

POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
CPU_OPTIONS: Final = (
    (),
    (),
    (),
    ("full-pcpus-only",),
    ("distribute-cpus-across-numa",),
    ("distribute-cpus-across-numa", "full-pcpus-only"),
    ("distribute-cpus-across-cores",),
    ("prefer-align-cpus-by-uncorecache",),
    ("align-by-socket",),
    ("strict-cpu-reservation",),
    ("strict-cpu-reservation", "full-pcpus-only"),
)


@dataclass(frozen=True)
class Setup:
    """A configuration on a machine, with devices and rules."""

    config: KubeletConfig
    machine: MachineInfo
    devices: Mapping[str, tuple[Device, ...]]
    behaviour: Behaviour

    def start(self, files: Mapping[str, str] | None = None) -> Node | None:
        """A node that has just started; None if the kubelet would not."""
        node = nodes.start(self.config, self.machine, files, self.devices, behaviour=self.behaviour)
        return None if isinstance(node, StartRefused) else node


def machine(rng: random.Random) -> MachineInfo:
    """1 to 4 NUMA nodes of a few cores; sockets in nodes or nodes in sockets; some caches odd."""
    numa, threads = rng.choice([1, 2, 2, 2, 4]), rng.choice([1, 2, 2])
    cores = rng.choice([2, 3, 4, 4])
    sockets = rng.choice([each for each in (1, 2, 4) if each <= 2 * numa])
    per_cache = rng.choice([None, None, 2, 3])
    spans = rng.random() < 0.1
    all_cores = numa * cores
    gib = [rng.choice([4, 8, 8, 8]) for _ in range(numa)]
    pages = (HugePages(1 << 20, 2),) if rng.random() < 0.3 else ()
    infos = tuple(
        NumaNodeInfo(
            node_id=at,
            memory_bytes=gib[at] * GIB,
            hugepages=pages,
            cores=tuple(
                CoreInfo(
                    core,
                    (core * sockets // all_cores) if not spans else core % sockets,
                    tuple(core + all_cores * thread for thread in range(threads)),
                    None if per_cache is None else core // per_cache,
                )
                for core in range(at * cores, (at + 1) * cores)
            ),
            distances=tuple(10 if to == at else 20 + abs(to - at) for to in range(numa)),
        )
        for at in range(numa)
    )
    return MachineInfo(
        nodes=infos,
        memory_capacity_bytes=sum(gib) * GIB,
        cpu_count=all_cores * threads,
        socket_count=len({core.socket_id for info in infos for core in info.cores}),
        hugepages=tuple(replace(each, count=each.count * numa) for each in pages),
    )


def setup(rng: random.Random) -> Setup:
    """Any policy, scope, options and release."""
    on = machine(rng)
    release = rng.choice(table.RELEASES)
    mode = NATIVE if rng.random() < 0.2 else EXACT
    behaviour = replace(mode, release=release, predicates_are_asked=rng.random() < 0.6)
    options = rng.choice(CPU_OPTIONS)
    gates: dict[str, bool] = {
        "CPUManagerPolicyAlphaOptions": True,
        "TopologyManagerPolicyAlphaOptions": True,
    }
    if release.name == "1.36" and rng.random() < 0.5:
        gates["PodLevelResourceManagers"] = True
    topology_options = {"prefer-closest-numa-nodes": "true"} if rng.random() < 0.2 else None
    fields: dict[str, Any] = {
        "cpu_manager_policy": rng.choice(["static", "static", "static", "none"]),
        "memory_manager_policy": rng.choice(["Static", "Static", "None"]),
        "topology_manager_policy": rng.choice(POLICIES),
        "topology_manager_scope": rng.choice(["container", "pod"]),
        "topology_manager_policy_options": topology_options,
        "kube_reserved": {"memory": "1Gi"},
        "eviction_hard": {},
        "reserved_system_cpus": "0",
        "feature_gates": gates,
        "max_pods": rng.choice([4, 110]),
    }
    if fields["cpu_manager_policy"] == "static" and options:
        fields["cpu_manager_policy_options"] = dict.fromkeys(options, "true")
    if fields["memory_manager_policy"] == "Static":
        reserved = ReservedMemory(0, {"memory": Quantity.parse("1Gi")})
        fields["reserved_memory"] = (reserved,)
    return Setup(KubeletConfig(**fields), on, devices(rng, len(on.nodes)), behaviour)


def devices(rng: random.Random, numa: int) -> dict[str, tuple[Device, ...]]:
    """GPUs on NUMA nodes, in the order of these or mixed; cards on several, or on none."""
    gpus = [Device(f"g{at}", (at * numa // 4,), _health(rng, 0.05)) for at in range(4)]
    if rng.random() < 0.3:
        gpus = [replace(each, numa_nodes=(rng.randrange(numa),)) for each in gpus]
    cards = [
        Device(f"n{at}", tuple(rng.sample(range(numa), rng.randint(0, min(2, numa)))))
        for at in range(3)
    ]
    return {GPU: tuple(gpus), NIC: tuple(cards)}


def _health(rng: random.Random, share: float) -> Health:
    return Health.UNHEALTHY if rng.random() < share else Health.HEALTHY


def states(rng: random.Random, of: Setup, count: int) -> Iterator[Node]:
    """Nodes of one setup after histories of their own."""
    first = of.start()
    if first is None:
        return
    for number in range(count):
        node = first
        if rng.random() < 0.2:
            # The same devices under other ids, some of them ill.
            node = node.devices_reported(
                {
                    name: [replace(d, device_id=f"{number}-{d.device_id}") for d in listed]
                    for name, listed in of.devices.items()
                }
            )
        labels = {"zone": rng.choice("ab")}
        identity = NodeIdentity(name=f"n{number}", labels=labels, has_all_labels=True)
        roster = replace(node.roster, rules=replace(node.rules, identity=identity))
        yield _history(rng, of, replace(node, roster=roster), number)


def _history(rng: random.Random, of: Setup, node: Node, number: int) -> Node:
    for step in range(rng.randint(0, 8)):
        uid = f"{number}-{step}"
        happens = rng.random()
        if happens < 0.75 or not node.snapshot.pods:
            node, decision = node.admit(replace(shape(rng), uid=uid, name=uid))
            if decision.admitted and rng.random() < 0.8:
                node = node.pod_started(uid)
        elif happens < 0.95:
            # What it holds stays until the next admission, which may be the one that is asked.
            node = node.remove(rng.choice(sorted(node.snapshot.pods)))
        else:
            again = node.restart(of.config, of.machine, node.state_files(), of.devices)
            if isinstance(again, Node):
                node = again.sources_ready() if rng.random() < 0.5 else again
    return node


def with_other_uids(of: Node, prefix: str) -> Node:
    """The same node, before whose pods' uids this stands; what may be used again is left out."""

    def named(by_uid: Mapping[str, Any]) -> dict[str, Any]:
        return {f"{prefix}{uid}": each for uid, each in by_uid.items()}

    snapshot = of.snapshot
    pods = {uid: replace(pod, uid=f"{prefix}{uid}") for uid, pod in snapshot.pods.items()}
    return of.at(
        replace(
            snapshot,
            pods=named(pods),
            cpu=replace(
                snapshot.cpu,
                exclusive=named(snapshot.cpu.exclusive),
                pods=named(snapshot.cpu.pods),
            ),
            memory=replace(
                snapshot.memory,
                blocks=named(snapshot.memory.blocks),
                pods=named(snapshot.memory.pods),
            ),
            device=replace(snapshot.device, records=named(snapshot.device.records)),
            affinities=named(snapshot.affinities),
        )
    )


def shape(rng: random.Random) -> Pod:
    """A pod of one to three containers, Guaranteed as a rule."""
    is_guaranteed = rng.random() < 0.85
    count = rng.choice([1, 1, 1, 2, 2, 3])
    containers = [
        _container(rng, f"c{at}", ContainerKind.APP, is_guaranteed) for at in range(count)
    ]
    early = []
    if rng.random() < 0.3:
        kinds = rng.choices([ContainerKind.INIT, ContainerKind.SIDECAR], k=rng.randint(1, 2))
        early = [_container(rng, f"i{at}", kind, is_guaranteed) for at, kind in enumerate(kinds)]
    every = (*early, *containers)
    pod = Pod(
        uid="u",
        name="u",
        init_containers=tuple(early),
        app_containers=tuple(containers),
        qos_class=pod_demand.qos_class(every),
        constraints=_constraints(rng),
        priority=2_000_000_001 if rng.random() < 0.05 else rng.choice([None, 0, 5]),
    )
    if rng.random() < 0.15:
        asked = _amounts(rng, rng.choice(["2", "3", "4"]))
        asked = {name: each for name, each in asked.items() if "/" not in name}
        pod = replace(pod, pod_level=PodLevelResources(asked, asked, QosClass.GUARANTEED))
    return pod


def _constraints(rng: random.Random) -> NodeConstraints | None:
    chance = rng.random()
    if chance < 0.7:
        return UNCONSTRAINED
    if chance < 0.8:
        return None
    if chance < 0.9:
        return NodeConstraints(selector={"zone": "a"})
    return NodeConstraints(ports=(HostPort(80),))


def _container(
    rng: random.Random, name: str, kind: ContainerKind, is_guaranteed: bool
) -> Container:
    asked = _amounts(rng, rng.choice(["1", "1", "2", "2", "3", "4", "6", "500m"]))
    if is_guaranteed:
        return Container(name, kind, asked, asked)
    extended = {each: asked[each] for each in asked if "/" in each}
    return Container(name, kind, asked, extended)


def _amounts(rng: random.Random, cpus: str) -> Resources:
    sizes = ["512Mi", "1Gi", "2Gi", "3Gi", "5Gi", "7Gi", "9Gi"]
    texts = {"cpu": cpus, "memory": rng.choice(sizes)}
    if rng.random() < 0.3:
        texts[GPU] = rng.choice(["1", "1", "2", "3", "4"])
    if rng.random() < 0.1:
        texts[NIC] = "1"
    if rng.random() < 0.1:
        texts["hugepages-1Gi"] = "1Gi"
    return {name: Quantity.parse(text) for name, text in texts.items()}
