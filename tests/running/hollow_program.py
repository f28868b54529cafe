"""``numalet hollow`` in a process of its own, and what that process costs."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from running import process_costs
from running.server_programs import ServerProgram

GPU: Final = "example.com/gpu"
_GPUS: Final = f"{GPU}=" + ",".join(f"g{at}@{at // 4}" for at in range(8))
_REGISTERED: Final = "hollow nodes are registered"
_PATIENCE_SECONDS: Final = 900.0
FIVE_WAYS: Final = (
    ("single-numa-node", "pod"),
    ("single-numa-node", "container"),
    ("restricted", "container"),
    ("best-effort", "pod"),
    ("none", "container"),
)


class HollowProgram(ServerProgram):
    """The process of a fleet of hollow nodes."""

    def memory_bytes(self) -> int:
        """The largest part of it that was in memory so far."""
        return process_costs.most_memory_bytes(self.pid)

    def cpu_seconds(self) -> float:
        """CPU time that it has used."""
        return process_costs.cpu_seconds(self.pid)


@contextlib.asynccontextmanager
async def hollow_nodes(
    kubeconfig: Path,
    folder: Path,
    nodes: int,
    *options: str,
    ways: Sequence[tuple[str, str]] = FIVE_WAYS,
) -> AsyncIterator[HollowProgram]:
    """So many registered nodes of a kind for each policy and scope, until the end.

    Each has 2 NUMA nodes and 8 GPUs.
    """
    configs = [
        each for at, way in enumerate(ways) for each in ("-c", str(_written(folder, at, way)))
    ]
    command = [
        *(sys.executable, "-m", "numalet", "hollow", "--nodes", str(nodes)),
        *("-m", "2n16c2t", "--memory-per-node", "128Gi", "--device", _GPUS),
        *configs,
        *("--kubeconfig", str(kubeconfig), *options),
    ]
    log = folder / "hollow.log"
    program = HollowProgram("numalet hollow", command, log, lambda: _REGISTERED in log.read_text())
    program.launch()
    try:
        await asyncio.to_thread(program.wait_ready, _PATIENCE_SECONDS)
        yield program
    finally:
        await asyncio.to_thread(program.stop)


def _written(folder: Path, at: int, way: tuple[str, str]) -> Path:
    """A configuration file: static managers, and one policy and scope."""
    policy, scope = way
    document: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static",
        "topologyManagerPolicy": policy,
        "topologyManagerScope": scope,
        "reservedSystemCPUs": "0",
        "kubeReserved": {"memory": "1Gi"},
        "evictionHard": {"memory.available": "100Mi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1124Mi"}}],
    }
    path = folder / f"kubelet-{at}.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path
