"""The cells in which one admission was measured with the kubelet's managers, and one round of each.

One call of the topology manager's admission for one Guaranteed pod of one container: hints of all
managers, merge, allocation, and the state files written to a file system in memory. The managers
alone: no predicates. A machine of n NUMA nodes has 128Gi, 32 CPUs of 16 cores, 16 pages of 1Gi and
8 devices on node 0, and half of each on every other one. Policy best-effort, scope container.

This file runs on other checkouts too, also on those from before the core had a room of its own.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final

GIB: Final = 1 << 30
DEVICE: Final = "example.com/device"
_WARM_UP: Final = 5
_SHARED_MEMORY: Final = Path("/dev/shm")
IN_MEMORY: Final = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
"""Where files are in memory; None for the usual place of temporary files."""
_HAS_CORE: Final = importlib.util.find_spec("numalet.core") is not None


@dataclass(frozen=True, slots=True)
class ReferenceCell:
    """One cell: ``resources`` are memory, CPUs, pages of 1Gi, devices, as many as it says."""

    nodes: int
    resources: int
    is_fragmented: bool = False

    @property
    def name(self) -> str:
        """As ``2 fragmented r=3``."""
        state = "fragmented" if self.is_fragmented else "empty"
        return f"{self.nodes} {state} r={self.resources}"


@dataclass(frozen=True, slots=True)
class ReferenceRound:
    """Seconds of processor time, whether the pod was admitted, and a digest of the files."""

    seconds: float
    is_admitted: bool
    digest: str


CELLS: Final = tuple(
    ReferenceCell(nodes, resources, is_fragmented)
    for is_fragmented in (False, True)
    for nodes in ((1, 2, 4, 6, 8) if is_fragmented else (1, 2, 4, 6, 8, 12, 16))
    for resources in (1, 2, 3, 4)
)

# Milliseconds of processor time of the managers of a kubelet v1.32.10, medians of up to seven runs
# on fresh managers; None where none is recorded.
_OVER: Final = math.inf
KUBELET_MS: Final[Mapping[tuple[int, bool], tuple[float | None, ...]]] = {
    (1, False): (0.17, 0.37, 0.38, 0.42),
    (2, False): (0.20, 0.41, 0.40, 0.48),
    (4, False): (0.24, 0.63, 1.01, 13),
    (6, False): (0.33, 1.75, 60, 4186),
    (8, False): (0.58, 25, 4350, _OVER),
    (12, False): (5.65, 5119, _OVER, _OVER),
    (16, False): (146, _OVER, _OVER, _OVER),
    (1, True): (0.04, 0.09, 0.10, 0.07),
    (2, True): (0.06, 0.33, 0.35, 0.39),
    (4, True): (0.22, 0.51, 0.53, 0.96),
    (6, True): (0.29, 1.34, 12, 535),
    (8, True): (0.54, 14, None, _OVER),
}


def measured(count: int = 40) -> dict[str, Any]:
    """Median seconds, the last decision and the digests of the files of each cell, by its name."""
    result = {}
    for cell in CELLS:
        rounds(cell, _WARM_UP)
        done = rounds(cell, count)
        result[cell.name] = {
            "seconds": median(each.seconds for each in done),
            "is_admitted": done[-1].is_admitted,
            "digests": [each.digest for each in done],
        }
    return result


def kubelet_ms(cell: ReferenceCell) -> float | None:
    """What the kubelet took; infinite for more than 30 s, None where that is not recorded."""
    return KUBELET_MS[cell.nodes, cell.is_fragmented][cell.resources - 1]


def rounds(cell: ReferenceCell, count: int) -> list[ReferenceRound]:
    """So many rounds, each with a node and a pod of its own, and with amounts that vary."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        return [_round(cell, number, Path(folder)) for number in range(count)]


def prepared(cell: ReferenceCell, number: int) -> tuple[Any, Any]:
    """The node and the pod of one round; no other round has a pod of this uid and size."""
    node = _started(cell)
    more = number % 3
    if cell.is_fragmented:
        uid = f"{number:08x}-0000-4000-8000-000000000000"
        filling = _pod(cell, uid, 24, 100 * 1024 + number, 12, 6)
        node, decision = node.admit(filling)
        if not decision.admitted:
            raise AssertionError(decision)
        node = node.pod_started(filling.uid).release_stale()
    amounts = (2 + 2 * more, (2 + more) * 1024 + number, 1, 1)
    if cell.is_fragmented:
        amounts = (20, 90 * 1024 + number, 10, 5)
    return node, _pod(cell, f"{number:08x}-0000-4000-8000-ffffffffffff", *amounts)


