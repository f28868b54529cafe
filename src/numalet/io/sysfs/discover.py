"""A tree -> the machine it was taken from, with warnings about files that make no sense."""

from __future__ import annotations

from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.machine import Machine, ProcFacts
from numalet.io.findings.machines import MachineNothingThere
from numalet.io.sysfs import cpus, kernel_text, nodes
from numalet.io.sysfs.records import TreeSource
from numalet.io.sysfs.trees import Tree


def read_machine(tree: Tree, document: str) -> tuple[Machine, tuple[Finding, ...]]:
    """The machine, and what was odd about its files.

    ``document`` is the name under which the user knows the tree. Raises ``BadInput`` when
    there is neither a CPU nor a NUMA node in it.
    """
    source = TreeSource(tree, document)
    machine = Machine(
        nodes=nodes.read_nodes(source),
        cpus=cpus.read_cpus(source),
        has_numa=tree.is_directory(nodes.NODE_DIR),
        hugepages=nodes.read_pools(source, nodes.GLOBAL_PAGES),
        proc=_proc(source),
        cpu_files=cpus.read_lists(source, cpus.CPU_DIR, cpus.LISTS),
        node_files=cpus.read_lists(source, nodes.NODE_DIR, nodes.LISTS),
        source=document,
    )
    if not machine.cpus and not machine.nodes:
        raise BadInput([MachineNothingThere(value=document, where=Location(document))])
    return machine, source.warnings.all


def _proc(source: TreeSource) -> ProcFacts:
    """The facts of ``/proc``."""
    cpuinfo = source.tree.text("proc/cpuinfo")
    return ProcFacts(
        meminfo=source.read("proc/meminfo", kernel_text.meminfo_figures),
        core_id_count=kernel_text.count_ids(cpuinfo, "core id"),
        package_id_count=kernel_text.count_ids(cpuinfo, "physical id"),
    )
