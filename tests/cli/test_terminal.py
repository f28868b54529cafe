"""What every command owes a terminal: its width, whole items, and no escapes where unwanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import on_terminal, process

PODS = "\n---\n".join(
    f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: ml, uid: {name}}}
spec:
  containers:
  - name: main
    resources: {{limits: {{cpu: {cpus}, memory: 16Gi, nvidia.com/gpu: {gpus}}}}}
"""
    for name, cpus, gpus in (
        ("train-llama-0", 24, 2),
        ("train-llama-1", 24, 2),
        ("notebook-with-a-very-long-name-that-goes-on-and-on-7f9c4d-x2x9z", 4, 1),
        ("too-large", 300, 1),
    )
)
CONFIG = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
topologyManagerPolicy: single-numa-node
reservedSystemCPUs: "0,112"
unknownField: 1
"""
DGX = ("-m", "profile:dgx-h100", "--devices", "profile:dgx-h100")
LISTS = ("1-12,113-124", "13-24,125-136", "56-57,168-169", "gpu0", "gpu1", "gpu4")
KINDS = ({"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"})


@pytest.fixture
def simulation(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "pods.yaml").write_text(PODS)
    (tmp_path / "kubelet.yaml").write_text(CONFIG)
    files = (str(tmp_path / "kubelet.yaml"), str(tmp_path / "pods.yaml"))
    return ("simulate", "-c", files[0], *DGX, files[1])


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_escape_sequence_is_printed_where_none_is_understood(
    kind: dict[str, str], simulation: tuple[str, ...]
) -> None:
    shown = on_terminal(*simulation, columns=80, **kind)
    assert "unknownField" in shown
    assert "\x1b" not in shown


def test_another_terminal_has_colours(simulation: tuple[str, ...]) -> None:
    assert "\x1b[32mAdmitted" in on_terminal(*simulation, columns=80, TERM="xterm")


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_a_simulation_fits_the_terminal(columns: int, simulation: tuple[str, ...]) -> None:
    shown = on_terminal(*simulation, columns=columns)
    assert max(map(len, shown.splitlines())) <= columns
    items = [item for text in LISTS for item in text.split(",")]
    assert not set(items) - set(shown.replace(",", " ").replace("=", " ").split())


def test_a_simulation_in_a_pipe_is_no_wider_than_its_names_need(
    simulation: tuple[str, ...],
) -> None:
    ended = process(*simulation)
    name = "ml/notebook-with-a-very-long-name-that-goes-on-and-on-7f9c4d-x2x9z"
    pods, _, rest = ended.out.partition("\n\n")
    assert name in pods
    assert max(map(len, rest.splitlines())) <= 80
    assert f"{name}:\n  56-57,168-169\n" in rest
