"""Why the CPU Manager refuses, or does not offer a set of NUMA nodes. Numbers are CPUs."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class NotWholeCores(Value):
    """full-pcpus-only: the request is not a multiple of a core. A typed admission error."""

    code: ClassVar[str] = "cpu/not-whole-cores"
    sentence: ClassVar[str] = (
        "Container {container} requests {requested} CPUs; with full-pcpus-only the number must be "
        "a multiple of {cpus_per_core}, the threads of a core."
    )
    kubelet_text: ClassVar[str] = (
        "SMT Alignment Error: requested {requested} cpus not multiple cpus per core = "
        "{cpus_per_core}"
    )
    kubelet_reason: ClassVar[str] = "SMTAlignmentError"
    container: str
    requested: int
    cpus_per_core: int


class TooFewWholeCores(Value):
    """full-pcpus-only: too few CPUs on cores without a reserved CPU. A typed admission error.

    ``available`` is the shared pool without the cores that have reserved CPUs, even if the
    container already has its CPUs.
    """

    code: ClassVar[str] = "cpu/too-few-whole-cores"
    sentence: ClassVar[str] = (
        "Container {container} requests {requested} CPUs; with full-pcpus-only they must be on "
        "cores without a reserved CPU, and {available} CPUs are free there (a core has "
        "{cpus_per_core})."
    )
    kubelet_text: ClassVar[str] = (
        "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = "
        "{available}, requested CPUs = {requested}, CPUs per core = {cpus_per_core}"
    )
    kubelet_reason: ClassVar[str] = "SMTAlignmentError"
    container: str
    requested: int
    available: int
    cpus_per_core: int


class TooFewCpus(Value):
    """Too few CPUs are free for the rest, after taking those of the affinity."""

    code: ClassVar[str] = "cpu/too-few-cpus"
    sentence: ClassVar[str] = "{requested} more CPUs are needed, but only {available} are free."
    kubelet_text: ClassVar[str] = (
        "not enough cpus available to satisfy request: requested={requested}, available={available}"
    )
    requested: int
    available: int


class AccountingError(Value):
    """The chosen distribution lacks ``remaining`` CPUs.

    This follows from an overwritten winner, see ``take_distributed``.
    """

    code: ClassVar[str] = "cpu/accounting-error"
    sentence: ClassVar[str] = (
        "The NUMA nodes chosen for the request could not provide all of it: {remaining} CPUs are "
        "missing. Kubelet bug: it allocates from the wrong NUMA nodes."
    )
    kubelet_text: ClassVar[str] = (
        "accounting error, not enough CPUs allocated, remaining: {remaining}"
    )
    remaining: int


class WouldHang(Value):
    """The kubelet would loop forever over NUMA nodes without a whole free group.

    It would take ``remaining`` CPUs from ``mask`` in groups of ``group_size``.
    """

    code: ClassVar[str] = "cpu/would-hang"
    sentence: ClassVar[str] = (
        "The kubelet would search forever for {remaining} more CPUs, in groups of {group_size}, on "
        "NUMA nodes {mask}, which have no whole group left."
    )
    mask: NumaMask
    remaining: int
    group_size: int


Unpickable: TypeAlias = TooFewCpus | AccountingError | WouldHang


class NoCpusToShare(Value):
    """A pod placed as a whole has no CPUs for containers that share. A typed admission error."""

    code: ClassVar[str] = "cpu/no-cpus-to-share"
    sentence: ClassVar[str] = (
        "The pod requests {total} CPUs in spec.resources. Containers with exclusive CPUs use "
        "{exclusive}, which leaves no CPUs for the containers that share."
    )
    kubelet_text: ClassVar[str] = (
        "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus "
        "for shared containers"
    )
    kubelet_reason: ClassVar[str] = "EmptyPodSharedPoolError"
    total: int
    exclusive: int


class NoCpusToShareAtStart(Value):
    """A pod placed as a whole has no CPUs for an init container that shares.

    A typed admission error; ``exclusive`` are the CPUs of the sidecars before it.
    """

    code: ClassVar[str] = "cpu/no-cpus-to-share-at-start"
    sentence: ClassVar[str] = (
        "The pod requests {total} CPUs in spec.resources. Its sidecars use {exclusive} "
        "exclusively, which leaves no CPUs for init container {container}, which shares."
    )
    kubelet_text: ClassVar[str] = (
        "pod rejected, pod has shared init containers but no cpus available for them"
    )
    kubelet_reason: ClassVar[str] = "EmptyPodSharedPoolError"
    container: str
    total: int
    exclusive: int


class OtherSize(Value):
    """No hints: the container holds another number of CPUs than it requests."""

    code: ClassVar[str] = "cpu/other-size"
    sentence: ClassVar[str] = (
        "Container {container} requests {requested} CPUs, but already holds {held}."
    )
    container: str
    requested: int
    held: int


class NoNodesFit(Value):
    code: ClassVar[str] = "cpu/no-nodes-fit"
    sentence: ClassVar[str] = (
        "{requested} CPUs requested; {available} free on all NUMA nodes together."
    )
    requested: int
    available: int


class TooFewCpusOnNodes(Value):
    code: ClassVar[str] = "cpu/too-few-on-nodes"
    sentence: ClassVar[str] = "NUMA nodes {mask} have {available} CPUs free; {requested} requested."
    brief: ClassVar[str] = "{short} CPUs short ({available} free)"
    mask: NumaMask
    requested: int
    available: int


class ReuseElsewhere(Value):
    """Not offered: some of the pod's reusable or held CPUs are on other nodes."""

    code: ClassVar[str] = "cpu/reuse-elsewhere"
    sentence: ClassVar[str] = (
        "The pod holds CPUs on NUMA nodes {nodes}, and {mask} does not contain all of these."
    )
    brief: ClassVar[str] = "container {holders} of the pod holds CPUs on {nodes}"
    mask: NumaMask
    nodes: NumaMask


class NoCpusOnNodes(Value):
    """Not offered: the set is empty, or some of its nodes have no CPUs."""

    code: ClassVar[str] = "cpu/no-cpus-on-nodes"
    sentence: ClassVar[str] = (
        "NUMA nodes {mask} are not a set of nodes with CPUs; nodes without CPUs: {nodes}."
    )
    brief: ClassVar[str] = "nodes without CPUs: {nodes}"
    mask: NumaMask
    nodes: NumaMask


class NoRoomToShare(Value):
    """No NUMA node has enough shared CPUs that other confined pods did not request."""

    code: ClassVar[str] = "cpu/no-room-to-share"
    sentence: ClassVar[str] = (
        "The pod requests {requested_milli}m of the shared CPUs of one NUMA node; the most that a "
        "node has is {available_milli}m."
    )
    requested_milli: int
    available_milli: int


class ConfinedPodsNeedThem(Value):
    """The exclusive CPUs would leave the confined pods of a NUMA node fewer than they requested."""

    code: ClassVar[str] = "cpu/confined-pods-need-them"
    sentence: ClassVar[str] = (
        "Exclusive CPUs of NUMA node {node_id} would leave its confined pods {missing_milli}m less "
        "than they requested."
    )
    node_id: int
    missing_milli: int
