"""Random scenarios: pods come and go on a random node, and the kubelet restarts.

The same seed and number give the same scenario for a release.
"""

from __future__ import annotations

import random
from typing import Any, Final

from differential import random_configurations, random_machines, random_pods

_OTHER_OPTIONS: Final = ("cpuManagerPolicyOptions", "topologyManagerPolicyOptions")


def scenario(seed: int, number: int, release: str) -> dict[str, Any]:
    """Return an input without an outcome.

    Args:
        seed: of the whole run.
        number: of the scenario in the run.
        release: the kubelet's, such as ``1.37``; it decides which feature gates exist.
    """
    rng = random.Random(f"{seed}/{number}")
    major, minor = (int(part) for part in release.split("."))
    machine = random_machines.machine(rng)
    config = random_configurations.configuration(rng, machine, (major, minor))
    devices = random_machines.devices(rng, machine) if rng.random() < 0.35 else []
    return {
        "name": f"differential-{seed}-{number}",
        "tags": [],
        "release": release,
        "machine": machine,
        "kubelet_config": config,
        "devices": devices,
        "steps": _steps(rng, config, machine, [each["resource"] for each in devices]),
    }


def _steps(
    rng: random.Random, config: dict[str, Any], machine: dict[str, Any], devices: list[str]
) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    present: list[str] = []
    for number in range(rng.randint(1, 10)):
        chance = rng.random()
        if chance < 0.7 or not present:
            uid = f"pod-{number}"
            steps.append({"admit": random_pods.pod(rng, uid, devices)})
            present.append(uid)
        elif chance < 0.87:
            steps.append({"remove": present.pop(rng.randrange(len(present)))})
        else:
            # Pods that this release has rejected are not in the order that is recorded.
            present = rng.sample(present, rng.randint(len(present) // 2, len(present)))
            steps.append({"restart": _restart(rng, config, machine, present)})
    return steps


def _restart(
    rng: random.Random, config: dict[str, Any], machine: dict[str, Any], present: list[str]
) -> dict[str, Any]:
    restart: dict[str, Any] = {"order": list(present)}
    chance = rng.random()
    if chance < 0.1:
        restart["kubelet_config"] = _other_options(rng, config)
    elif chance < 0.15:
        restart["state_files"] = {rng.choice(["cpu_manager_state", "memory_manager_state"]): ""}
    elif chance < 0.2:
        restart["machine"] = _other_memory(rng, machine)
    return restart


def _other_options(rng: random.Random, config: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration with another policy or without options."""
    changed = {key: value for key, value in config.items() if key not in _OTHER_OPTIONS}
    if rng.random() < 0.5:
        changed["topologyManagerPolicy"] = rng.choice(random_configurations.TOPOLOGY_POLICIES)
    return changed


def _other_memory(rng: random.Random, machine: dict[str, Any]) -> dict[str, Any]:
    """Return the machine with a little more or less memory on one node."""
    nodes = [dict(node) for node in machine["numa_nodes"]]
    node = rng.choice(nodes)
    node["memory_bytes"] = max(0, node["memory_bytes"] + rng.choice([-1, 1]) * 4096)
    return {"numa_nodes": nodes}
