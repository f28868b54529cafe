"""What is wrong with a description of a machine."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class MachineUnknown(Finding):
    sentence = (
        "{value!r} is no machine: no file or folder has this name; accepted are a folder or "
        "tarball with a machine's /sys (TARBALL:ROOT for one of several), a YAML or JSON "
        "description, cAdvisor's MachineInfo, a profile such as profile:gb200-34n, or a shape "
        "such as 2n16c2t"
    )
    value: str


class MachineUnknownProfile(Finding):
    sentence = (
        "no profile of a machine is called {value!r}; known: {nearest} (numalet machine "
        "--profiles lists them all)"
    )
    value: str
    nearest: str


class MachineUnreadable(Finding):
    sentence = (
        "{value!r} can not be read ({problem}); accepted are a folder or tarball with a machine's "
        "/sys (TARBALL:ROOT for one of several), a YAML or JSON description, cAdvisor's "
        "MachineInfo, a profile such as profile:gb200-34n, or a shape such as 2n16c2t"
    )
    value: str
    problem: str


class MachineNotAFile(Finding):
    sentence = (
        "{value!r} is neither a file nor a folder; accepted are a folder or tarball with a "
        "machine's /sys (TARBALL:ROOT for one of several), a YAML or JSON description, cAdvisor's "
        "MachineInfo, a profile such as profile:gb200-34n, or a shape such as 2n16c2t"
    )
    value: str


class MachineNoMachine(Finding):
    sentence = (
        "{value!r} holds no machine: there is no devices/system/cpu and no devices/system/node in "
        "it, in a sys folder of it, or up to four folders below"
    )
    value: str


class MachineListingLacks(WarningFinding):
    sentence = "the output does not contain {what}; assumed: {assumed}"
    fix = (
        "put the output of 'lscpu -e' and 'numactl --hardware' into one file, or let 'numalet "
        "machine --capture FILE' read everything on the machine"
    )
    what: str
    assumed: str


class MachineListingWithoutMemory(Finding):
    sentence = (
        "lscpu does not print sizes of memory; give --memory-per-node SIZE, or put the output of "
        "'numactl --hardware' into the same file"
    )


class MachineListingWithoutNuma(Finding):
    sentence = (
        "numactl found no NUMA support on the machine, so the output contains no CPUs and no "
        "memory; give the output of 'lscpu -e' with --memory-per-node SIZE"
    )


class MachineDocumentTooOld(Finding):
    sentence = (
        "an older numalet printed this document, and left out which CPUs share a core; print it "
        "again, or use 'numalet machine --capture FILE'"
    )


class MachineNothingThere(Finding):
    sentence = (
        "{value!r} has neither a CPU nor a NUMA node in devices/system/cpu and devices/system/node"
    )
    value: str


class MachineSeveral(Finding):
    sentence = "{value!r} holds {count} machines; choose one of them: {choices}"
    value: str
    count: int
    choices: str


class MachineNoSuchRoot(Finding):
    sentence = "{value!r} has no machine at {root!r}; the machines in it are: {choices}"
    value: str
    root: str
    choices: str


class MachineDocuments(Finding):
    sentence = "{value!r} holds {count} documents; a description of a machine is exactly one"
    value: str
    count: int


class MachineOnlyForShapes(Finding):
    sentence = (
        "{flag} {value!r} goes with a shape such as 2n16c2t; {machine!r} says itself how much "
        "memory its nodes have"
    )
    flag: str
    value: str
    machine: str


class MachineCaptureFailed(Finding):
    sentence = "the capture can not be written to {value!r} ({problem}); nothing was left behind"
    value: str
    problem: str


class MachineArchiveDamaged(Finding):
    sentence = "it is a damaged or cut-off tarball: {problem}"
    problem: str


class MachineArchiveTooLarge(Finding):
    sentence = "it unpacks to too much: more than {limit} {what}"
    what: str
    limit: int


class ArchiveMember(Finding):
    """A member of an archive that can not be used."""

    name: str


class MachineArchiveName(ArchiveMember):
    sentence = "the name {name!r} leads out of the tarball; names must be relative and without '..'"


class MachineArchiveKind(ArchiveMember):
    sentence = (
        "{name!r} is a hard link, a device or a pipe where a file is expected; allowed are files, "
        "directories and symbolic links"
    )


class MachineOddFile(WarningFinding):
    sentence = "{path} contains {value!r}, which is no {wanted}; ignored"
    path: str
    value: str
    wanted: str


class MachineOs(Finding):
    sentence = "{value} is no operating system known here; it must be linux or windows"
    value: str


class MachineRange(Finding):
    sentence = "{value} is out of range; it must be from {lowest} to {highest}"
    value: str
    lowest: int
    highest: int


class MachineSize(Finding):
    sentence = (
        "{value!r} is no size; it must be a whole number of bytes from 0 to 2^63-1, such as "
        "137438953472, 128Gi or 512Mi"
    )
    value: str


class MachineSizeWithoutUnit(Finding):
    sentence = (
        "{value} without a unit is {value} bytes; write the unit, such as {value}Gi, {value}Mi or "
        "{value}Ki"
    )
    value: str


class MachinePageSize(Finding):
    sentence = "{value!r} is no size of huge pages; it must be a multiple of 1Ki"
    value: str


class MachineProfilePageSize(Finding):
    sentence = "the machine of the profile {profile} has no {value}; it has {known}"
    value: str
    known: str
    profile: str


class MachineNoSuchPageSize(Finding):
    sentence = "{machine!r} has no {value}; it has {known}"
    value: str
    known: str
    machine: str


class MachinePageSizeTwice(Finding):
    sentence = "huge pages of {size_kib} KiB are there twice; a size comes once"
    size_kib: int


class MachineBoth(Finding):
    sentence = "{one!r} and {other!r} say the same thing; give one of them"
    one: str
    other: str


class MachineNoMemorySaid(Finding):
    sentence = "the node has no 'memory'; give its size, 0 for none"


class MachineNodeTwice(Finding):
    sentence = "a second node has the id {value}; every node needs an id of its own"
    value: int


class MachineTooManyNodes(Finding):
    sentence = "these are {value} nodes; at most {most} are possible"
    value: int
    most: int


class MachineDistancesShape(Finding):
    sentence = "this row has {value} distances for {wanted} nodes; there must be one for every node"
    value: int
    wanted: int


class MachineDistancesRows(Finding):
    sentence = (
        "there are {value} rows of distances for {wanted} nodes; there must be one for every node"
    )
    value: int | str
    wanted: int


class MachineCpuList(Finding):
    sentence = "{value!r} is no list of CPUs such as 0-3,8 ({problem})"
    value: str
    problem: str


class MachineCpuTwice(Finding):
    sentence = "CPU {value} is there twice; a CPU belongs to one core"
    value: str


class MachineCpuInTwo(Finding):
    sentence = "CPU {value} is also in {other}; a CPU belongs to one core of one node"
    value: str
    other: str


class MachineCoreWithoutThreads(Finding):
    sentence = "the core has no 'threads'; it must have one CPU at least"


class MachineThreads(Finding):
    sentence = (
        "{cpus} CPUs can not be shared out to cores of {value} threads each; threads_per_core "
        "must divide the number of CPUs"
    )
    value: int
    cpus: int


class MachinePageCount(Finding):
    sentence = "{value!r} is no number of huge pages; write SIZE=COUNT, such as 1Gi=4"
    value: str


class MachineNotePagesAssumed(NoteFinding):
    sentence = (
        "huge pages of every node with CPUs are those of {flag} {value}, not the machine's own"
    )
    flag: str
    value: str


class MachineNoteMemoryAssumed(NoteFinding):
    sentence = "no memory was given for this shape; every node gets {value} (--memory-per-node)"
    value: str


class MachineNoteUnreadable(NoteFinding):
    sentence = "files that could not be read: {value}"
    value: str
