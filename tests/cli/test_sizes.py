"""Sizes and huge pages of a machine as they are given on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands import Runner
from numalet import open_machine
from numalet.core.model.findings import BadInput

CAPTURE = str(Path(__file__).resolve().parents[1] / "machines/data/n2c4-hugepages-1g.tar.gz")
PLAIN = str(Path(__file__).resolve().parents[1] / "machines/data/n4c4-2cpuless-cxl.tar.gz")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("machine", "2n4c", "--memory-per-node", "128"), "128Gi"),
        (("simulate", "-m", "2n4c", "--memory-per-node", "0.5", "pods.yaml"), "0.5Gi"),
        (("machine", "2n4c", "--memory-per-node", "8Gi", "--hugepages-per-node=2048=4"), "2048Ki"),
        (("run", "--cpus", "1", "--memory", "64", "--dry-run", "true"), "64Gi"),
    ],
)
def test_a_size_without_a_unit_is_refused(
    words: tuple[str, ...], complaint: str, numalet: Runner
) -> None:
    ended = numalet(*words)

    assert (ended.status, ended.out) == (2, "")
    assert complaint in ended.err
    assert "without a unit" in ended.err


@pytest.mark.parametrize("size", ["137438953472", "128Gi", "0", "128e9", "1048576"])
def test_sizes_that_can_be_meant_are_taken(size: str, numalet: Runner) -> None:
    assert numalet("machine", "2n4c", "--memory-per-node", size).status == 0


@pytest.mark.parametrize(
    ("flag", "field"),
    [
        ("--kube-reserved=memory=500", "kubeReserved.memory 500"),
        ("--system-reserved=ephemeral-storage=10", "systemReserved.ephemeral-storage 10"),
        ("--eviction-hard=memory.available<100", "evictionHard.memory.available 100"),
        ("--reserved-memory=0:memory=100", "reservedMemory[0].limits.memory 100"),
    ],
)
def test_what_the_kubelet_takes_for_bytes_is_a_warning(
    flag: str, field: str, numalet: Runner
) -> None:
    ended = numalet("check", "-m", "2n4c", "--memory-per-node", "8Gi", flag)

    assert f"{field} has no unit" in ended.err + ended.out


@pytest.mark.parametrize(
    "flag",
    [
        *("--kube-reserved=cpu=1,memory=500Mi", "--system-reserved=pid=1000"),
        *("--eviction-hard=memory.available<5%", "--eviction-hard=nodefs.inodesFree<5000"),
    ],
)
def test_numbers_that_are_no_sizes_are_no_warning(flag: str, numalet: Runner) -> None:
    ended = numalet("check", "-m", "2n4c", "--memory-per-node", "8Gi", flag)

    assert "has no unit" not in ended.err + ended.out


def test_huge_pages_take_the_place_of_those_of_a_capture(numalet: Runner) -> None:
    ended = numalet("machine", CAPTURE, "--hugepages-per-node", "1Gi=3", "-o", "json")

    found = json.loads(ended.out)
    assert [
        [(page["page_size_kib"], page["count"]) for page in node["hugepages"]]
        for node in found["numa_nodes"]
    ] == [[(1048576, 3), (2048, 64)], [(1048576, 3), (2048, 32)]]
    assert "machine/note-pages-assumed" in [note["code"] for note in found["notes"]]


def test_nodes_without_cpus_keep_their_huge_pages() -> None:
    changed = open_machine(PLAIN, hugepages_per_node={"2Mi": "7"}).info

    counts = {
        node.node_id: [(p.page_size_kib, p.count) for p in node.hugepages] for node in changed.nodes
    }
    assert {node for node, pages in counts.items() if (2048, 7) in pages} == {0, 1}
    assert [p.count for p in changed.hugepages if p.page_size_kib == 2048] == [14]


def test_a_described_machine_may_get_huge_pages(tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text("nodes:\n- {memory: 64Gi, cpus: 0-7}\n- {memory: 64Gi}\n")

    info = open_machine(str(path), hugepages_per_node={"1Gi": "2"}).info

    assert [[p.count for p in node.hugepages] for node in info.nodes] == [[2], []]


def test_pages_of_a_size_that_the_machine_does_not_have_are_refused(numalet: Runner) -> None:
    ended = numalet("machine", CAPTURE, "--hugepages-per-node", "512Mi=3")

    assert ended.status == 2
    assert "has no hugepages-512Mi; expected one of: hugepages-2Mi, hugepages-1Gi" in ended.err


def test_a_machine_with_other_huge_pages_is_not_captured(numalet: Runner, tmp_path: Path) -> None:
    out = tmp_path / "capture.tar.gz"
    ended = numalet("machine", CAPTURE, "--hugepages-per-node=1Gi=3", "--capture", str(out))

    assert ended.status == 2
    assert not out.exists()


def test_memory_goes_with_shapes_only() -> None:
    with pytest.raises(BadInput) as bad:
        open_machine(CAPTURE, memory_per_node="1Gi", hugepages_per_node={"1Gi": "4"})
    assert [finding.code for finding in bad.value.findings] == ["input/conflict"]


def test_a_machine_has_the_notes_that_the_command_prints(numalet: Runner) -> None:
    printed = json.loads(numalet("machine", PLAIN, "-o", "json").out)["notes"]

    assert [note.code for note in open_machine(PLAIN).notes] == [note["code"] for note in printed]
    assert len(printed) > 0


def test_a_decision_does_not_repeat_the_notes_about_the_machine(
    numalet: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(
        "{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}", encoding="utf-8"
    )
    assert numalet("simulate", "-m", PLAIN, str(path)).err == ""
