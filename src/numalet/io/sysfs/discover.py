"""Reads the machine from a tree, with warnings about malformed files."""

from __future__ import annotations

from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Location
from numalet.core.model.machine import Machine, ProcFacts
from numalet.io.sysfs import cpus, kernel_text, nodes
from numalet.io.sysfs.records import TreeSource
from numalet.io.sysfs.trees import Tree


def read_machine(tree: Tree, document: str) -> tuple[Machine, tuple[Finding, ...]]:
    """The machine, and warnings about its files.

    ``document`` is the user's name for the tree. Raises ``BadInput`` if the tree has neither CPUs
    nor NUMA nodes.
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
        raise input_error.Invalid(
            f"{document!r} has neither a CPU nor a NUMA node in devices/system/cpu and "
            "devices/system/node",
            where=Location(document),
        ).bad_input()
    return machine, source.warnings.all


def _proc(source: TreeSource) -> ProcFacts:
    cpuinfo = source.tree.text("proc/cpuinfo")
    return ProcFacts(
        meminfo=source.read("proc/meminfo", kernel_text.meminfo_figures),
        core_id_count=kernel_text.count_ids(cpuinfo, "core id"),
        package_id_count=kernel_text.count_ids(cpuinfo, "physical id"),
    )
