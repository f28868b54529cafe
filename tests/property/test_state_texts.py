"""What is written of a ledger is what its definition says, for ledgers of every kind.

Also such as only a state file can have brought in: odd names, numbers of NUMA nodes in any order,
pods without containers, groups of no node.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.checkpoint import cpu_file, device_file, go_json, memory_file
from numalet.core.config.releases.release import V1_32_RULES
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device.ledger import DeviceRecord, WrittenCheckpoint
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger, MemoryTable, NodeMemory
from numalet.core.model import cpu_set
from oracles import plain_state_files

pytestmark = pytest.mark.property

NAMES = (
    st.sampled_from(["app", "init", "memory", "hugepages-1Gi", "example.com/gpu", ""])
    | st.text('ab09<>&"\\/\t\x00\x7f\u2028\u2029é€𝄞:[]{} ,', max_size=6)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
)
UIDS = st.uuids().map(str) | NAMES
SIZES = st.integers(0, 2**64 - 1) | st.integers(0, 3)
NODE_IDS = st.integers(-2, 130) | st.integers(0, 3)

TABLES = st.builds(MemoryTable, SIZES, SIZES, SIZES, SIZES, SIZES)
NODES = st.builds(
    NodeMemory,
    st.integers(0, 200),
    st.dictionaries(NAMES, TABLES, max_size=3),
    st.integers(0, 2**20) | st.integers(0, 3),
)
BLOCKS = st.lists(
    st.builds(MemoryBlock, st.lists(NODE_IDS, max_size=3).map(tuple), NAMES, SIZES), max_size=3
).map(tuple)
MEMORY = st.builds(
    MemoryLedger,
    st.dictionaries(NODE_IDS, NODES, max_size=4),
    st.dictionaries(UIDS, st.dictionaries(NAMES, BLOCKS, max_size=3), max_size=3),
    pods=st.dictionaries(UIDS, BLOCKS, max_size=3),
)

RANGES = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 70)), max_size=5)
CPUS = RANGES.map(
    lambda ranges: frozenset(cpu for at, count in ranges for cpu in range(at, at + count))
) | st.frozensets(st.integers(0, 40) | st.integers(0, 2**63 - 1))
CPU = st.builds(
    CpuLedger,
    CPUS,
    st.dictionaries(UIDS, st.dictionaries(NAMES, CPUS, max_size=3), max_size=3),
    pods=st.dictionaries(UIDS, CPUS, max_size=3),
)

IDS = st.lists(NAMES, max_size=3).map(tuple)
RECORDS = st.builds(DeviceRecord, st.dictionaries(NODE_IDS, IDS, max_size=3), st.binary(max_size=9))
WRITTEN = st.builds(
    WrittenCheckpoint,
    st.dictionaries(
        UIDS,
        st.dictionaries(NAMES, st.dictionaries(NAMES, RECORDS, max_size=2), max_size=2),
        max_size=3,
    ),
    st.dictionaries(NAMES, IDS, max_size=3),
)


@given(NAMES, MEMORY, st.booleans())
def test_the_memory_file_is_what_its_definition_says(
    policy: str, ledger: MemoryLedger, has_pods: bool
) -> None:
    rules = V1_32_RULES.and_also(state_files_have_pods=has_pods)
    expected = plain_state_files.memory(policy, ledger, has_pods)

    assert memory_file.write(policy, ledger, rules) == expected
    # Now from the texts that were kept.
    assert memory_file.write(policy, ledger, rules) == expected


@given(NAMES, CPU, st.booleans())
def test_the_cpu_file_is_what_its_definition_says(
    policy: str, ledger: CpuLedger, has_pods: bool
) -> None:
    rules = V1_32_RULES.and_also(state_files_have_pods=has_pods)
    expected = plain_state_files.cpu(policy, ledger, has_pods)

    assert cpu_file.write(policy, ledger, rules) == expected
    assert cpu_file.write(policy, ledger, rules) == expected


@given(WRITTEN)
def test_the_device_file_is_what_its_definition_says(written: WrittenCheckpoint) -> None:
    expected = plain_state_files.device(written)

    assert device_file.write(written) == expected
    assert device_file.write(written) == expected


@given(MEMORY, st.booleans())
def test_a_memory_file_that_is_written_is_sound_and_says_the_same(
    ledger: MemoryLedger, has_pods: bool
) -> None:
    """The checksum of what is written is the one of what is read: of one layout, in two walks."""
    rules = V1_32_RULES.and_also(state_files_have_pods=has_pods)
    loaded = memory_file.load(memory_file.write("Static", ledger, rules), "Static", rules)

    assert isinstance(loaded, MemoryLedger)
    assert loaded.blocks == ledger.blocks
    assert loaded.pods == (ledger.pods if has_pods else {})


@given(CPU, st.booleans())
def test_a_cpu_file_that_is_written_is_sound(ledger: CpuLedger, has_pods: bool) -> None:
    rules = V1_32_RULES.and_also(state_files_have_pods=has_pods)
    reading = cpu_file.read(cpu_file.write("static", ledger, rules), rules)

    assert isinstance(reading, cpu_file.CpuReading)
    assert reading.is_sound
    assert reading.checksum == reading.expected


@given(CPUS)
def test_a_list_of_cpus_is_the_one_that_people_write(cpus: frozenset[int]) -> None:
    assert cpu_set.text(cpus) == plain_state_files.cpu_list(cpus)


@given(NAMES)
def test_a_text_in_json_is_read_as_it_was(text: str) -> None:
    quoted = go_json.string(text)

    assert go_json.loads(quoted) == text
    assert not set("<>&\u2028\u2029") & set(quoted)
