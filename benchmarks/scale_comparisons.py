"""Many NUMA nodes, beside the table: long lists, real pods, memory."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from statistics import median
from time import process_time

from benchmarks import page, timing

from numalet.core.hints import merging
from numalet.core.hints.provider import Hint
from numalet.core.model import numa_mask
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.io import devices, machines
from numalet.io.documents.machine import profile_library
from values import node_states
from values.node_shapes import GIB, GPU, Shape
from values.node_states import Life

_PROFILES = ("epyc-nps4", "snc4", "gh200-9n", "uv-24n", "l3-as-numa", "gb200-34n", "gh200-36n")


def long_lists() -> str:
    """The merge of five lists over the 65,535 sets of 16 nodes."""
    masks = list(numa_mask.by_size(range(16)))
    rng = random.Random(16)

    def lists(size_of: Callable[[int], int], keep: float = 1) -> Sequence[list[Hint]]:
        return [
            [
                Hint(mask, mask.bit_count() == size_of(at))
                for mask in masks
                if keep == 1 or (mask.bit_count() > 1 and rng.random() < keep)
            ]
            for at in range(5)
        ]

    given = {
        "complete, all prefer one size": (lists(lambda at: 2), "50"),
        "complete, each prefers another size": (lists(lambda at: at + 1), "50"),
        "half of all sets, one preferred by all": (
            [[*each, Hint(1 << 9, True)] for each in lists(lambda at: 17, 0.5)],
            "50",
        ),
        "half of all sets, no preferred set": (lists(lambda at: 17, 0.5), "1,000"),
        "one set in a hundred, no preferred set": (lists(lambda at: 17, 0.01), "1,000"),
        "one set in a thousand, no preferred set": (lists(lambda at: 17, 0.001), "1,000"),
    }
    rows = []
    for name, (hints, goal) in given.items():
        seconds = []
        for _ in range(5):
            begin = process_time()
            merging.merge(hints, (1 << 16) - 1)
            seconds.append(process_time() - begin)
        rows.append([name, timing.milliseconds(min(seconds)), goal])
    return page.table(["Five lists over 16 nodes", "ms", "Goal"], rows)


def real_pods() -> str:
    """Pods as they are on machines as they are: one GPU, half the machine, fifty small ones."""
    rows = [[name, *_life_of(_profiled(name))] for name in _PROFILES]
    heads = [
        *("Profile", "A GPU (where there are any), CPUs, 64Gi", "Half the machine"),
        *("Each of 50 small", "Refill"),
    ]
    return page.table(heads, rows)


def _profiled(name: str) -> Shape:
    """The machine of a profile; a node of it is as large as its first one with CPUs."""
    text = profile_library.PREFIX + name
    info = machines.open_machine(text).info
    listed = devices.named_devices(text, ())
    gpus = next(iter(listed.values()), ())
    first = next(node for node in info.nodes if node.cores)
    cpus = sum(len(core.threads) for core in first.cores)
    return Shape(name, info, {GPU: gpus}, first.memory_bytes // GIB, cpus)


def _life_of(shape: Shape) -> list[str]:
    node = node_states.empty(Life(shape, "best-effort"))
    with_cpus = sum(1 for each in shape.machine.nodes if each.cores)
    gpus = len(shape.devices[GPU])
    near = max(1, shape.node_cpus // max(1, gpus // with_cpus) - 2)
    one = _asks("gpu", near, 64 if shape.node_gib > 64 else shape.node_gib // 4 * 3, min(1, gpus))
    half = max(1, with_cpus // 2)
    many = _asks("half", shape.node_cpus * half - 4, int(shape.node_gib * half * 0.9), gpus // 2)
    alone = _timed(node, [one])[0]
    halved = _timed(node, [many])[0]
    small, node = _refilled(node, [_asks(f"small-{at}", 1, 2, 0) for at in range(50)])
    for at in range(0, 50, 2):
        node = node.remove(f"small-{at}")
    again, node = _refilled(node, [_asks(f"again-{at}", 1, 3, 0) for at in range(25)])
    return [timing.milliseconds(each) for each in (alone, halved, median(small), median(again))]


def _asks(uid: str, cpus: int, gib: int, gpus: int) -> Pod:
    amounts = {"cpu": str(cpus), "memory": f"{gib}Gi"} | ({GPU: str(gpus)} if gpus else {})
    return node_states.guaranteed(uid, amounts)


def _timed(node: Node, pods: list[Pod]) -> list[float]:
    with timing.written(node) as directory:
        return [timing.admission(node, pod, directory) for pod in pods]


def _refilled(node: Node, pods: list[Pod]) -> tuple[list[float], Node]:
    seconds = []
    for pod in pods:
        seconds += _timed(node, [pod])
        node, decision = node.admit(pod)
        if not decision.admitted:
            raise RuntimeError(decision.rejection)
    return seconds, node


_MEASURES_MEMORY = """
import random, resource
from values import node_states
rng = random.Random(64)
for number in range(4):
    life = node_states.any_life(64, rng, "best-effort")
    node = node_states.fragmented(life, rng)
    for resources in range(1, 6):
        after, _ = node.admit(node_states.pod("newcomer", life, rng, resources))
        after.state_files()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_memory() -> str:
    """The most memory of a process that fills, empties and fills four machines of 64 nodes."""
    told = subprocess.run(
        [sys.executable, "-c", _MEASURES_MEMORY], capture_output=True, text=True, check=True
    )
    peak = round(int(told.stdout) / 1024)
    return (
        "Most memory of a process that fills, empties and fills again four machines of 64 nodes: "
        f"{peak} MiB (goal: 150 MB)."
    )
