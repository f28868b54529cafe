"""The memory state file: bytes, checksums, and what is wrong with bad ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from numalet.core.checkpoint import memory_file
from numalet.core.checkpoint.memory_document import MemoryDocument, to_ledger
from numalet.core.checkpoint.memory_file import ChecksumVerdict
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.rules import MemoryPolicy, NodeRules, StartRefused, StartStage
from numalet.core.managers.memory.ledger import MemoryLedger, MemoryTable
from numalet.core.model.findings import Finding
from numalet.core.model.machine_info import HugePages, MachineInfo, NumaNodeInfo
from numalet.wording import kubelet_start
from values import builders
from values.builders import node, rules

EXAMPLES = json.loads(
    (Path(__file__).parents[3] / "conformance/data/checksum-examples.json").read_text()
)["memory"]

DOCUMENTED = MachineInfo(
    nodes=(
        NumaNodeInfo(0, 134987354112, (HugePages(1048576, 0),)),
        NumaNodeInfo(1, 135286722560, (HugePages(1048576, 0),)),
    ),
    memory_capacity_bytes=134987354112 + 135286722560,
    cpu_count=8,
    socket_count=2,
)
RESERVED = {0: 3 << 30, 1: 2148 << 20}


def read(text: str) -> MemoryDocument:
    document = memory_file.read(text)
    assert isinstance(document, MemoryDocument), document
    return document


@pytest.mark.parametrize("example", EXAMPLES, ids=[e["title"][:50] for e in EXAMPLES])
def test_recorded_checksums_are_recomputed(example: dict[str, Any]) -> None:
    document = read(example["file"])

    assert memory_file.checksum_of(document) == example["checksum"]
    assert memory_file.verdict(document) is ChecksumVerdict.SOUND


def test_a_written_file_is_the_recorded_one_to_the_byte() -> None:
    for example in EXAMPLES:
        document = read(example["file"])
        if example["object"].get("policyName") in ("Static", "None"):
            ledger = to_ledger(document)
            assert memory_file.write(document.policy_name, ledger) == example["file"]


def test_the_documented_state_is_written_exactly() -> None:
    start = node(rules(DOCUMENTED, reserved_bytes=RESERVED))
    assert json.loads(start.state_files()["memory_manager_state"])["checksum"] == 2939205631
    uid = "fa9bdd38-6df9-4cf9-aa67-8c4814da37a8"
    pod = builders.pod(uid, builders.container("guaranteed", "150Gi"))
    after, _ = start.admit(pod)

    written = json.loads(after.state_files()["memory_manager_state"])
    assert written["checksum"] == 17296941
    assert [n["memoryMap"]["memory"]["free"] for n in written["machineState"].values()] == [
        0,
        103739236352,
    ]
    assert written["entries"] == {
        uid: {"guaranteed": [{"numaAffinity": [0, 1], "type": "memory", "size": 161061273600}]}
    }


def early(checksum: int = 4142013182) -> str:
    start = node(rules(DOCUMENTED, reserved_bytes=RESERVED))
    uid = "fa9bdd38-6df9-4cf9-aa67-8c4814da37a8"
    after, _ = start.admit(builders.pod(uid, builders.container("guaranteed", "150Gi")))
    state = json.loads(after.state_files()["memory_manager_state"])
    for entry in state["machineState"].values():
        entry["nodes"] = entry.pop("cells")
    return json.dumps({**state, "checksum": checksum})


def test_the_early_layout_is_recognised_by_its_own_rule() -> None:
    assert memory_file.verdict(read(early())) is ChecksumVerdict.EARLY
    assert memory_file.verdict(read(early(1))) is ChecksumVerdict.CORRUPTED
    loaded = memory_file.load(early(), "Static")
    assert isinstance(loaded, Finding)
    assert (loaded.code, loaded.fields["checksum"]) == ("memory-state/early-layout", 4142013182)


def test_groups_under_their_early_name_are_no_groups_to_v1_32() -> None:
    state = json.loads(early(1))
    for entry in state["machineState"].values():
        entry["cells"] = None
        del entry["nodes"]
    as_v1_32_sees_it = memory_file.checksum_of(read(json.dumps(state)))

    found = memory_file.load(early(1), "Static")
    assert isinstance(found, Finding)
    assert found.fields == {"checksum": 1, "expected": as_v1_32_sees_it}
    # Where its sum agrees, v1.32 goes on, and finds another machine than its own.
    assert memory_file.verdict(read(early(as_v1_32_sees_it))) is ChecksumVerdict.SOUND
    assert refused(rules(DOCUMENTED, reserved_bytes=RESERVED), early(as_v1_32_sees_it)).endswith(
        "the expected machine state is different from the real one"
    )


def refused(of: NodeRules, text: str) -> str:
    snapshot = builders.restored(of, {"memory_manager_state": text})
    assert isinstance(snapshot, StartRefused)
    assert snapshot.stage is StartStage.MEMORY_MANAGER_START
    return kubelet_start.text(snapshot)


STATIC = rules(builders.machine(10, 10))
NONE = rules(builders.machine(10, 10), policy=MemoryPolicy.NONE)
START = "start memory manager error: "
RESTORE = START + "could not restore state from checkpoint: "
DRAIN = (
    ", please drain this node and delete the memory manager checkpoint file"
    ' "/var/lib/kubelet/memory_manager_state" before restarting Kubelet'
)


def test_bad_files_are_refused_with_the_kubelets_words() -> None:
    good = node(STATIC).state_files()["memory_manager_state"]
    assert refused(STATIC, good[:-30]) == f"{RESTORE}unexpected end of JSON input{DRAIN}"
    assert refused(STATIC, good.replace("10737418240", "10737418241", 1)) == (
        f"{RESTORE}checkpoint is corrupted{DRAIN}"
    )
    assert refused(STATIC, early()) == f"{RESTORE}checkpoint is corrupted{DRAIN}"
    assert refused(NONE, good) == (
        f'{RESTORE}[memorymanager] configured policy "None" differs from state checkpoint policy'
        f' "Static"{DRAIN}'
    )
    other = rules(builders.machine(10, 11))
    assert refused(other, good) == (
        f"{START}[memorymanager] the expected machine state is different from the real one"
    )


def test_restoring_what_was_written_gives_the_same_ledger() -> None:
    admitted, _ = node(STATIC).admit(builders.simple("u", "15Gi"))
    again = builders.restored(STATIC, admitted.state_files())

    assert not isinstance(again, StartRefused)
    assert (again.memory.nodes, again.memory.blocks) == (
        admitted.snapshot.memory.nodes,
        admitted.snapshot.memory.blocks,
    )


def test_nulls_and_what_is_absent_count_in_the_checksum() -> None:
    texts = {
        '{"policyName":"None","machineState":{},"checksum":4236770233}': True,
        '{"POLICYNAME":"None","checksum":4236770233}': True,
        '{"policyName":"None","machineState":null,"checksum":4236770233}': False,
        '{"policyName":"None","entries":null,"checksum":4236770233}': False,
        "null": False,
    }
    for text, sound in texts.items():
        assert (memory_file.verdict(read(text)) is ChecksumVerdict.SOUND) is sound, text


def test_nulls_inside_become_empty() -> None:
    document = read(
        '{"machineState":{"10":null,"2":{"memoryMap":{"memory":null}}},'
        '"entries":{"u":null,"v":{"c":null,"d":[{"type":"memory"}]}},"checksum":1}'
    )
    ledger: MemoryLedger = to_ledger(document)

    assert list(ledger.nodes) == [2, 10]
    assert ledger.nodes[2].tables == {"memory": MemoryTable(0, 0, 0, 0, 0)}
    assert ledger.blocks_of("v", "c") == ()
    assert memory_file.checksum_of(document) == memory_file.checksum_of(document)


TOP = "struct field MemoryManagerCheckpoint"
IN_NODE = "struct field NUMANodeState.machineState"
WRONG_KINDS = [
    ("[]", "array into Go value of type state.MemoryManagerCheckpoint"),
    ("1", "number into Go value of type state.MemoryManagerCheckpoint"),
    ('{"policyName":1}', f"number into Go {TOP}.policyName of type string"),
    ('{"checksum":-1}', f"number -1 into Go {TOP}.checksum of type checksum.Checksum"),
    ('{"checksum":"1"}', f"string into Go {TOP}.checksum of type checksum.Checksum"),
    ('{"checksum":true}', f"bool into Go {TOP}.checksum of type checksum.Checksum"),
    ('{"checksum":1e3}', f"number 1e3 into Go {TOP}.checksum of type checksum.Checksum"),
    ('{"machineState":[]}', f"array into Go {TOP}.machineState of type state.NUMANodeMap"),
    ('{"machineState":{"a":{}}}', f"number a into Go {TOP}.machineState of type int"),
    ('{"machineState":{"0":[]}}', f"array into Go {TOP}.machineState of type state.NUMANodeState"),
    ('{"machineState":{"0":{"cells":{}}}}', f"object into Go {IN_NODE}.cells of type []int"),
    ('{"machineState":{"0":{"cells":["a"]}}}', f"string into Go {IN_NODE}.cells of type int"),
    (
        '{"machineState":{"0":{"memoryMap":[]}}}',
        f"array into Go {IN_NODE}.memoryMap of type map[v1.ResourceName]*state.MemoryTable",
    ),
    (
        '{"machineState":{"0":{"memoryMap":{"memory":{"total":-1}}}}}',
        "number -1 into Go struct field MemoryTable.machineState.memoryMap.total of type uint64",
    ),
    ('{"entries":[]}', f"array into Go {TOP}.entries of type state.ContainerMemoryAssignments"),
    ('{"entries":{"u":0}}', f"number into Go {TOP}.entries of type map[string][]state.Block"),
    ('{"entries":{"u":{"c":{}}}}', f"object into Go {TOP}.entries of type []state.Block"),
    ('{"entries":{"u":{"c":[1]}}}', f"number into Go {TOP}.entries of type state.Block"),
    (
        '{"entries":{"u":{"c":[{"size":1.5}]}}}',
        "number 1.5 into Go struct field Block.entries.size of type uint64",
    ),
    (
        '{"entries":{"u":{"c":[{"type":1}]}}}',
        "number into Go struct field Block.entries.type of type v1.ResourceName",
    ),
]


@pytest.mark.parametrize(("text", "words"), WRONG_KINDS)
def test_values_of_the_wrong_kind_are_named(text: str, words: str) -> None:
    finding = memory_file.read(text)

    assert isinstance(finding, Finding)
    assert f"json: cannot unmarshal {words}" == finding.fields["error"]


def test_some_releases_name_another_type() -> None:
    versioned = ReleaseRules(memory_type_has_a_version=True)
    finding = memory_file.read('{"policyName":7}', versioned)

    assert isinstance(finding, Finding)
    assert finding.fields["error"] == (
        "json: cannot unmarshal number into Go struct field MemoryManagerCheckpointV1.policyName "
        "of type string"
    )


@pytest.mark.parametrize("checksum", ['"checksum":0', '"unknown":1'])
def test_a_checksum_of_zero_is_accepted_by_some_releases(checksum: str) -> None:
    text = node(rules(builders.machine(10))).state_files()["memory_manager_state"]
    without = re.sub(r'"checksum":\d+', checksum, text)
    accepting = ReleaseRules(memory_checksum_zero_is_accepted=True)

    assert isinstance(memory_file.load(without, "Static"), Finding)
    assert memory_file.load(without, "Static", accepting) == memory_file.load(text, "Static")
    wrong = re.sub(r'"checksum":\d+', '"checksum":5', text)
    assert isinstance(memory_file.load(wrong, "Static", accepting), Finding)


def test_a_member_named_nodes_beside_cells_is_unknown_and_passed_over() -> None:
    text = node(rules(builders.machine(10))).state_files()["memory_manager_state"]
    assert '"cells":[0]' in text

    odd = text.replace('"cells":[0]', '"cells":[0],"nodes":[7]')

    assert memory_file.load(odd, "Static") == memory_file.load(text, "Static")
