"""What is wrong or odd about a machine, in English."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_ACCEPTED = (
    "a folder or tarball with a machine's /sys (TARBALL:ROOT for one of several), a YAML or JSON "
    "description, cAdvisor's MachineInfo, a profile such as profile:gb200-34n, or a shape such as "
    "2n16c2t"
)

_DOORS = {
    "machine/unknown": (
        "{value!r} is no machine: no file or folder has this name; accepted are " + _ACCEPTED
    ),
    "machine/unknown-profile": (
        "no profile of a machine is called {value!r}; known: {nearest} (numalet machine "
        "--profiles lists them all)"
    ),
    "machine/unreadable": "{value!r} can not be read ({problem}); accepted are " + _ACCEPTED,
    "machine/not-a-file": "{value!r} is neither a file nor a folder; accepted are " + _ACCEPTED,
    "machine/no-machine": (
        "{value!r} holds no machine: there is no devices/system/cpu and no devices/system/node "
        "in it, in a sys folder of it, or up to four folders below"
    ),
    "machine/nothing-there": (
        "{value!r} has neither a CPU nor a NUMA node in devices/system/cpu and devices/system/node"
    ),
    "machine/several": "{value!r} holds {count} machines; choose one of them: {choices}",
    "machine/no-such-root": (
        "{value!r} has no machine at {root!r}; the machines in it are: {choices}"
    ),
    "machine/two-machines": ("{one!r} and {other!r} both name a machine; give one of them"),
    "machine/list-alone": (
        "--profiles lists the machines that come with numalet and needs none; {value!r} is one "
        "too many"
    ),
    "machine/documents": (
        "{value!r} holds {count} documents; a description of a machine is exactly one"
    ),
    "machine/only-for-shapes": (
        "{flag} {value!r} goes with a shape such as 2n16c2t; {machine!r} says itself how much "
        "memory its nodes have"
    ),
    "machine/capture-failed": (
        "the capture can not be written to {value!r} ({problem}); nothing was left behind"
    ),
    "machine/capture-source": (
        "{value!r} can not be captured: only what was read from a /sys tree can, live, from a "
        "folder or from a tarball"
    ),
}

_ARCHIVES = {
    "machine/archive-damaged": "it is a damaged or cut-off tarball: {problem}",
    "machine/archive-too-large": "it unpacks to too much: more than {limit} {what}",
    "machine/archive-name": (
        "the name {name!r} leads out of the tarball; names must be relative and without '..'"
    ),
    "machine/archive-kind": (
        "{name!r} is a hard link, a device or a pipe where a file is expected; allowed are "
        "files, directories and symbolic links"
    ),
    "machine/odd-file": "{path} contains {value!r}, which is no {wanted}; ignored",
}

_DESCRIPTIONS = {
    "machine/os": "{value} is no operating system known here; it must be linux or windows",
    "machine/range": "{value} is out of range; it must be from {lowest} to {highest}",
    "machine/size": (
        "{value!r} is no size; it must be a whole number of bytes from 0 to 2^63-1, such as "
        "137438953472, 128Gi or 512Mi"
    ),
    "machine/size-without-unit": (
        "{value} without a unit is {value} bytes; write the unit, such as {value}Gi, {value}Mi or"
        " {value}Ki"
    ),
    "machine/page-size": "{value!r} is no size of huge pages; it must be a multiple of 1Ki",
    "machine/profile-page-size": (
        "the machine of the profile {profile} has no {value}; it has {known}"
    ),
    "machine/no-such-page-size": "{machine!r} has no {value}; it has {known}",
    "machine/page-size-twice": "huge pages of {size_kib} KiB are there twice; a size comes once",
    "machine/both": "{one!r} and {other!r} say the same thing; give one of them",
    "machine/no-memory-said": "the node has no 'memory'; give its size, 0 for none",
    "machine/node-twice": "a second node has the id {value}; every node needs an id of its own",
    "machine/too-many-nodes": "these are {value} nodes; at most {most} are possible",
    "machine/distances-shape": (
        "this row has {value} distances for {wanted} nodes; there must be one for every node"
    ),
    "machine/distances-rows": (
        "there are {value} rows of distances for {wanted} nodes; there must be one for every node"
    ),
    "machine/cpu-list": "{value!r} is no list of CPUs such as 0-3,8 ({problem})",
    "machine/cpu-twice": "CPU {value} is there twice; a CPU belongs to one core",
    "machine/cpu-in-two": ("CPU {value} is also in {other}; a CPU belongs to one core of one node"),
    "machine/core-without-threads": "the core has no 'threads'; it must have one CPU at least",
    "machine/threads": (
        "{cpus} CPUs can not be shared out to cores of {value} threads each; threads_per_core "
        "must divide the number of CPUs"
    ),
    "machine/shape": (
        "{value!r} is no shape; a shape is [SOCKETSs]NODESnCORESc[THREADSt], such as 2n16c2t (2 "
        "NUMA nodes, 16 cores each, 2 threads a core) or 2s4n8c2t (the same on 2 sockets with 4 "
        "nodes in all)"
    ),
    "machine/shape-zero": "{value!r} has a number that is 0; every number must be 1 or more",
    "machine/shape-uneven": (
        "{value!r} has {nodes} nodes on {sockets} sockets; the sockets must share the nodes evenly"
    ),
    "machine/shape-too-large": (
        "{value!r} is too large; at most {most_nodes} nodes and {most_cpus} CPUs are possible"
    ),
    "machine/page-count": ("{value!r} is no number of huge pages; write SIZE=COUNT, such as 1Gi=4"),
}

_NOTES = {
    "machine/note-pages-assumed": (
        "huge pages of every node with CPUs are those of {flag} {value}, not the machine's own"
    ),
    "machine/note-memory-assumed": (
        "no memory was given for this shape; every node gets {value} (--memory-per-node)"
    ),
    "machine/note-no-numa": (
        "the kernel knows no NUMA nodes; the kubelet treats every socket as one, without memory"
    ),
    "machine/note-cpuless": "no CPUs: NUMA nodes {value}",
    "machine/note-memoryless": "no memory: NUMA nodes {value}",
    "machine/note-memory-unknown": "memory unknown: NUMA nodes {value}; assumed to have none",
    "machine/note-offline": "offline CPUs: {value}",
    "machine/note-homeless": (
        "CPUs {value} are online and in no NUMA node; the kubelet does not see them"
    ),
    "machine/note-shared": "CPUs {value} are listed by several NUMA nodes",
    "machine/note-links": (
        "the cpuM links of the nodes are missing or broken, as in some snapshots; their CPU "
        "lists stand in for them in the kubelet's view"
    ),
    "machine/note-many-nodes": (
        "{value} NUMA nodes: topology policies other than none need max-allowable-numa-nodes "
        "above {limit} with the kubelet"
    ),
    "machine/note-high-ids": (
        "NUMA node ids {value} are above {limit}; the kubelet's node sets end there"
    ),
    "machine/note-sparse-ids": (
        "NUMA node ids have gaps ({value}); prefer-closest-numa-nodes does not work with them in "
        "the kubelet"
    ),
    "machine/note-no-distances": "distances unknown: NUMA nodes {value}",
    "machine/note-row-length": (
        "rows of distances of NUMA nodes {value} do not have one number per node"
    ),
    "machine/note-pages": "more huge pages than memory: NUMA nodes {value}",
    "machine/note-views-differ": (
        "the kubelet counts {what} differently: {kubelet} where the machine has {kernel}"
    ),
    "machine/note-unreadable": "files that could not be read: {value}",
}

SENTENCES: Mapping[str, str] = MappingProxyType(_DOORS | _ARCHIVES | _DESCRIPTIONS | _NOTES)
