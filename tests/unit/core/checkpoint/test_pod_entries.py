"""State files that say what pods got as a whole: the CPU Manager's format 3, the memory's 2."""

from __future__ import annotations

import json

import pytest

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger
from numalet.core.model.findings import Finding
from values import whole_pods
from values.whole_pods import asked, config, pod

BEFORE = ReleaseRules(
    memory_checksum_zero_is_accepted=True,
    oldest_cpu_format_is_tried_last=True,
    memory_type_has_a_version=True,
)
WITH_PODS = ReleaseRules(
    memory_checksum_zero_is_accepted=True,
    oldest_cpu_format_is_tried_last=True,
    memory_type_has_a_version=True,
    state_files_have_pods=True,
)
CPUS = CpuLedger(
    frozenset({0, 1, 6, 7}), {"u": {"c0": frozenset({2, 3})}}, pods={"u": frozenset({2, 3, 4, 5})}
)
BLOCKS = (MemoryBlock((0,), "memory", 1024),)
MEMORY = MemoryLedger({}, {"u": {"c0": BLOCKS}}, pods={"u": BLOCKS})


def loaded_cpus(text: str, rules: ReleaseRules) -> CpuLedger | Finding:
    return cpu_file.load(text, "static", rules)


def loaded_memory(text: str, rules: ReleaseRules) -> MemoryLedger | Finding:
    return memory_file.load(text, "Static", rules)


def changed(text: str, **members: object) -> str:
    return json.dumps({**json.loads(text), **members})


def test_empty_states_have_other_checksums() -> None:
    # As recorded from a kubelet v1.36 on this machine, with the gate and without.
    files = whole_pods.node().state_files()
    without = whole_pods.node(config(gates={})).state_files()

    assert json.loads(files["cpu_manager_state"])["checksum"] == 3394376107
    assert json.loads(files["memory_manager_state"])["checksum"] == 3851153844
    assert json.loads(without["cpu_manager_state"])["checksum"] == 4220024897
    assert "podEntries" not in files["cpu_manager_state"] + files["memory_manager_state"]


def test_checksums_cover_what_pods_got() -> None:
    # The pod of the recorded decision podlevel-10637.
    parts = {
        "i0": asked("4", "1536Mi"),
        "i1": asked("2", "768Mi"),
        "c0": asked("2", "768Mi"),
        "c1": None,
    }
    uid = "e7f0e3ab-ad89-4bf5-b8b2-843b46521e30"
    node, _ = whole_pods.node().admit(pod(uid, asked("4", "1536Mi"), parts))
    cpu = json.loads(node.state_files()["cpu_manager_state"])

    assert cpu["podEntries"] == {uid: {"cpuSet": "1-2,9-10"}}
    assert cpu["checksum"] == 1999531780


def test_what_was_written_is_read() -> None:
    assert loaded_cpus(cpu_file.write("static", CPUS, WITH_PODS), WITH_PODS) == CPUS
    assert loaded_memory(memory_file.write("Static", MEMORY, WITH_PODS), WITH_PODS) == MEMORY


def test_without_the_gate_such_a_file_is_refused() -> None:
    cpus = loaded_cpus(cpu_file.write("static", CPUS, WITH_PODS), BEFORE)
    memory = loaded_memory(memory_file.write("Static", MEMORY, WITH_PODS), BEFORE)

    assert isinstance(cpus, Finding)
    assert "cannot unmarshal object into Go struct field CPUManagerCheckpointV1" in str(cpus)
    assert isinstance(memory, Finding)
    assert memory.code == "memory-state/corrupted"


def test_an_older_file_is_read_and_has_no_pods() -> None:
    cpus = loaded_cpus(cpu_file.write("static", CPUS), WITH_PODS)
    memory = loaded_memory(memory_file.write("Static", MEMORY), WITH_PODS)

    assert cpus == CpuLedger(CPUS.default, CPUS.exclusive)
    assert memory == MemoryLedger({}, MEMORY.blocks)