def _round(cell: ReferenceCell, number: int, folder: Path) -> ReferenceRound:
    files = module("files.state_directory", "io", "adapters")
    node, pod = prepared(cell, number)
    files.StateDirectory(folder, {}).write(node.state_files())
    directory = files.read(folder)
    begin = process_time()
    after, decision = node.admit(pod)
    directory.write(after.state_files())
    seconds = process_time() - begin
    written = b"\0".join(each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file())
    return ReferenceRound(seconds, decision.admitted, hashlib.sha256(written).hexdigest())


def module(name: str, room: str = "core", before: str = "") -> Any:
    """A module of this checkout; ``before`` is what the room was called in earlier ones."""
    parts = ("numalet", room if _HAS_CORE else before, name)
    return importlib.import_module(".".join(filter(None, parts)))


def _started(cell: ReferenceCell) -> Any:
    inventory = module("managers.device.inventory")
    behaviours = module("config.behaviour")
    devices = [
        inventory.Device(f"device-{node}-{at}", (node,))
        for node in range(cell.nodes)
        for at in range(8 if node == 0 else 4)
    ]
    return module("node.node").start(
        _config(cell),
        _machine(cell.nodes),
        devices={DEVICE: devices} if cell.resources > 3 else {},
        behaviour=replace(behaviours.EXACT, predicates_are_asked=False),
    )


def _config(cell: ReferenceCell) -> Any:
    config = module("config.kubelet_config")
    memory = {"memory": module("model.quantity").Quantity.parse("512Mi")}
    static: dict[str, Any] = {}
    if cell.resources > 1:
        static = {"cpu_manager_policy": "static", "reserved_system_cpus": "0"}
    if cell.nodes > 8:
        limit = {"max-allowable-numa-nodes": str(cell.nodes)}
        static["topology_manager_policy_options"] = limit
    return config.KubeletConfig(
        memory_manager_policy="Static",
        topology_manager_policy="best-effort",
        kube_reserved={"memory": "512Mi"},
        eviction_hard={},
        reserved_memory=(config.ReservedMemory(0, memory),),
        **static,
    )


def _machine(count: int) -> Any:
    info = module("model.machine_info")
    nodes, cpu, core = [], 0, 0
    for node in range(count):
        half = 1 if node == 0 else 2
        cores = []
        for _ in range(16 // half):
            cores.append(info.CoreInfo(node, core, (cpu, cpu + 1)))
            core, cpu = core + 1, cpu + 2
        nodes.append(
            info.NumaNodeInfo(
                node_id=node,
                memory_bytes=128 * GIB // half,
                hugepages=(info.HugePages(1048576, 16 // half),),
                cores=tuple(cores),
                distances=tuple(10 if other == node else 21 for other in range(count)),
            )
        )
    return info.MachineInfo(
        nodes=tuple(nodes),
        memory_capacity_bytes=64 * GIB * (count + 1),
        cpu_count=cpu,
        socket_count=count,
        hugepages=(info.HugePages(1048576, 8 * (count + 1)),),
    )


def _pod(cell: ReferenceCell, uid: str, cpus: int, mib: int, pages: int, devices: int) -> Any:
    amounts = {"cpu": str(cpus), "memory": f"{mib}Mi"}
    if cell.resources > 2:
        amounts["hugepages-1Gi"] = f"{pages}Gi"
    if cell.resources > 3:
        amounts[DEVICE] = str(devices)
    return guaranteed_pod(uid, amounts)


def guaranteed_pod(uid: str, amounts: Mapping[str, str]) -> Any:
    """A pod of one container that requests these amounts and is limited to them."""
    pods = module("model.pod")
    quantity = module("model.quantity").Quantity
    asked = {name: quantity.parse(amount) for name, amount in amounts.items()}
    container = pods.Container("app", requests=asked, limits=asked)
    return pods.Pod(uid, uid, app_containers=(container,), qos_class=pods.QosClass.GUARANTEED)


if __name__ == "__main__":
    print(json.dumps(measured()))
