"""Random kubelet configurations for a machine, as documents of the scenario format.

Most let a kubelet start. One of ten has a setting at random that may keep it from starting.
"""

from __future__ import annotations

import random
from typing import Any, Final

from differential.random_machines import GIB

TOPOLOGY_POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
CPU_OPTIONS: Final = (
    "full-pcpus-only",
    "distribute-cpus-across-numa",
    "align-by-socket",
    "distribute-cpus-across-cores",
    "strict-cpu-reservation",
    "prefer-align-cpus-by-uncorecache",
)
GATES: Final = {
    "CPUManagerPolicyAlphaOptions": (1.0, True),
    "TopologyManagerPolicyAlphaOptions": (0.3, True),
    "PodLevelResources": (0.2, True),
    "PodLevelResourceManagers": (0.3, True),
    "InPlacePodVerticalScalingExclusiveCPUs": (0.1, True),
    "InPlacePodVerticalScalingExclusiveMemory": (0.05, True),
    "CPUManagerPolicyBetaOptions": (0.05, False),
    "TopologyManagerPolicyBetaOptions": (0.05, False),
    "TopologyManagerPolicyOptions": (0.03, False),
}
"""How often a gate is in the configuration, and its value there."""

RELEASES_OF_GATES: Final = {
    "PodLevelResourceManagers": "1.36",
    "CPUManagerPolicyOptions": "1.22",
}
"""The first release that knows a gate, where older ones are tested."""


def configuration(
    rng: random.Random, machine: dict[str, Any], release: tuple[int, int]
) -> dict[str, Any]:
    """Return the fields of a KubeletConfiguration."""
    config: dict[str, Any] = {
        "cpuManagerPolicy": rng.choice(["static", "static", "static", "none"]),
        "topologyManagerPolicy": rng.choice(TOPOLOGY_POLICIES),
        "topologyManagerScope": rng.choice(["container", "pod"]),
        "featureGates": _gates(rng, release),
        "evictionHard": {"memory.available": "100Mi"},
    }
    _reserve_cpus(rng, config, machine)
    if rng.random() < 0.75:
        _add_static_memory(rng, config, machine)
    if config["cpuManagerPolicy"] == "static" and rng.random() < 0.6:
        config["cpuManagerPolicyOptions"] = _cpu_options(rng)
    if config["topologyManagerPolicy"] != "none" and rng.random() < 0.25:
        config["topologyManagerPolicyOptions"] = _topology_options(rng)
    if rng.random() < 0.1:
        _spoil(rng, config)
    return config


def _gates(rng: random.Random, release: tuple[int, int]) -> dict[str, bool]:
    gates = {}
    for gate, (share, value) in GATES.items():
        since = tuple(map(int, RELEASES_OF_GATES.get(gate, "1.0").split(".")))
        if release >= since and rng.random() < share:
            gates[gate] = value
    return gates


def _reserve_cpus(rng: random.Random, config: dict[str, Any], machine: dict[str, Any]) -> None:
    cpus = sorted(
        cpu for node in machine["numa_nodes"] for core in node["cores"] for cpu in core["threads"]
    )
    if rng.random() < 0.5:
        chosen = rng.sample(cpus, min(len(cpus), rng.choice([1, 1, 2, 3])))
        config["reservedSystemCPUs"] = ",".join(map(str, sorted(chosen)))
    else:
        config["kubeReserved"] = {"cpu": rng.choice(["1", "1500m", "2", "500m", "1200500u"])}


def _add_static_memory(rng: random.Random, config: dict[str, Any], machine: dict[str, Any]) -> None:
    """Reserve 1 GiB: 924 MiB for the kubelet, and the 100 MiB of the eviction threshold."""
    config["memoryManagerPolicy"] = "Static"
    config["kubeReserved"] = {**config.get("kubeReserved", {}), "memory": "924Mi"}
    large = [node["id"] for node in machine["numa_nodes"] if node["memory_bytes"] > 2 * GIB]
    if len(large) > 1 and rng.random() < 0.3:
        first, second = rng.sample(large, 2)
        parts = {first: "700Mi", second: "324Mi"}
    else:
        parts = {rng.choice(large): "1Gi"} if large else {0: "1Gi"}
    config["reservedMemory"] = [
        {"numaNode": number, "limits": {"memory": amount}} for number, amount in parts.items()
    ]


def _cpu_options(rng: random.Random) -> dict[str, str]:
    chosen = rng.sample(CPU_OPTIONS, rng.choice([1, 1, 1, 2, 2, 3]))
    return {option: rng.choices(["true", "false"], weights=[9, 1])[0] for option in chosen}


def _topology_options(rng: random.Random) -> dict[str, str]:
    options = {}
    if rng.random() < 0.8:
        options["prefer-closest-numa-nodes"] = "true"
    if rng.random() < 0.3:
        options["max-allowable-numa-nodes"] = rng.choice(["8", "9", "16"])
    return options


def _spoil(rng: random.Random, config: dict[str, Any]) -> None:
    """Replace one setting by one that may be wrong."""
    config.update(
        rng.choice(
            [
                {"cpuManagerPolicyOptions": {"full-pcpus-only": "yes"}},
                {"cpuManagerPolicyOptions": {"unknown-option": "true"}},
                {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "4"}},
                {"memoryManagerPolicy": "static"},
                {"reservedMemory": [{"numaNode": 7, "limits": {"memory": "1Gi"}}]},
                {"reservedSystemCPUs": "0-1000"},
                {"evictionHard": {"memory.available": "10%"}},
                {"evictionHard": {"memory.available": "lots"}},
                {"kubeReserved": {"cpu": "-1"}},
                {"systemReserved": {"memory": "100Gi"}},
                {"mergeDefaultEvictionSettings": True},
                {"featureGates": {"AllAlpha": True}},
                {"featureGates": {"NoSuchGate": True}},
                {"topologyManagerScope": "node"},
            ]
        )
    )
