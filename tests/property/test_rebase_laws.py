"""Whatever happened to the machine: what a rebase writes verifies and restores, and is maximal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.admission import roster
from numalet.core.checkpoint import cpu_file, memory_file, state_files
from numalet.core.config.rules import CpuPolicy, MemoryPolicy, NodeRules
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger
from numalet.core.model.machine_info import HugePages, MachineInfo
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.state import rebase, restart
from numalet.insight.state import verify as state_verify
from numalet.insight.state.restart import Restart
from numalet.insight.state.verify import Soundness
from values import state_builders
from values.builders import GI
from values.state_builders import CPU, MEMORY

pytestmark = pytest.mark.property

PAGE = 2 << 20
TYPES = ("memory", "hugepages-2Mi", "hugepages-1Gi")
UIDS = st.sampled_from(("a", "b", "c", "d"))


@st.composite
def machines(draw: st.DrawFn) -> MachineInfo:
    """One to four nodes, with more or less memory, pages, CPUs than the builders' machine."""
    machine = state_builders.machine(draw(st.integers(1, 4)))
    nodes = []
    for node in machine.nodes:
        pages = tuple(
            HugePages(size, draw(st.integers(0, 600)))
            for size in draw(st.sets(st.sampled_from((2048, 1048576)), max_size=2))
        )
        cores = node.cores[: draw(st.integers(1, 2))]
        memory = draw(st.sampled_from((4 * GI, 10 * GI - (50 << 20), 10 * GI, 12 * GI)))
        nodes.append(replace(node, memory_bytes=memory, hugepages=pages, cores=cores))
    return replace(machine, nodes=tuple(nodes))


@st.composite
def rules(draw: st.DrawFn) -> NodeRules:
    """Rules of a kubelet that starts on such a machine."""
    return state_builders.rules(
        draw(machines()),
        memory=draw(st.sampled_from((MemoryPolicy.STATIC, MemoryPolicy.NONE))),
        cpu=draw(st.sampled_from((CpuPolicy.STATIC, CpuPolicy.NONE))),
        reserved_cpus=draw(st.sets(st.sampled_from((0, 1)), min_size=1)),
        strict=draw(st.booleans()),
    )


SIZES = st.one_of(st.integers(0, 4).map(lambda n: n * GI), st.integers(0, 9).map(PAGE.__mul__))
NODES = st.one_of(
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.sets(st.integers(0, 3), min_size=1, max_size=2).map(lambda ids: tuple(sorted(ids))),
)
BLOCKS = st.builds(MemoryBlock, NODES, st.sampled_from(TYPES), SIZES)
MEMORY_RECORDS = st.dictionaries(
    UIDS,
    st.dictionaries(
        st.sampled_from(("x", "y")), st.lists(BLOCKS, max_size=2).map(tuple), min_size=1
    ),
    max_size=4,
)
CPU_RECORDS = st.dictionaries(
    UIDS,
    st.dictionaries(
        st.sampled_from(("x", "y")), st.frozensets(st.integers(0, 17), max_size=6), min_size=1
    ),
    max_size=4,
)


def texts(
    memory: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]],
    cpus: Mapping[str, Mapping[str, frozenset[int]]],
    pool: frozenset[int],
) -> dict[str, str]:
    """State files with these records, over the node map of the builders' machine."""
    initial = roster.initial_memory(state_builders.rules())
    return {
        MEMORY: memory_file.write("Static", MemoryLedger(initial, memory)),
        CPU: cpu_file.write("static", CpuLedger(pool, cpus)),
    }


@given(rules(), MEMORY_RECORDS, CPU_RECORDS, st.frozensets(st.integers(0, 17)))
def test_rebased_files_verify_and_restore_and_lose_no_more_than_they_must(
    of: NodeRules,
    memory: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]],
    cpus: Mapping[str, Mapping[str, frozenset[int]]],
    pool: frozenset[int],
) -> None:
    staff = state_builders.staff(of)
    files = texts(memory, cpus, pool)
    result = rebase.rebase(staff, files)
    after = {**files, **result.files}

    assert result.unusable == {}
    snapshot = state_files.restore(staff, after)
    assert isinstance(snapshot, Snapshot), snapshot
    assert Restart.YES is restart.would_restart(snapshot.memory)
    for report in state_verify.verify(dict(result.files), of.machine):
        assert report.soundness is not Soundness.BROKEN, report.findings
    _check_records(result, memory, cpus, snapshot)
    assert rebase.rebase(staff, after).files == {}
    _check_nothing_more_fits(of, memory, snapshot)


def _check_records(
    result: rebase.Rebased,
    memory: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]],
    cpus: Mapping[str, Mapping[str, frozenset[int]]],
    snapshot: Snapshot,
) -> None:
    """Every record is either kept as it was, or listed as lost."""
    records = ((MEMORY, memory, snapshot.memory.blocks), (CPU, cpus, snapshot.cpu.exclusive))
    for name, before, after in records:
        lost = {(each.key.pod_uid, each.key.container) for each in result.lost if each.file == name}
        kept = {(key.pod_uid, key.container) for key in result.kept[name]}
        everything = {(uid, container) for uid, pod in before.items() for container in pod}
        assert everything == lost | kept
        assert set() == lost & kept
        for uid, container in kept:
            assert before[uid][container] == after[uid][container]


def _check_nothing_more_fits(
    of: NodeRules,
    memory: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]],
    snapshot: Snapshot,
) -> None:
    """One more of the records that were lost, and the memory would not restore any more."""
    if of.memory.policy is MemoryPolicy.NONE:
        return
    initial = roster.initial_memory(of)
    for uid, containers in memory.items():
        for name, blocks in containers.items():
            if snapshot.memory.blocks_of(uid, name) is not None:
                continue
            more = {**snapshot.memory.blocks.get(uid, {}), name: blocks}
            ledger = MemoryLedger(initial, {**snapshot.memory.blocks, uid: more})
            assert rebase.rebased_memory(ledger, initial)[1], (uid, name)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_rebased_or_refused(memory: str, cpu: str) -> None:
    staff = state_builders.staff(state_builders.rules())
    result = rebase.rebase(staff, {MEMORY: memory, CPU: cpu})

    assert {MEMORY, CPU} == result.kept.keys() | result.unusable.keys()
