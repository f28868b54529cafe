"""Variables for libraries that place threads, processes or kernels: OpenMP, CUDA, MPI.

They describe the place of a command, so they replace those of the caller. See ``--env``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from numalet.core.model import cpu_set, input_error
from numalet.core.model.findings import Location
from numalet.core.model.quantity import Quantity
from numalet.insight.output.run_document import RunDocument

_DRIVER: Final = Path("/proc/driver/nvidia/gpus")
_PCI: Final = Path("/sys/bus/pci/devices")
_VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
_UUID: Final = re.compile(r"^GPU UUID:\s*(GPU-\S+)$", re.MULTILINE)

MPI: Final[Mapping[str, str]] = {
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "I_MPI_PIN": "0",
    "MV2_ENABLE_AFFINITY": "0",
    "HYDRA_BINDING": "none",
    "SLURM_CPU_BIND": "none",
}
"""Launchers and libraries leave the CPUs of the processes as they are: Open MPI 4 and 5, Intel MPI,
MVAPICH, MPICH, and Slurm's srun."""


def chosen(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names in texts such as ``openmp,cuda``. Raises ``BadInput``."""
    names = [name for text in texts for name in text.split(",")]
    unknown = [name for name in names if name not in (*_MAKERS, "all")]
    if unknown:
        raise input_error.Invalid(
            f"invalid name {unknown[0]!r}",
            expected=f"{', '.join(_MAKERS)} or all",
            where=Location("--env"),
        ).bad_input()
    return tuple(_MAKERS) if "all" in names else tuple(dict.fromkeys(names))


def of(names: Iterable[str], place: RunDocument, cpus: str) -> dict[str, str]:
    """Return the variables; ``cpus`` is the amount that the user asked for."""
    return {key: text for name in names for key, text in _MAKERS[name](place, cpus).items()}


def openmp(place: RunDocument, cpus: str) -> Mapping[str, str]:
    """One thread for each CPU, bound to it; on shared CPUs as many as asked for, not bound."""
    if not place.cpus:
        return {"OMP_NUM_THREADS": str(Quantity.parse(cpus).value), "OMP_PROC_BIND": "false"}
    own = sorted(cpu_set.parse(place.cpus))
    return {
        "OMP_NUM_THREADS": str(len(own)),
        "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in own),
        "OMP_PROC_BIND": "close",
        "GOMP_CPU_AFFINITY": cpu_set.text(own),
    }


def cuda(place: RunDocument, _cpus: str = "") -> Mapping[str, str]:
    """The allocated devices of NVIDIA; without any, the GPUs of the command's NUMA nodes.

    A scheduler may have chosen GPUs by their ids, and then only these count. Numbers depend on the
    order of the devices, so a choice by numbers stays as it is.
    """
    own = [id_ for name, ids in place.devices.items() if "nvidia.com/" in name for id_ in ids]
    if own:
        return {_VISIBLE: ",".join(own)}
    before = os.environ.get(_VISIBLE, "")
    visible = before.split(",") if before else []
    near = [id_ for id_ in gpus_on(place.numa_nodes) if not visible or id_ in visible]
    return {_VISIBLE: ",".join(near)} if near else {}


def gpus_on(
    numa_nodes: Iterable[int], driver: Path = _DRIVER, devices: Path = _PCI
) -> Iterator[str]:
    """Return the ids of NVIDIA's GPUs on these nodes, in the order of their PCI addresses."""
    # The kernel says -1 where the firmware does not know the node.
    wanted = {"-1", *map(str, numa_nodes)}
    for folder in sorted(driver.glob("*")):
        try:
            node = (devices / folder.name.lower() / "numa_node").read_text().strip()
            found = _UUID.search((folder / "information").read_text())
        except OSError:
            continue
        if found is not None and node in wanted:
            yield found[1]


_MAKERS: Final[Mapping[str, Callable[[RunDocument, str], Mapping[str, str]]]] = {
    "openmp": openmp,
    "cuda": cuda,
    "mpi": lambda _place, _cpus: MPI,
}
