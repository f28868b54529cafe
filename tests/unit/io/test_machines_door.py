"""What may follow -m, and what is said about everything else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.machine_info import HugePages
from numalet.io import machines
from numalet.io.machines import open_machine


def _refusals(text: str, **sizes: object) -> list[Finding]:
    with pytest.raises(BadInput) as caught:
        open_machine(text, **sizes)  # type: ignore[arg-type]
    for finding in caught.value.findings:
        assert str(finding)
    return list(caught.value.findings)


def _codes(text: str, **sizes: object) -> list[str]:
    return [finding.code for finding in _refusals(text, **sizes)]


def test_a_shape_has_the_memory_and_pages_of_the_flags() -> None:
    loaded = open_machine(
        "2n4c", memory_per_node="128Gi", hugepages_per_node={"1Gi": "4", "2Mi": " 8 "}
    )
    assert loaded.info.memory_capacity_bytes == 256 << 30
    assert loaded.info.nodes[0].hugepages == (HugePages(1048576, 4), HugePages(2048, 8))
    assert loaded.notes == ()
    assert loaded.tree is None


def test_a_shape_without_memory_gets_some_and_a_note() -> None:
    loaded = open_machine("1n1c")
    assert loaded.info.memory_capacity_bytes == 64 << 30
    assert [(note.code, note.fields["value"]) for note in loaded.notes] == [
        ("machine/note-memory-assumed", "64Gi")
    ]


def test_mistakes_of_a_shape_and_its_flags_come_together() -> None:
    assert _codes("2n0c", memory_per_node="1.5.Gi", hugepages_per_node={"1Gi": "x", "7": "1"}) == [
        "machine/shape-zero",
        "input/invalid",
        "input/invalid",
        "input/invalid",
    ]


def test_a_misspelt_shape_is_told_what_a_shape_is() -> None:
    assert _codes("2n16x") == ["machine/shape"]


def test_something_unknown_is_told_what_is_accepted() -> None:
    for text in ("nosuchfile.tar.gz", "", "a\0b", "no:such", ":", "x" * 5000):
        (finding,) = _refusals(text)
        assert finding.code == "input/not-found"


def test_a_file_wins_over_a_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("2n1c").write_text("nodes: [{memory: 1Gi}]")
    assert open_machine("2n1c").info.memory_capacity_bytes == 1 << 30


def test_memory_per_node_goes_with_shapes_only(tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text("nodes: [{memory: 1Gi}]")
    assert _codes(str(path), memory_per_node="1Gi", hugepages_per_node={"1Gi": "4"}) == [
        "input/conflict"
    ]


def test_a_description_is_read_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text("nodes:\n- memory: 1Gi\n- memory: 1.5.Gi\n")
    (finding,) = _refusals(str(path))
    assert (finding.code, finding.where.line) == ("input/invalid", 3)
    assert finding.where.document == str(path)


def test_a_machine_info_is_told_by_its_fields(tmp_path: Path) -> None:
    path = tmp_path / "info.json"
    path.write_text(json.dumps({"num_cores": 0, "topology": [{"node_id": 3, "memory": 7}]}))
    assert open_machine(str(path)).machine.node_ids == (3,)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "input/invalid"),
        ("nodes: []\n---\nnodes: []\n", "input/invalid"),
        ("nodes: [", "document/syntax"),
        ("nodes: [{memory: 1, memory: 2}]", "document/duplicate-key"),
        ("just a text", "document/type"),
        ("&a [*a]", None),
    ],
)
def test_a_document_that_is_no_description_is_refused(
    tmp_path: Path, text: str, code: str | None
) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text(text)
    codes = _codes(str(path))
    assert code is None or codes == [code]


def test_a_pipe_is_no_machine(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert _codes(str(tmp_path / "pipe")) == ["input/invalid"]


def test_a_link_to_nowhere_is_no_machine(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    assert _codes(str(tmp_path / "link")) == ["input/invalid"]


def test_the_default_memory_is_a_size() -> None:
    assert open_machine("1n1c", memory_per_node=machines.DEFAULT_MEMORY_PER_NODE).notes == ()
