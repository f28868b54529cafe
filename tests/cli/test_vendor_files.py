"""Commands with a vendor's file: what cannot be told is said, and never guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands import Runner, pod
from cli.operating import SHAPE, make_ready

OPENSHIFT = """apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: static}
spec:
  kubeletConfig:
    cpuManagerPolicy: static
    topologyManagerPolicy: single-numa-node
"""
MEMORY = OPENSHIFT.replace(
    "cpuManagerPolicy: static",
    "memoryManagerPolicy: Static\n    reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]",
)
GIVEN = ("--system-reserved", "cpu=500m,memory=924Mi")


@pytest.fixture(autouse=True)
def ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_ready(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name, text in {"cpu.yaml": OPENSHIFT, "memory.yaml": MEMORY}.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("pod.yaml").write_text(pod("web", "1Gi"), encoding="utf-8")


def test_a_static_policy_of_openshift_starts(numalet: Runner) -> None:
    ended = numalet("check", "-c", "cpu.yaml", *SHAPE)

    assert ended.status == 0
    assert ended.out.startswith("The kubelet v1.37 would start")
    assert "systemReserved.cpu (assumed: 500m)" in " ".join(ended.out.split())


def test_what_cannot_be_told_is_a_status_of_its_own(numalet: Runner) -> None:
    ended = numalet("check", "-c", "memory.yaml", *SHAPE)
    text = " ".join(ended.out.split())

    assert ended.status == 4
    assert text.startswith("The kubelet v1.37: cannot tell whether the kubelet starts without")
    assert "oc get --raw /api/v1/nodes/NODE/proxy/configz" in text
    assert "would not start" not in text
    assert numalet("check", "-c", "memory.yaml", *SHAPE, "--strict").status == 1
    assert numalet("check", "-c", "memory.yaml", *SHAPE, *GIVEN).status == 0


def test_a_program_gets_the_status(numalet: Runner) -> None:
    document = json.loads(numalet("check", "-c", "memory.yaml", *SHAPE, "-o", "json").out)

    assert (document["status"], document["starts"], document["start_error"]) == (
        "undecided",
        None,
        None,
    )
    (finding,) = [each for each in document["findings"] if each["severity"] != "note"]
    assert (finding["code"], finding["severity"]) == ("config/undecided", "warning")
    assert "oc get --raw" in finding["message"]


def test_a_start_that_is_undecided_is_a_skipped_test(numalet: Runner) -> None:
    for files in (["-c", "memory.yaml"], ["-c", "cpu.yaml", "-c", "memory.yaml"]):
        printed = numalet("check", *files, *SHAPE, "-o", "junit").out
        assert printed.count("<skipped />") == 1


def test_state_files_are_judged_without_a_guess(numalet: Runner) -> None:
    Path("state").mkdir()
    numalet("simulate", "-c", "cpu.yaml", *SHAPE, "--state-dir", "state", "pod.yaml")
    kept = numalet("state", "restore-check", "-c", "cpu.yaml", *GIVEN, *SHAPE, "state")
    assert (kept.status, kept.out.splitlines()[0]) == (0, "The kubelet starts with these files.")

    ended = numalet("state", "restore-check", "-c", "memory.yaml", *SHAPE, "state")
    assert ended.status == 2
    assert ended.out.startswith("cannot tell whether the kubelet starts without systemReserved")
    assert "not start" not in ended.out + ended.err


def test_a_recording_has_the_values_that_were_assumed(numalet: Runner) -> None:
    numalet("simulate", "-c", "cpu.yaml", *SHAPE, "--record", "r.jsonl", "pod.yaml")

    recorded = json.loads(Path("r.jsonl").read_text(encoding="utf-8"))
    assert recorded["kubelet_config"]["systemReserved"] == {"cpu": "500m", "memory": "1Gi"}


def test_of_several_configurations_what_is_wrong_counts_more(numalet: Runner) -> None:
    both = ("check", "-c", "cpu.yaml", "-c", "memory.yaml", *SHAPE)
    ended = numalet(*both)
    assert ended.status == 4
    assert "2 combinations: 1 would start, 0 would not, cannot tell for 1" in ended.out

    Path("wrong.yaml").write_text(OPENSHIFT.replace("static\n    t", "x\n    t"), encoding="utf-8")
    assert numalet(*both, "-c", "wrong.yaml").status == 1
    assert numalet(*both, "-c", "wrong.yaml", "-c", "none.yaml").status == 2


def test_reserve_asks_for_what_its_sum_depends_on(numalet: Runner) -> None:
    ended = numalet("reserve", "-c", "memory.yaml", *SHAPE)
    assert (ended.status, ended.out) == (2, "")
    assert "cannot tell how much reservedMemory is right without systemReserved.memory" in ended.err
    assert "oc get --raw" in ended.err

    assert numalet("reserve", "-c", "memory.yaml", *SHAPE, *GIVEN).status == 0


def test_reserve_does_not_call_a_start_refused_that_is_undecided(numalet: Runner) -> None:
    Path("kops.yaml").write_text(
        "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: g}\nspec:\n"
        "  kubelet:\n    cpuManagerPolicy: static\n    kubeReserved: {memory: 1Gi}\n"
        "    systemReserved: {memory: 1Gi}\n",
        encoding="utf-8",
    )
    ended = numalet("reserve", "-c", "kops.yaml", *SHAPE)

    assert "cannot tell whether the kubelet starts without" in ended.err
    assert "not start" not in ended.err


@pytest.mark.parametrize("command", ["simulate", "explain", "what-if"])
def test_decisions_are_refused_where_the_start_is_undecided(numalet: Runner, command: str) -> None:
    ended = numalet(command, "-c", "memory.yaml", *SHAPE, "pod.yaml")

    text = " ".join((ended.out + ended.err).split())
    assert ended.status == 2
    assert "cannot tell whether the kubelet starts without systemReserved.memory" in text
    assert "would not start" not in text
    assert "systemReserved.memory (assumed: 1Gi)" in (
        numalet(command, "-c", "cpu.yaml", *SHAPE, "pod.yaml").err
    )


def test_two_releases_are_compared_without_a_guess(numalet: Runner) -> None:
    ended = numalet("check", "-c", "memory.yaml", *SHAPE, "--release", "1.32", "--and", "1.36")

    assert "cannot tell whether the kubelet starts" in ended.out
    assert "does-not-start" not in ended.out
    assert "config/undecided" in ended.out
