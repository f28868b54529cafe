"""Notes about a machine."""

from __future__ import annotations

from numalet.core.model.findings import NoteFinding


class MachineNoteOfIds(NoteFinding):
    """A note about CPUs or nodes, with their ids."""

    value: str


class MachineNoteNoNuma(NoteFinding):
    sentence = (
        "the kernel has no NUMA nodes; the kubelet treats every socket as one, without memory"
    )


class MachineNoteCpuless(MachineNoteOfIds):
    sentence = "no CPUs: NUMA nodes {value}"


class MachineNoteMemoryless(MachineNoteOfIds):
    sentence = "no memory: NUMA nodes {value}"


class MachineNoteMemoryUnknown(MachineNoteOfIds):
    sentence = "memory unknown: NUMA nodes {value}; assumed to be 0"


class MachineNoteOffline(MachineNoteOfIds):
    sentence = "offline CPUs: {value}"


class MachineNoteHomeless(MachineNoteOfIds):
    sentence = "CPUs {value} are online, but not in any NUMA node; the kubelet does not see them"


class MachineNoteShared(MachineNoteOfIds):
    sentence = "several NUMA nodes list the CPUs {value}"


class MachineNoteLinks(NoteFinding):
    sentence = (
        "the cpuM links of the nodes are missing or broken, as in some archives; the kubelet's "
        "view uses their CPU lists instead"
    )


class MachineNoteManyNodes(NoteFinding):
    sentence = (
        "{value} NUMA nodes: with topology policies other than none, the kubelet needs "
        "max-allowable-numa-nodes above {limit}"
    )
    value: int
    limit: int


class MachineNoteHighIds(MachineNoteOfIds):
    sentence = "NUMA node ids {value} are above {limit}, the highest id of the kubelet"
    limit: int


class MachineNoteSparseIds(MachineNoteOfIds):
    sentence = (
        "NUMA node ids have gaps ({value}); the kubelet's prefer-closest-numa-nodes does not "
        "support that"
    )


class MachineNoteNoDistances(MachineNoteOfIds):
    sentence = "distances unknown: NUMA nodes {value}"


class MachineNoteRowLength(MachineNoteOfIds):
    sentence = "rows of distances of NUMA nodes {value} do not have one number per node"


class MachineNotePages(MachineNoteOfIds):
    sentence = "more huge pages than memory: NUMA nodes {value}"


class MachineNoteViewsDiffer(NoteFinding):
    sentence = "the kubelet counts {what} differently: {kubelet} where the machine has {kernel}"
    what: str
    kernel: int
    kubelet: int
