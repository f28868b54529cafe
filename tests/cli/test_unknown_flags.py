"""A flag that a release does not have: in every command, with the nearest one that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Runner, pod

MACHINE = ("-m", "2n4c2t", "--memory-per-node", "10Gi")
SAID = "failed to parse kubelet flag: unknown flag: --cpu-manager-polcy"
HINT = "did you mean --cpu-manager-policy?"


@pytest.fixture
def misspelt(tmp_path: Path) -> str:
    path = tmp_path / "args"
    path.write_text("/usr/bin/kubelet --cpu-manager-polcy=static --kube-reserved=cpu=1\n")
    return str(path)


@pytest.fixture
def gone(tmp_path: Path) -> str:
    path = tmp_path / "kubeadm-flags.env"
    path.write_text('KUBELET_KUBEADM_ARGS="--pod-infra-container-image=pause:3.10 --max-pods=9"\n')
    return str(path)


@pytest.fixture
def pods(tmp_path: Path) -> str:
    path = tmp_path / "pods.yaml"
    path.write_text(pod("p", "1Gi"))
    return str(path)


@pytest.mark.parametrize(
    ("command", "status"), [("check", 1), ("simulate", 2), ("explain", 2), ("what-if", 2)]
)
def test_a_misspelt_flag_stops_the_start(
    numalet: Runner, misspelt: str, pods: str, command: str, status: int
) -> None:
    ended = numalet(command, "-c", misspelt, *MACHINE, pods)

    assert ended.status == status
    words = " ".join((ended.out + ended.err).split())
    assert SAID in words
    assert HINT in words
    assert "args:1" in words


def test_reserve_says_it_next_to_what_else_is_wrong(numalet: Runner, misspelt: str) -> None:
    ended = numalet("reserve", "-c", misspelt, *MACHINE)

    assert ended.status == 2
    assert HINT in ended.err
    assert "add up to 0 bytes of memory" in ended.err


def test_a_flag_that_is_gone_is_an_error_of_that_release_alone(
    numalet: Runner, gone: str, pods: str
) -> None:
    compared = numalet("check", "--release", "1.32", "--and", "1.36", "--all", "-c", gone, *MACHINE)
    variants = numalet("what-if", "--release", "1.34,1.35", "-c", gone, *MACHINE, pods)

    assert compared.status == 1
    assert "flag/unknown" in compared.out
    assert "upgrade/gate-default" in compared.out
    rows = [line.split()[2:4] for line in variants.out.splitlines() if line.startswith("none ")]
    assert rows == [["1.34", "1"], ["1.35", "no"]]
    assert "(v1.34 is the last release that has it)" in " ".join(variants.out.split())
