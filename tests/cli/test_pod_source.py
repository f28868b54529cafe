"""Whether pods come from an API server or are files of the node, and what is known of the node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands import Runner

MACHINE = ("-m", "2n4c2t", "--memory-per-node", "8Gi")
STATIC = ("--memory-manager-policy", "Static", "--reserved-memory", "0:memory=100Mi")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {disk: ssd}
  containers:
  - name: c
    resources: {limits: {cpu: 1, memory: 1.5Gi, nvidia.com/gpu: 1}}
"""
BIG = """\
apiVersion: v1
kind: Pod
metadata: {name: big}
spec:
  containers:
  - name: c
    resources: {requests: {cpu: 100, memory: 1Ti}}
"""


@pytest.fixture
def pod(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("source", "reason"),
    [((), ""), (("--pod-source=api",), ""), (("--pod-source=file",), "UnexpectedAdmissionError")],
)
def test_a_fraction_of_a_unit_is_refused_of_a_file_alone(
    numalet: Runner, pod: str, source: tuple[str, ...], reason: str
) -> None:
    ended = numalet("simulate", *MACHINE, *STATIC, *source, pod, "-o", "json")
    (step,) = json.loads(ended.out)["steps"]
    assert reason == step["admit"]["reason"]


def test_what_is_not_known_is_named_and_what_is_known_refuses(numalet: Runner, pod: str) -> None:
    ended = numalet("simulate", *MACHINE, pod, "-o", "json")
    (step,) = json.loads(ended.out)["steps"]
    assert step["admit"]["admitted"]
    assert step["admit"]["not_asked"] == [{"predicate": "NodeAffinity", "why": "node-labels"}]
    assert step["admit"]["passed_over"] == ["nvidia.com/gpu"]
    assert "--node-labels" in ended.err
    assert "nvidia.com/gpu: no node offers it" in ended.err
    for labels, reason in (("disk=hdd", "NodeAffinity"), ("disk=ssd,zone=a", "")):
        ended = numalet("explain", *MACHINE, "--node-labels", labels, pod, "-o", "json")
        assert reason == json.loads(ended.out)["reason"]
    assert numalet("simulate", *MACHINE, "--node-labels", "disk", pod).status == 2


@pytest.mark.parametrize(
    "command", [("simulate",), ("explain", "--budget=0"), ("explain", "--budget=0", "--native")]
)
def test_more_than_the_node_has_is_refused_everywhere(
    numalet: Runner, tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = tmp_path / "big.yaml"
    path.write_text(BIG, encoding="utf-8")
    ended = numalet(*command, *MACHINE, str(path))
    assert ended.status == 1
    assert "OutOfcpu" in ended.out


def test_a_profile_brings_its_devices(numalet: Runner, pod: str) -> None:
    profile = ("-m", "profile:gh200-9n")
    ended = numalet("simulate", *profile, pod, "-o", "json")
    (step,) = json.loads(ended.out)["steps"]
    assert step["admit"]["devices"] == {"c": {"nvidia.com/gpu": ["gpu0"]}}
    other = numalet("simulate", *profile, "--device", "a.b/c=x@0", "--native", pod, "-o", "json")
    (step,) = json.loads(other.out)["steps"]
    assert step["admit"]["reason"] == "OutOfnvidia.com/gpu"
