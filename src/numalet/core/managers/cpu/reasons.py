"""Why the CPU Manager refuses, or does not offer a set of NUMA nodes. Numbers are CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from numalet.core.model.numa_mask import NumaMask


@dataclass(frozen=True, slots=True)
class NotWholeCores:
    """full-pcpus-only: the request is no multiple of a core. A typed admission error."""

    code: ClassVar[str] = "cpu/not-whole-cores"
    container: str
    requested: int
    cpus_per_core: int


@dataclass(frozen=True, slots=True)
class TooFewWholeCores:
    """full-pcpus-only: too few CPUs on cores without a reserved CPU. A typed admission error.

    ``available`` counts the shared pool without the cores that hold reserved CPUs, whether or
    not the container has its CPUs already.
    """

    code: ClassVar[str] = "cpu/too-few-whole-cores"
    container: str
    requested: int
    available: int
    cpus_per_core: int


@dataclass(frozen=True, slots=True)
class TooFewCpus:
    """Fewer CPUs are free than are to be taken, after those of the affinity were taken."""

    code: ClassVar[str] = "cpu/too-few-cpus"
    requested: int
    available: int


@dataclass(frozen=True, slots=True)
class AccountingError:
    """The distribution that was found could not be handed out: ``remaining`` CPUs are missing.

    Happens where the winner was overwritten, see ``combination_storage``.
    """

    code: ClassVar[str] = "cpu/accounting-error"
    remaining: int


@dataclass(frozen=True, slots=True)
class WouldHang:
    """The kubelet would go round these NUMA nodes for ever: they have no whole group left.

    ``remaining`` CPUs are to be taken from ``mask`` in groups of ``group_size``.
    """

    code: ClassVar[str] = "cpu/would-hang"
    mask: NumaMask
    remaining: int
    group_size: int


Unpickable: TypeAlias = TooFewCpus | AccountingError | WouldHang
"""Why CPUs could not be picked."""


@dataclass(frozen=True, slots=True)
class OtherSize:
    """No hints: the container holds another number of CPUs than it asks for."""

    code: ClassVar[str] = "cpu/other-size"
    container: str
    requested: int
    held: int


@dataclass(frozen=True, slots=True)
class NoNodesFit:
    """No hints: all NUMA nodes together have too few CPUs free, or not where the pod is."""

    code: ClassVar[str] = "cpu/no-nodes-fit"
    requested: int
    available: int


@dataclass(frozen=True, slots=True)
class TooFewCpusOnNodes:
    """Not offered: too few CPUs of these nodes are free."""

    code: ClassVar[str] = "cpu/too-few-on-nodes"
    mask: NumaMask
    requested: int
    available: int


@dataclass(frozen=True, slots=True)
class ReuseElsewhere:
    """Not offered: CPUs that the pod may use again, or holds, are on other nodes too."""

    code: ClassVar[str] = "cpu/reuse-elsewhere"
    mask: NumaMask
    nodes: NumaMask


@dataclass(frozen=True, slots=True)
class NoCpusOnNodes:
    """Not offered: the set is empty, or some of its nodes have no CPUs."""

    code: ClassVar[str] = "cpu/no-cpus-on-nodes"
    mask: NumaMask
    nodes: NumaMask
