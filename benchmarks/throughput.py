"""Decisions a second while pods come and go: two NUMA nodes, 128 CPUs, all managers, no files.

    PYTHONPATH=tests python -m benchmarks.throughput                  this checkout
    PYTHONPATH=tests python -m benchmarks.throughput --against DIR    beside another one, in turns

A step admits a random pod and starts it, or, if it is rejected, removes one at random. Each turn
has pods of its own, so no turn repeats another one; both checkouts are given the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final

from benchmarks import page, reference_cells, turns

STEPS: Final = 1000
POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")


def measured(turn: int) -> dict[str, Any]:
    """Decisions a second of processor time, and a digest of the files at the end, of each case."""
    result = {}
    for policy in POLICIES:
        for is_asked in (False, True):
            case = f"{policy}, predicates {'on' if is_asked else 'off'}"
            result[case] = _run(policy, is_asked, f"{turn} {case}")
    return result


def _run(policy: str, is_asked: bool, seed: str) -> dict[str, Any]:
    rng = random.Random(seed)
    pods = [_pod(rng, f"{seed} {number}") for number in range(STEPS)]
    node = _started(policy, is_asked)
    begin = process_time()
    for pod in pods:
        node, decision = node.admit(pod)
        if decision.admitted:
            node = node.pod_started(pod.uid)
        else:
            node = node.remove(rng.choice(list(node.snapshot.pods)))
    seconds = process_time() - begin
    texts = json.dumps(node.state_files(), sort_keys=True)
    return {
        "rate": STEPS / seconds,
        "digest": hashlib.sha256(texts.encode()).hexdigest(),
    }


def _pod(rng: random.Random, uid: str) -> Any:
    pages = rng.choice((None, None, "hugepages-2Mi", "hugepages-1Gi"))
    amounts = {
        "cpu": str(rng.choice((1, 1, 2, 2, 3, 4, 6, 12))),
        "memory": f"{rng.randint(512, 24 * 1024)}Mi",
        **({} if pages is None else {pages: "1Gi"}),
        **rng.choice(({}, {}, {}, {reference_cells.DEVICE: "1"}, {reference_cells.DEVICE: "2"})),
    }
    return reference_cells.guaranteed_pod(uid, amounts)


def _started(policy: str, is_asked: bool) -> Any:
    of = reference_cells.module
    quantity = of("model.quantity").Quantity
    config = of("config.kubelet_config")
    inventory = of("managers.device.inventory")
    return of("node.node").start(
        config.KubeletConfig(
            cpu_manager_policy="static",
            reserved_system_cpus="0",
            memory_manager_policy="Static",
            topology_manager_policy=policy,
            kube_reserved={"memory": "1Gi"},
            eviction_hard={},
            reserved_memory=(config.ReservedMemory(0, {"memory": quantity.parse("1Gi")}),),
        ),
        _machine(),
        devices={
            reference_cells.DEVICE: [
                inventory.Device(f"device-{node}-{at}", (node,))
                for node in range(2)
                for at in range(4)
            ]
        },
        behaviour=replace(of("config.behaviour").EXACT, predicates_are_asked=is_asked),
    )


def _machine() -> Any:
    info = reference_cells.module("model.machine_info")
    gib, cores = reference_cells.GIB, 32
    pages = {2048: 4096, 1048576: 8}
    return info.MachineInfo(
        nodes=tuple(
            info.NumaNodeInfo(
                node_id=node,
                memory_bytes=64 * gib,
                hugepages=tuple(info.HugePages(size, count) for size, count in pages.items()),
                cores=tuple(
                    info.CoreInfo(node, core, (core, core + 2 * cores))
                    for core in range(node * cores, (node + 1) * cores)
                ),
                distances=(10, 21) if node == 0 else (21, 10),
            )
            for node in range(2)
        ),
        memory_capacity_bytes=128 * gib,
        cpu_count=4 * cores,
        socket_count=2,
        hugepages=tuple(info.HugePages(size, 2 * count) for size, count in pages.items()),
    )


def against(other: Path) -> str:
    """How much faster this checkout is than another one, in each case."""
    runs = [(_turn(other, turn), _turn(turns.OWN, turn)) for turn in range(turns.TURNS)]
    rows = []
    for case in runs[0][0]:
        pairs = [(theirs[case], ours[case]) for theirs, ours in runs]
        rows.append(
            [
                case,
                f"{max(theirs['rate'] for theirs, _ in pairs):,.0f}",
                f"{max(ours['rate'] for _, ours in pairs):,.0f}",
                turns.ratio(ours["rate"] / theirs["rate"] for theirs, ours in pairs),
                turns.sameness((theirs["digest"], ours["digest"]) for theirs, ours in pairs),
            ]
        )
    heads = ["Case", "Other, 1/s", "Ours, 1/s", f"Ratio, median of {turns.TURNS} turns", "Files"]
    return page.table(heads, rows)


def alone() -> str:
    """The section of the page."""
    runs = [_turn(turns.OWN, turn) for turn in range(turns.TURNS)]
    rates = {case: [run[case]["rate"] for run in runs] for case in runs[0]}
    rows = [[case, f"{median(each):,.0f}", f"{max(each):,.0f}"] for case, each in rates.items()]
    heads = ["Topology policy", "Decisions a second, median", "Most"]
    return f"{page.machine()}. Load at the end {page.load()}.\n\n{page.table(heads, rows)}"


def _turn(checkout: Path, turn: int) -> Mapping[str, Any]:
    return turns.in_process(checkout, "throughput", "--turn", str(turn))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write it into docs/benchmarks.md")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout")
    parser.add_argument("--turn", type=int, metavar="N", help="one turn alone, as JSON")
    given = parser.parse_args(arguments)
    if given.turn is not None:
        print(json.dumps(measured(given.turn)))
    elif given.against is not None:
        print(against(given.against))
    else:
        text = alone()
        print(text)
        if given.write:
            page.write_section("throughput", text)


if __name__ == "__main__":
    main()
