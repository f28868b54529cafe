"""Pod objects as clients post them."""

from __future__ import annotations

from typing import Any


def pod(name: str, memory: str = "4Gi", cpu: str = "2", **metadata: Any) -> dict[str, Any]:
    """A Guaranteed pod of one container that sleeps."""
    asked = {"cpu": cpu, "memory": memory}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "command": ["sleep", "1000"],
                    "resources": {"requests": asked, "limits": asked},
                }
            ]
        },
    }
