"""The variables for OpenMP, CUDA and MPI, from the place of a command."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from numalet.agent.run import requested_environment
from numalet.core.model.findings import BadInput
from numalet.insight.output import run_document
from values.builders import simple

_REFUSED = run_document.refused(simple("app", "1Gi"), "", "", fits_when_empty=True, by="node-state")
PLACE = msgspec.structs.replace(
    _REFUSED, admitted=True, cpus="0-1,8", numa_nodes=[0], devices={"nvidia.com/gpu": ["1", "0"]}
)
SHARED = msgspec.structs.replace(_REFUSED, admitted=True, shared_cpus="0-7", numa_nodes=[1])


def test_names_are_lists_or_all() -> None:
    assert requested_environment.chosen([]) == ()
    assert requested_environment.chosen(["mpi,openmp", "mpi"]) == ("mpi", "openmp")
    assert requested_environment.chosen(["openmp,all"]) == ("openmp", "cuda", "mpi")
    with pytest.raises(BadInput, match="invalid name 'openpm'"):
        requested_environment.chosen(["openpm"])


def test_openmp_has_a_place_for_each_cpu() -> None:
    assert requested_environment.of(["openmp"], PLACE, "3") == {
        "OMP_NUM_THREADS": "3",
        "OMP_PLACES": "{0},{1},{8}",
        "OMP_PROC_BIND": "close",
        "GOMP_CPU_AFFINITY": "0-1,8",
    }


def test_openmp_on_shared_cpus_has_as_many_threads_as_asked_for() -> None:
    expected = {"OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "false"}
    assert requested_environment.of(["openmp"], SHARED, "1500m") == expected


def test_cuda_sees_the_allocated_devices() -> None:
    assert requested_environment.of(["cuda"], PLACE, "1") == {"CUDA_VISIBLE_DEVICES": "1,0"}


def test_mpi_leaves_its_processes_where_they_are() -> None:
    assert requested_environment.of(["mpi"], PLACE, "1") == requested_environment.MPI


@pytest.fixture
def gpus(tmp_path: Path) -> tuple[Path, Path]:
    """The files of a driver and of the kernel about GPUs on two nodes."""
    driver, devices = tmp_path / "gpus", tmp_path / "devices"
    for address, node in (("0000:1B:00.0", "0"), ("0000:3b:00.0", "1"), ("0000:5e:00.0", "1")):
        (driver / address).mkdir(parents=True)
        text = f"Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-{address[5:7].lower()}\nIRQ: 1\n"
        (driver / address / "information").write_text(text)
        (devices / address.lower()).mkdir(parents=True)
        (devices / address.lower() / "numa_node").write_text(f"{node}\n")
    (driver / "0000:7a:00.0").mkdir()
    return driver, devices


def test_gpus_are_found_by_the_node_of_their_pci_device(gpus: tuple[Path, Path]) -> None:
    assert list(requested_environment.gpus_on([1], *gpus)) == ["GPU-3b", "GPU-5e"]
    assert list(requested_environment.gpus_on([0, 1], *gpus)) == ["GPU-1b", "GPU-3b", "GPU-5e"]
    assert list(requested_environment.gpus_on([2], *gpus)) == []
    (gpus[1] / "0000:1b:00.0" / "numa_node").write_text("-1\n")
    assert list(requested_environment.gpus_on([2], *gpus)) == ["GPU-1b"]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (None, "GPU-3b,GPU-5e"),
        ("GPU-5e,GPU-1b", "GPU-5e"),
        # Numbers of a scheduler: which devices they are depends on their order.
        ("0,1", None),
        ("GPU-1b", None),
    ],
)
def test_cuda_sees_near_gpus_among_those_of_the_caller(
    gpus: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    before: str | None,
    expected: str | None,
) -> None:
    found = list(requested_environment.gpus_on([1], *gpus))
    monkeypatch.setattr(requested_environment, "gpus_on", lambda _: found)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if before is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", before)
    made = requested_environment.of(["cuda"], SHARED, "1")
    assert made == ({} if expected is None else {"CUDA_VISIBLE_DEVICES": expected})
