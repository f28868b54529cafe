"""The questions of the command line, asked from Python, have the answers of the command line."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import numalet
from numalet.insight.python_api.nodes import AnyMachine

CONFIG = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "memoryManagerPolicy": "Static",
    "evictionHard": {"memory.available": "100Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
    "topologyManagerPolicy": "single-numa-node",
}
POD = (
    "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: c,"
    ' resources: {{limits: {{cpu: "1", memory: {memory}Gi}}}}}}]}}}}'
)


def pods(*sizes_gib: int) -> tuple[numalet.Pod, ...]:
    texts = (POD.format(name=f"p{at}", memory=size) for at, size in enumerate(sizes_gib))
    return numalet.read_pods("\n---\n".join(texts), "example").pods


def run(*arguments: str) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "numalet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def node() -> numalet.Node:
    started = numalet.start_node(numalet.decode_config(CONFIG, "x"), "2n4c2t")
    assert isinstance(started, numalet.Node)
    return started


def written(tmp_path: Path, text: str = "") -> tuple[str, ...]:
    (tmp_path / "kubelet.yaml").write_text(json.dumps(CONFIG))
    (tmp_path / "pods.yaml").write_text(text)
    return "-c", str(tmp_path / "kubelet.yaml"), "-m", "2n4c2t"


def test_an_explanation_is_that_of_the_command(tmp_path: Path) -> None:
    first, second = pods(60, 100)
    text = "\n---\n".join(
        POD.format(name=f"p{at}", memory=size) for at, size in ((0, 60), (1, 100))
    )
    options = written(tmp_path, text)
    shown: dict[str, Any] = json.loads(
        run("explain", *options, str(tmp_path / "pods.yaml"), "-o", "json")
    )
    config = numalet.decode_config(CONFIG, "x")
    found = numalet.explain(node(), second, after=[first], config=config)
    assert found == shown
    assert not found["admitted"]
    assert any(each["offers"] for each in found["would_admit"])


def test_with_a_configuration_a_node_is_a_fresh_one() -> None:
    first, second = pods(1, 1)
    busy, _ = node().admit(first)
    assert numalet.explain(busy, second)["admitted"]
    with pytest.raises(ValueError, match="after"):
        numalet.explain(busy, second, config=numalet.decode_config(CONFIG, "x"))


def test_what_if_is_rows_of_figures() -> None:
    config = numalet.decode_config(CONFIG, "x")
    large = numalet.open_machine("1n8c2t", memory_per_node="128Gi")
    machines: dict[str, AnyMachine] = {"small": "2n4c2t", "one": large}
    rows = numalet.what_if(pods(60, 100, 2), machines, {"mine": config}, scopes=["container"])
    assert len(rows) == 8
    assert len({tuple(row) for row in rows}) == 1
    by_name = {(row["machine"], row["policy"]): row for row in rows}
    assert by_name["small", "single-numa-node"]["admitted_given_order"] == 2
    assert by_name["small", "best-effort"]["admitted_given_order"] == 2
    assert by_name["one", "single-numa-node"]["admitted_given_order"] == 2
    assert by_name["one", "none"]["rejected_given_order"]


def test_a_check_has_what_the_command_finds(tmp_path: Path) -> None:
    options = written(tmp_path)
    shown = json.loads(run("check", *options, "-o", "json"))
    rows = numalet.check(numalet.decode_config(CONFIG, "x"), "2n4c2t")
    assert [row.code for row in rows] == [each["code"] for each in shown["findings"]]
    assert rows
    assert all(row.sentence for row in rows)


def test_a_reservation_is_one_with_which_the_kubelet_starts() -> None:
    config = numalet.decode_config({**CONFIG, "reservedMemory": []}, "x")
    assert isinstance(numalet.start_node(config, "2n4c2t"), numalet.StartRefused)
    plan = numalet.reserve(config, "2n4c2t")
    config = dataclasses.replace(config, reserved_memory=plan.entries)
    assert isinstance(numalet.start_node(config, "2n4c2t"), numalet.Node)
    with pytest.raises(numalet.BadInput, match="odd"):
        numalet.reserve(config, "2n4c2t", strategy="odd")


def test_state_files_are_read_verified_and_tried(tmp_path: Path) -> None:
    after, _ = node().admit(pods(2)[0])
    for name, text in after.state_files().items():
        (tmp_path / name).write_text(text)
    files = numalet.read_state_files(tmp_path)
    assert files == after.state_files()
    assert all(not report.findings for report in numalet.verify_state_files(files, "2n4c2t"))
    config = numalet.decode_config(CONFIG, "x")
    assert numalet.check_restart(config, "2n4c2t", files).answer.value == "accepted"
    assert numalet.check_restart(config, "4n4c2t", files).answer.value == "refused"


def test_a_recorded_scenario_is_replayed(tmp_path: Path) -> None:
    options = written(tmp_path, POD.format(name="p", memory=2))
    record = tmp_path / "recorded.jsonl"
    run("simulate", *options, str(tmp_path / "pods.yaml"), "--record", str(record))
    (report,) = numalet.replay([str(record)], 1)
    assert type(report).__name__ == "PassedReport"


def test_rows_have_one_set_of_keys() -> None:
    now, decisions = node(), []
    for pod in pods(60, 100, 2):
        now, decision = now.admit(pod)
        decisions.append(decision)
    rows = numalet.decision_rows(decisions)
    assert len({tuple(row) for row in rows}) == 1
    assert [(row["pod"], row["admitted"]) for row in rows] == [
        ("p0", True),
        ("p1", False),
        ("p2", True),
    ]
    assert rows[1]["reason"] == "UnexpectedAdmissionError"
    held = numalet.placement_rows(now.snapshot)
    assert {row["pod"]: row["memory_bytes"] >> 30 for row in held} == {"p0": 60, "p2": 2}
    assert json.dumps([*rows, *held])


def test_a_release_is_followed_everywhere_and_an_unknown_one_is_refused() -> None:
    config = numalet.decode_config({**CONFIG, "featureGates": {"CPUManager": True}}, "x")
    newest = numalet.RELEASES[-1]

    assert isinstance(numalet.start_node(config, "2n4c2t", release="1.32"), numalet.Node)
    for release in (None, "1.33", "v1.34.9", newest):
        assert isinstance(
            numalet.start_node(config, "2n4c2t", release=release), numalet.StartRefused
        )
        assert any(row.kubelet_text for row in numalet.check(config, "2n4c2t", release=release))
        assert numalet.reserve(config, "2n4c2t", release=release).refused is not None
        answer = numalet.check_restart(config, "2n4c2t", {}, release=release).answer
        assert answer.value == "not-asked"
    rows = numalet.what_if(
        pods(1), {"m": "2n4c2t"}, {"c": config}, policies=["none"], releases=["1.32", newest]
    )
    assert [(row["release"], row["start_error"] is None) for row in rows] == [
        ("1.32", True),
        (newest.name, False),
    ]
    with pytest.raises(numalet.BadInput, match=r"unknown release 1\.38"):
        numalet.start_node(config, "2n4c2t", release="1.38")
    with pytest.raises(numalet.BadInput, match="invalid Kubernetes release"):
        numalet.replay(["x"], release="")