def test_a_checksum_of_zero_fits_the_older_format_and_what_was_decoded_stays() -> None:
    cpus = changed(cpu_file.write("static", CPUS, WITH_PODS), checksum=0)
    memory = changed(memory_file.write("Static", MEMORY, WITH_PODS), checksum=0)

    assert loaded_cpus(cpus, WITH_PODS) == CPUS
    assert loaded_memory(memory, WITH_PODS) == MEMORY


@pytest.mark.parametrize(
    ("entries", "kept"),
    [
        ({"a": {"cpuSet": "1"}, "b": "2-3", "c": {"cpuSet": "4"}}, {"a": {1}}),
        ({"a": {"cpuSet": "1"}, "b": {"cpuSet": "x"}}, {"a": {1}}),
        ({"a": None, "b": {}, "c": {"cpuSet": 5}}, {"a": set(), "b": set()}),
        ("2-3", {}),
        (None, {}),
    ],
)
def test_cpus_are_kept_up_to_the_first_entry_that_is_none(
    entries: object, kept: dict[str, set[int]]
) -> None:
    text = changed(cpu_file.write("static", CPUS), podEntries=entries, checksum=0)
    ledger = loaded_cpus(text, WITH_PODS)

    assert isinstance(ledger, CpuLedger)
    assert ledger.pods == kept


@pytest.mark.parametrize(
    ("entries", "kept"),
    [
        ({"u": 5}, {"u": ()}),
        ({"u": {"memoryBlocks": 5}}, {"u": ()}),
        ({"u": {"memoryBlocks": [5, {"size": 3, "type": "memory"}]}}, None),
        ([], {}),
        (None, {}),
    ],
)
def test_of_memory_is_kept_what_makes_sense(
    entries: object, kept: dict[str, tuple[MemoryBlock, ...]] | None
) -> None:
    text = changed(memory_file.write("Static", MEMORY), podEntries=entries, checksum=0)
    ledger = loaded_memory(text, WITH_PODS)

    assert isinstance(ledger, MemoryLedger)
    whole = {"u": (MemoryBlock((), "", 0), MemoryBlock((), "memory", 3))}
    assert ledger.pods == (whole if kept is None else kept)


def test_a_wrong_checksum_is_refused_in_the_words_of_the_oldest_format() -> None:
    cpus = loaded_cpus(changed(cpu_file.write("static", CPUS, WITH_PODS), checksum=77), WITH_PODS)
    memory = changed(memory_file.write("Static", MEMORY, WITH_PODS), checksum=3)
    refused = loaded_memory(memory, WITH_PODS)

    assert isinstance(cpus, Finding)
    assert "CPUManagerCheckpointV1" in str(cpus)
    assert isinstance(refused, Finding)
    assert refused.code == "memory-state/corrupted"


def test_an_empty_share_is_written_without_its_member_and_read_again() -> None:
    cpus = CpuLedger(frozenset({0}), {}, pods={"u": frozenset()})
    memory = MemoryLedger({}, {}, pods={"u": ()})
    texts = (
        cpu_file.write("static", cpus, WITH_PODS),
        memory_file.write("Static", memory, WITH_PODS),
    )

    assert all(json.loads(text)["podEntries"] == {"u": {}} for text in texts)
    assert loaded_cpus(texts[0], WITH_PODS) == cpus
    assert loaded_memory(texts[1], WITH_PODS) == memory


def test_cpus_of_a_pod_that_no_container_has_are_known_at_a_start() -> None:
    of = pod("u", asked("4", "1Gi"), {"c0": asked("1", "64Mi"), "c1": asked("1", "64Mi")})
    before, _ = whole_pods.node().admit(of)
    after = whole_pods.restarted(before.pod_started("u"))

    assert after.snapshot.cpu.pods == before.snapshot.cpu.pods
    assert len(after.snapshot.cpu.pods["u"]) == 4
    assert sum(map(len, after.snapshot.cpu.exclusive["u"].values())) == 2
