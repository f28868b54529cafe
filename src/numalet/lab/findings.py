"""What keeps a guest from being started, and where it differs from the machine."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding


class LabUnknownTopology(Finding):
    code = "lab/unknown-topology"
    sentence = "there is no topology {value!r}; did you mean {near}? ('numalet lab list' shows all)"
    value: str
    near: str


class LabNotLinux(Finding):
    code = "lab/not-linux"
    sentence = "the lab shows the guest this machine's own root, so it needs Linux; this is {value}"
    value: str


class LabNotX86(Finding):
    code = "lab/not-x86"
    sentence = (
        "the lab shows the guest this machine's own programs, so it needs x86-64; this is {value}"
    )
    value: str


class LabMissingPackages(Finding):
    code = "lab/missing-packages"
    sentence = "not installed here: {packages}; on Debian and Ubuntu: apt-get install {packages}"
    packages: str


class LabTooLarge(Finding):
    code = "lab/too-large"
    sentence = (
        "{nodes} NUMA nodes with {cpus} CPUs are more than QEMU supports: {most_nodes} nodes, "
        "{most_cpus} CPUs"
    )
    nodes: int
    cpus: int
    most_nodes: int
    most_cpus: int


class LabTooMuchMemory(Finding):
    code = "lab/too-much-memory"
    sentence = "the guest would have {asked_mib} MiB of memory, this machine has {host_mib} MiB"
    asked_mib: int
    host_mib: int


class LabNoFolder(Finding):
    code = "lab/no-folder"
    sentence = "there is no folder {path!r}; create it first"
    path: str


class LabMemory(Finding):
    code = "lab/memory"
    sentence = "{value!r} is no memory for a guest; write a size of {least}Mi or more"
    value: str
    least: int


class LabHugepages(Finding):
    code = "lab/hugepages"
    sentence = (
        "{value!r} reserves no huge pages; write SIZE=NODE:COUNT,... with a size of 2Mi or 1Gi, "
        "such as '2Mi=0:64,1:32;1Gi=1:1'"
    )
    value: str


class LabHugepagesTwice(Finding):
    code = "lab/hugepages-twice"
    sentence = "{value!r} says twice how many pages of one size a node has"
    value: str


class LabHugepagesNode(Finding):
    code = "lab/hugepages-node"
    sentence = (
        "node {node} of the topology {topology} is not there or has no memory, so it can hold no "
        "huge pages"
    )
    node: int
    topology: str


class LabNodeMemory(Finding):
    code = "lab/node-memory"
    sentence = "{value!r} is no memory of a node; write NODE=SIZE, such as 1=256Mi"
    value: str


class LabNoSuchNode(Finding):
    code = "lab/no-such-node"
    sentence = "there is no node {node}; the topology {topology} has nodes 0 to {last}"
    node: int
    topology: str
    last: int


class LabLittleMemory(Finding):
    code = "lab/little-memory"
    sentence = "node {node} would have {mib} MiB; give it 0 or at least {least_mib} MiB"
    node: int
    mib: int
    least_mib: int


class LabNoProcessor(Finding):
    code = "lab/no-processor"
    sentence = "the guest would have no node with both CPUs and memory to start from"


class LabNoApt(Finding):
    code = "lab/no-apt"
    sentence = (
        "{program} is not there to fetch the package {package!r}; the lab boots Debian's kernel, "
        "which comes by apt"
    )
    package: str
    program: str


class LabNoPackage(Finding):
    code = "lab/no-package"
    sentence = (
        "the package {package!r} can not be had: {error}; 'apt-get update' may help, where its "
        "lists are missing or old"
    )
    package: str
    error: str


class LabKernelUnusable(Finding):
    code = "lab/kernel-unusable"
    sentence = "the kernel of the package {package} can not be used: {error}"
    package: str
    error: str


class LabCacheUnwritable(Finding):
    code = "lab/cache-unwritable"
    sentence = (
        "the kernel can not be kept in {path!r}: {error}; name another folder with "
        "NUMALET_LAB_CACHE"
    )
    path: str
    error: str


class LabNoteKeptKernel(NoteFinding):
    code = "lab/note-kept-kernel"
    sentence = "the newest kernel can not be had ({cause}), so {used} is used"
    used: str
    cause: str


class LabNoteRenumbered(NoteFinding):
    code = "lab/note-renumbered"
    sentence = "the guest numbers {what} anew, from 0 without gaps: {value}"
    what: str
    value: str


class LabNoteFlat(NoteFinding):
    code = "lab/note-flat"
    sentence = "packages and cores are uneven, so in the guest every CPU is a package"


class LabNoteOffline(NoteFinding):
    code = "lab/note-offline"
    sentence = "offline CPUs are left out: {value}"
    value: str


class LabNoteEmptyNodes(NoteFinding):
    code = "lab/note-empty-nodes"
    sentence = "nodes without memory and CPUs are left out: {value}"
    value: str


class LabNoteNoDistances(NoteFinding):
    code = "lab/note-no-distances"
    sentence = "the distances can not be given to the guest: {value}"
    value: str


class LabNoteScaled(NoteFinding):
    code = "lab/note-scaled"
    sentence = "the guest has {guest} of memory, one part in {factor} of the machine's"
    guest: str
    factor: int
