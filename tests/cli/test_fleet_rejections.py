"""``numalet fleet why`` and ``fleet rejected``: what is printed, and the exit status."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli import console_page
from cli.commands import Runner
from numalet.insight.output import schemas
from values import gpu_dump


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "dump.json"
    gpu_dump.write_rejections(path)
    return str(path)


def _document(name: str, text: str) -> Any:
    document = json.loads(text)
    (form,) = schemas.DOCUMENTS[name]
    msgspec.convert(document, form)
    return document


def test_rejected_pods_are_listed_by_owner_shape_and_reason(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "rejected", "--dump", dump)
    assert (ended.status, ended.err) == (1, "")
    lines = ended.out.splitlines()
    assert lines[0] == "4 pods were rejected at admission: gpu-1 3, gpu-2 1"
    assert "Next: numalet fleet why default/infer-0" in lines
    document = _document(
        "fleet-rejected", numalet("fleet", "rejected", "--dump", dump, "-o", "json").out
    )
    assert [(each["owner"], each["count"]) for each in document["groups"]] == [
        ("Job/infer", 1),
        ("Job/llm", 3),
    ]
    assert document["groups"][1]["nodes"] == {"gpu-1": 2, "gpu-2": 1}
    printed = numalet("fleet", "rejected", "--dump", dump, "-o", "csv").out
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [(each["node"], each["count"], each["fits_on"]) for each in rows] == [
        ("gpu-1", "1", "1"),
        ("gpu-1", "2", "0"),
        ("gpu-2", "1", "0"),
    ]


def test_without_a_rejected_pod_the_answer_is_yes(numalet: Runner, tmp_path: Path) -> None:
    gpu_dump.write_three_nodes(tmp_path / "dump.json")
    ended = numalet("fleet", "rejected", "--dump", str(tmp_path / "dump.json"))
    assert ended.status == 0
    assert ended.out.startswith("No pod of the cluster was rejected by a kubelet.\n")


def test_a_pod_that_fits_elsewhere_is_explained(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "why", "infer-0", "--dump", dump)
    assert (ended.status, ended.err) == (0, "")
    assert "default/infer-0 (Job/infer) was rejected on gpu-1" in ended.out
    assert "TopologyAffinityError" in ended.out
    assert "It fits now on 1 node: gpu-4" in ended.out
    assert "The scheduler may also choose 2 nodes that reject it: gpu-1, gpu-2." in ended.out
    document = _document(
        "fleet-why", numalet("fleet", "why", "infer-0", "--dump", dump, "-o", "json").out
    )
    assert document["there"]["verdict"] == "rejected"
    assert [each["way"] for each in document["ways_out"]] == ["node"]


def test_a_pod_that_fits_nowhere_has_ways_out(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "why", "default/llm-0", "--dump", dump)
    assert ended.status == 1
    assert "It fits on no node now." in ended.out
    assert "Suggestion: main asks for 3 of nvidia.com/gpu instead of 4" in ended.out
    assert "Or: evict 1 pod from gpu-" in ended.out
    rows = numalet("fleet", "why", "default/llm-0", "--dump", dump, "-o", "csv").out
    assert "default/llm-0,,gpu-1,,,,,fleet/devices-apart" in rows


def test_pods_that_were_not_rejected_are_answered_too(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "why", "z", "--dump", dump)
    assert ended.status == 0
    assert "default/z (ReplicaSet/of-z) was not rejected: it is on gpu-3" in ended.out
    ended = numalet("fleet", "why", "big", "--dump", dump)
    assert ended.status == 1
    assert "default/big (ReplicaSet/of-big) waits for a node" in ended.out


def test_errors_say_which_pod_is_meant(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "why", "llm", "--dump", dump)
    assert (ended.status, ended.out) == (2, "")
    assert "'llm' is a Job with 3 pods, 3 of them rejected, not a pod" in ended.err
    ended = numalet("fleet", "why", "default/llm-9", "--dump", dump)
    assert ended.status == 2
    assert "did you mean default/llm-" in ended.err


def test_without_a_decided_node_only_the_record_is_known(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    gpu_dump.write_rejections(path)
    listed = json.loads(path.read_text(encoding="utf-8"))
    listed["items"] = [each for each in listed["items"] if "Numa" not in each["kind"]]
    path.write_text(json.dumps(listed), encoding="utf-8")
    ended = numalet("fleet", "why", "infer-0", "--dump", str(path))
    assert ended.status == 2
    assert "was rejected on gpu-1" in ended.out
    assert "gpu-1 is not decided on now" in ended.out
    assert "No node has enough data for a decision." in ended.out


@pytest.mark.parametrize(("word", "meant"), [("explain", "why"), ("drain", "free")])
def test_words_of_other_commands_lead_to_the_one_that_is_meant(
    numalet: Runner, word: str, meant: str
) -> None:
    ended = numalet("fleet", word, "x")
    assert ended.status == 2
    assert f"No such command '{word}'. Did you mean '{meant}'?" in ended.err


SHOWN = [each for each in console_page.shown("why-rejected.md") if "--dump" in each[0]]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "expected"), SHOWN)
def test_a_command_prints_what_the_page_says(command: str, expected: str, dump: str) -> None:
    assert console_page.printed(command, Path(dump).parent) == expected
