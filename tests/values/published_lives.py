"""Nodes in the middle of a random life: every release, policy and option, and leftovers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from numalet.core.cluster import published
from numalet.core.cluster.published_state import PublishedState
from numalet.core.config.behaviour import EXACT, NATIVE
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.releases import table
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import (
    Container,
    ContainerKey,
    ContainerKind,
    Pod,
    PodLevelResources,
    QosClass,
)
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node

GPU, NIC = "nvidia.com/gpu", "example.com/nic"
GIB = 1 << 30
CPU_OPTIONS: tuple[Mapping[str, str] | None, ...] = (
    None,
    None,
    {"full-pcpus-only": "true"},
    {"distribute-cpus-across-numa": "true"},
    {"align-by-socket": "true"},
    {"distribute-cpus-across-cores": "true"},
    {"strict-cpu-reservation": "true"},
    {"prefer-align-cpus-by-uncorecache": "true"},
)
NODE_IDS = ((0, 1), (0, 1, 2), (0, 2, 5), (0, 1, 2, 3))


@dataclass(frozen=True)
class Life:
    """A node, the configuration it was started with, and the chance by which its life goes on."""

    node: Node
    config: KubeletConfig
    rng: random.Random
    story: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Life: {'; '.join(self.story)}>"


def life(rng: random.Random) -> Life:
    """A node after up to 25 events."""
    machine = _machine(rng)
    release = rng.choice((*table.RELEASES, table.NEWEST, table.NEWEST))
    behaviour = replace(rng.choice((EXACT, EXACT, EXACT, NATIVE)), release=release)
    config = _config(rng, places_whole=release is table.NEWEST and rng.random() < 0.7)
    devices = _devices(rng, machine)
    node = nodes.start(config, machine, devices=devices, behaviour=behaviour)
    if not isinstance(node, Node):
        raise TypeError(node)
    story = [f"{behaviour.release.name} {behaviour.mode.value} {config}"]
    for at in range(rng.randint(0, 25)):
        node, what = _event(node, config, machine, devices, rng, at)
        story.append(what)
    return Life(node, config, rng, tuple(story))


def _event(
    node: Node,
    config: KubeletConfig,
    machine: MachineInfo,
    devices: dict[str, list[Device]],
    rng: random.Random,
    at: int,
) -> tuple[Node, str]:
    pods = list(node.snapshot.pods)
    match rng.choice(("admit",) * 12 + ("remove",) * 5 + ("restart", "ready", "plugin", "keys")):
        case "remove" if pods:
            return node.remove(uid := rng.choice(pods)), f"remove {uid}"
        case "restart":
            after = node.restart(config, machine, node.state_files(), devices if at % 2 else {})
            if not isinstance(after, Node):
                return node, "a restart that would fail"
            # Some pods are seen again at once, others after the sources are ready.
            for each in rng.sample(list(node.snapshot.pods.values()), len(pods) // 2):
                after, _ = after.admit(each)
            return after, "restart"
        case "ready":
            return node.sources_ready(), "sources ready"
        case "plugin":
            return _plugin(node, devices, rng)
        case "keys" if node.leftovers():
            return node.assume_running([rng.choice(node.leftovers())]), "a leftover runs"
        case _:
            arriving = pod(rng, at)
            node, decision = node.admit(arriving)
            if decision.admitted and rng.random() < 0.8:
                node = node.pod_started(arriving.uid)
            return node, f"{arriving.uid} {'admitted' if decision.admitted else 'rejected'}"


def _plugin(node: Node, devices: dict[str, list[Device]], rng: random.Random) -> tuple[Node, str]:
    resource = rng.choice((GPU, NIC))
    match rng.choice(("sick", "stopped", "expired", "fewer", "all")):
        case "sick":
            listed = [
                replace(each, health=rng.choice((Health.HEALTHY, Health.UNHEALTHY)))
                for each in devices[resource]
            ]
            return node.devices_reported({resource: listed}), f"{resource}: sick ones"
        case "stopped":
            return node.plugin_stopped(resource), f"{resource}: stopped"
        case "expired":
            return node.resource_expired(resource), f"{resource}: expired"
        case "fewer":
            return node.devices_reported({resource: devices[resource][1:]}), f"{resource}: fewer"
        case _:
            return node.devices_reported({resource: devices[resource]}), f"{resource}: all"


def pod(rng: random.Random, at: int) -> Pod:
    """A pod of one to four containers of every kind."""
    early = [
        rng.choice((ContainerKind.INIT, ContainerKind.SIDECAR)) for _ in range(rng.randint(0, 2))
    ]
    kinds = [*early, *[ContainerKind.APP] * rng.randint(1, 2)]
    containers = [
        _container(rng, f"{rng.choice('abcxyz')}{i}", kind) for i, kind in enumerate(kinds)
    ]
    is_guaranteed = rng.random() < 0.85
    uid = f"{rng.getrandbits(32):08x}-{at:04}"
    made = Pod(
        uid,
        f"pod-{at}",
        init_containers=tuple(each for each in containers if each.kind is not ContainerKind.APP),
        app_containers=tuple(each for each in containers if each.kind is ContainerKind.APP),
        qos_class=QosClass.GUARANTEED if is_guaranteed else QosClass.BURSTABLE,
        priority=rng.choice((None, 0, 0, 2_000_000_000)),
        constraints=UNCONSTRAINED,
    )
    if rng.random() < 0.25:
        whole = _amounts({"cpu": rng.choice("2468"), "memory": f"{rng.randint(1, 12)}Gi"})
        return replace(made, pod_level=PodLevelResources(whole, whole, QosClass.GUARANTEED))
    return made


def _container(rng: random.Random, name: str, kind: ContainerKind) -> Container:
    asked = {
        "cpu": rng.choice(("500m", "1", "2", "2", "3", "4", "6")),
        "memory": rng.choice(("256Mi", "1Gi", "3Gi", "5Gi", "11Gi")),
    }
    asked |= rng.choice(({}, {}, {GPU: "1"}, {GPU: "2"}, {NIC: "1"}, {GPU: "1", NIC: "1"}))
    asked |= rng.choice(({}, {}, {}, {"hugepages-2Mi": "256Mi"}))
    amounts = _amounts(asked)
    return Container(name, kind, amounts, amounts)


def _amounts(texts: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in texts.items()}


def _machine(rng: random.Random) -> MachineInfo:
    ids = rng.choice(NODE_IDS)
    pages = (HugePages(2048, 512),)
    listed = tuple(
        NumaNodeInfo(
            node_id=node_id,
            memory_bytes=rng.choice((8, 8, 12)) * GIB,
            hugepages=pages,
            cores=tuple(
                CoreInfo(at // 2, 4 * at + i, (4 * at + i, 4 * at + i + 64), at) for i in range(4)
            ),
            distances=tuple(10 if other == at else 20 + at for other in range(len(ids))),
        )
        for at, node_id in enumerate(ids)
    )
    return MachineInfo(
        nodes=listed,
        memory_capacity_bytes=sum(each.memory_bytes for each in listed),
        cpu_count=8 * len(ids),
        socket_count=(len(ids) + 1) // 2,
        hugepages=(HugePages(2048, 512 * len(ids)),),
        physical_core_count=4 * len(ids),
    )


def _config(rng: random.Random, *, places_whole: bool) -> KubeletConfig:
    policy = rng.choice(("none", "best-effort", "restricted", "single-numa-node"))
    options = rng.choice(CPU_OPTIONS)
    if policy == "single-numa-node" and options == {"align-by-socket": "true"}:
        options = None  # The kubelet refuses the two together.
    is_static = rng.random() < 0.85
    has_memory = rng.random() < 0.85
    gates = {"PodLevelResourceManagers": True} if places_whole else {}
    return KubeletConfig(
        cpu_manager_policy="static" if is_static else "none",
        cpu_manager_policy_options=options if is_static else None,
        reserved_system_cpus="0,64",
        memory_manager_policy="Static" if has_memory else "None",
        topology_manager_policy=policy,
        topology_manager_policy_options=rng.choice((None, {"prefer-closest-numa-nodes": "true"})),
        topology_manager_scope=rng.choice(("container", "pod")),
        kube_reserved={"memory": "924Mi"},
        uses_default_eviction=True,
        reserved_memory=(ReservedMemory(0, _amounts({"memory": "1Gi"})),) if has_memory else (),
        feature_gates={"CPUManagerPolicyAlphaOptions": True, **gates},
        max_pods=rng.choice((6, 110)),
        fail_swap_on=False,
    )


def _devices(rng: random.Random, machine: MachineInfo) -> dict[str, list[Device]]:
    ids = machine.node_ids
    gpus = [Device(f"GPU-{rng.getrandbits(24):06x}", (rng.choice(ids),)) for _ in range(6)]
    gpus.append(Device("GPU-both", (ids[0], ids[1])))
    nics = [Device("nic-b", (ids[0],)), Device("nic-a", (ids[-1],)), Device("nic-c")]
    return {GPU: gpus, NIC: nics}


def container_keys(node: Node) -> list[ContainerKey]:
    """The containers of the active pods."""
    return [
        ContainerKey(uid, each.name)
        for uid, pod in node.snapshot.pods.items()
        for each in pod.containers()
    ]


def shown(node: Node) -> PublishedState:
    """What the node publishes; containers of pods that are unknown have other names."""
    state = published.of_node(node)
    return replace(
        state,
        pods={
            uid: each
            if uid in node.snapshot.pods
            else replace(
                each,
                containers=tuple(replace(part, container_hash="") for part in each.containers),
            )
            for uid, each in state.pods.items()
        },
    )
