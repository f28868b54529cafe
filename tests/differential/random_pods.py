"""Random pods, as manifests: Guaranteed as a rule, with init containers, sidecars and devices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

_CPUS: Final = ("1", "1", "2", "2", "3", "4", "6", "500m", "1500m")
_MEMORY: Final = ("256Mi", "512Mi", "1Gi", "2Gi", "3Gi", "5Gi", "9Gi", "1.5Gi")


def pod(rng: random.Random, uid: str, devices: Sequence[str]) -> dict[str, Any]:
    """Return a manifest that passes the API server's validation.

    Args:
        rng: the source of chance.
        uid: also the pod's name.
        devices: the resource names of device plugins on the node.
    """
    quality = rng.choices(["Guaranteed", "Burstable", "BestEffort"], weights=[8, 2, 1])[0]
    spec: dict[str, Any] = {
        "containers": [
            _container(rng, f"c{at}", quality, devices) for at in range(rng.choice([1, 1, 2, 3]))
        ]
    }
    if rng.random() < 0.35:
        spec["initContainers"] = [
            _early(rng, f"i{at}", quality, devices) for at in range(rng.choice([1, 1, 2, 3]))
        ]
    if quality != "BestEffort" and rng.random() < 0.2:
        spec["resources"] = _whole(rng, spec)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": uid, "namespace": "default", "uid": uid},
        "spec": spec,
    }


def _early(rng: random.Random, name: str, quality: str, devices: Sequence[str]) -> dict[str, Any]:
    container = _container(rng, name, quality, devices)
    if rng.random() < 0.4:
        container["restartPolicy"] = "Always"
    return container


def _container(
    rng: random.Random, name: str, quality: str, devices: Sequence[str]
) -> dict[str, Any]:
    resources: dict[str, dict[str, str]] = {}
    if quality != "BestEffort":
        amounts = {"cpu": rng.choice(_CPUS), "memory": rng.choice(_MEMORY)}
        if quality == "Burstable":
            resources["requests"] = {
                key: amount for key, amount in amounts.items() if rng.random() < 0.7
            }
        else:
            resources["limits"] = amounts
            if rng.random() < 0.3:
                resources["requests"] = dict(amounts)
        if rng.random() < 0.1:
            size = rng.choice(["2Mi", "1Gi"])
            amount = {"2Mi": rng.choice(["64Mi", "256Mi"]), "1Gi": "1Gi"}[size]
            resources.setdefault("limits", {})[f"hugepages-{size}"] = amount
            resources.setdefault("requests", {})[f"hugepages-{size}"] = amount
            resources["requests"].setdefault("memory", amounts["memory"])
    if devices and rng.random() < 0.4:
        amount = rng.choice(["1", "1", "2", "3"])
        resources.setdefault("limits", {})[rng.choice(devices)] = amount
    return {"name": name, "image": "example.com/app:1", "resources": resources}


def _whole(rng: random.Random, spec: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return spec.resources that is large enough for all containers together.

    Some containers lose their own resources, so that they share the pod's.
    """
    every = [*spec["containers"], *spec.get("initContainers", [])]
    for container in every:
        if rng.random() < 0.4:
            container["resources"] = {}
        # Huge pages of containers would have to be in the budget too.
        for part in container["resources"].values():
            for key in [key for key in part if key.startswith("hugepages-")]:
                del part[key]
    cpus = sum(_milli(container) for container in every)
    amounts = {
        "cpu": f"{-(-cpus // 1000) + rng.choice([0, 1, 2]) or 1}",
        "memory": f"{sum(_mebibytes(container) for container in every) + 512}Mi",
    }
    return {"limits": amounts} if rng.random() < 0.7 else {"limits": amounts, "requests": amounts}


def _largest(container: dict[str, Any], key: str) -> str | None:
    resources = container["resources"]
    for part in ("limits", "requests"):
        if key in resources.get(part, {}):
            amount: str = resources[part][key]
            return amount
    return None


def _milli(container: dict[str, Any]) -> int:
    text = _largest(container, "cpu")
    if text is None:
        return 0
    return int(text.removesuffix("m")) if text.endswith("m") else 1000 * int(text)


def _mebibytes(container: dict[str, Any]) -> int:
    text = _largest(container, "memory")
    if text is None:
        return 0
    if text.endswith("Gi"):
        return int(1024 * float(text.removesuffix("Gi")))
    return int(text.removesuffix("Mi"))
