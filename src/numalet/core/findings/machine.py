"""What is noteworthy about a machine."""

from __future__ import annotations

from numalet.core.model.findings import NoteFinding


class MachineNoteOfIds(NoteFinding):
    """Something that is so of CPUs or nodes, whose ids are listed."""

    value: str


class MachineNoteNoNuma(NoteFinding):
    code = "machine/note-no-numa"
    sentence = (
        "the kernel knows no NUMA nodes; the kubelet treats every socket as one, without memory"
    )


class MachineNoteCpuless(MachineNoteOfIds):
    code = "machine/note-cpuless"
    sentence = "no CPUs: NUMA nodes {value}"


class MachineNoteMemoryless(MachineNoteOfIds):
    code = "machine/note-memoryless"
    sentence = "no memory: NUMA nodes {value}"


class MachineNoteMemoryUnknown(MachineNoteOfIds):
    code = "machine/note-memory-unknown"
    sentence = "memory unknown: NUMA nodes {value}; assumed to have none"


class MachineNoteOffline(MachineNoteOfIds):
    code = "machine/note-offline"
    sentence = "offline CPUs: {value}"


class MachineNoteHomeless(MachineNoteOfIds):
    code = "machine/note-homeless"
    sentence = "CPUs {value} are online and in no NUMA node; the kubelet does not see them"


class MachineNoteShared(MachineNoteOfIds):
    code = "machine/note-shared"
    sentence = "CPUs {value} are listed by several NUMA nodes"


class MachineNoteLinks(NoteFinding):
    code = "machine/note-links"
    sentence = (
        "the cpuM links of the nodes are missing or broken, as in some snapshots; their CPU lists "
        "stand in for them in the kubelet's view"
    )


class MachineNoteManyNodes(NoteFinding):
    code = "machine/note-many-nodes"
    sentence = (
        "{value} NUMA nodes: topology policies other than none need max-allowable-numa-nodes "
        "above {limit} with the kubelet"
    )
    value: int
    limit: int


class MachineNoteHighIds(MachineNoteOfIds):
    code = "machine/note-high-ids"
    sentence = "NUMA node ids {value} are above {limit}; the kubelet's node sets end there"
    limit: int


class MachineNoteSparseIds(MachineNoteOfIds):
    code = "machine/note-sparse-ids"
    sentence = (
        "NUMA node ids have gaps ({value}); prefer-closest-numa-nodes does not work with them in "
        "the kubelet"
    )


class MachineNoteNoDistances(MachineNoteOfIds):
    code = "machine/note-no-distances"
    sentence = "distances unknown: NUMA nodes {value}"


class MachineNoteRowLength(MachineNoteOfIds):
    code = "machine/note-row-length"
    sentence = "rows of distances of NUMA nodes {value} do not have one number per node"


class MachineNotePages(MachineNoteOfIds):
    code = "machine/note-pages"
    sentence = "more huge pages than memory: NUMA nodes {value}"


class MachineNoteViewsDiffer(NoteFinding):
    code = "machine/note-views-differ"
    sentence = "the kubelet counts {what} differently: {kubelet} where the machine has {kernel}"
    what: str
    kernel: int
    kubelet: int
