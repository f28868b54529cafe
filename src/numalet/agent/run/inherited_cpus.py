"""Keeps a decision within CPUs: those of the inherited affinity, or of the NUMA node of a rank.

Slurm, taskset, a launcher of MPI or a container have chosen these CPUs. For the decision, a
container that does not exist holds the other free CPUs. The node state that is stored has them
free again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from numalet.agent.controller.run_holders import CONTAINER
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import input_error
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Location
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node
from numalet.insight.output.run_document import OTHER_NUMA_NODES, OUTSIDE_AFFINITY

RANKS: Final = (
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    # Slurm sets it in a batch script too, so a launcher in the script goes first.
    "SLURM_LOCALID",
    # The rank in the whole job, from launchers without a local one.
    "PMI_RANK",
    "PMIX_RANK",
)
"""Variables with the number of a process on its machine, of Open MPI, MVAPICH, MPICH and Intel MPI,
Cray PALS and Slurm."""

WITHHELD: Final = ContainerKey("outside", CONTAINER)


class AllowedCpus(Value):
    """``others`` names the CPUs that are not allowed, in explanations."""

    cpus: CpuSet
    others: str = OUTSIDE_AFFINITY


def allowed(machine: MachineInfo, *, any_cpu: bool, per_rank: bool) -> AllowedCpus | None:
    """Return the CPUs that a command may get, None for all. Raises ``BadInput``."""
    inherited = frozenset(machine.cpu_ids if any_cpu else os.sched_getaffinity(0))
    if not per_rank:
        return None if any_cpu else AllowedCpus(inherited)
    return AllowedCpus(of_rank(machine, inherited, rank(os.environ)), OTHER_NUMA_NODES)


def rank(env: Mapping[str, str]) -> int:
    """Return the number of this process on this machine. Raises ``BadInput`` without a launcher."""
    for name in RANKS:
        if env.get(name, "").isdecimal():
            return int(env[name])
    raise input_error.NotFound(
        "no launcher has set the number of this process; start it with mpirun or srun",
        expected=f"one of the variables {', '.join(RANKS)}",
        where=Location("--per-rank"),
    ).bad_input()


def of_rank(machine: MachineInfo, inherited: CpuSet, number: int) -> CpuSet:
    """Return the CPUs of one NUMA node; ranks go around the nodes that have inherited CPUs."""
    nodes = sorted(machine.nodes, key=lambda node: node.node_id)
    on_node = [
        inherited.intersection(cpu for core in node.cores for cpu in core.threads) for node in nodes
    ]
    usable = [cpus for cpus in on_node if cpus]
    return usable[number % len(usable)] if usable else inherited


def withheld(node: Node, within: AllowedCpus | None) -> Node:
    """Return the node with all other free CPUs taken; the reserved ones stay in the pool."""
    policy, snapshot = node.roster.static_cpus, node.snapshot
    if within is None or policy is None:
        return node
    outside = snapshot.cpu.default & policy.allocatable - within.cpus
    if not outside:
        return node
    mask = cpu_mask.of_set(outside)
    ledger = snapshot.cpu.with_cpus(WITHHELD, outside, mask, snapshot.cpu.reusable)
    return _with(node.assume_running([WITHHELD]), ledger)


def returned(node: Node) -> Node:
    """Return the node after ``withheld`` and a decision, with the CPUs in the pool again."""
    snapshot = node.snapshot
    if WITHHELD not in snapshot.assumed:
        return node
    kept = node.at(replace(snapshot, assumed=snapshot.assumed - {WITHHELD}))
    return _with(kept, snapshot.cpu.without(WITHHELD))


def _with(node: Node, ledger: CpuLedger) -> Node:
    return node.at(replace(node.snapshot, cpu=ledger))
