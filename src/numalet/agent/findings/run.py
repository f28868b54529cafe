"""Findings of 'numalet run': the queue, the allocation, and why the kernel killed a command."""

from __future__ import annotations

from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.findings import Finding, NoteFinding, WarningFinding
from numalet.insight.output import run_document
from numalet.insight.output.run_document import RunDocument
from numalet.shared.findings.agent import OtherNodeState


class RunWaits(Finding):
    sentence = "{ahead} commands wait before {command!r}"
    ahead: int
    command: str


class RunNotItsTurn(Finding):
    sentence = "timed out while {ahead} commands still wait before {command!r}"
    ahead: int
    command: str


class RunWaitedInVain(Finding):
    sentence = "timed out after {seconds} s: {command!r} still does not fit"
    seconds: str
    command: str


class RunWaitsForAgent(NoteFinding):
    sentence = (
        "the agent in {root} has stopped, and its programs still run; waiting for the agent to "
        "return or for its programs to end"
    )
    root: str


class RunOtherNodeState(OtherNodeState):
    sentence = (
        "process {pid} of user {user} allocates CPUs and memory from {other} and does not know "
        "{root}, so both could allocate the same ones; use the same root folder (--root), wait "
        "until the process ends (--wait), or run one agent for all users"
    )


class RunOtherOwner(Finding):
    sentence = (
        "{owner} is active on this machine and does not know this command: it may use or change "
        "the same CPUs and memory"
    )
    owner: str


class RunUnpromised(WarningFinding):
    sentence = (
        "the machine has changed: {command!r} (process {pid}) keeps running although its "
        "allocation no longer fits: {cause}"
    )
    command: str
    pid: int
    cause: str


class RunRefused(Finding):
    sentence = "{reason}: {message}"
    reason: str
    message: str


class RunNoPlace(Finding):
    sentence = "{command!r} does not fit next to the running commands: {holders}"
    command: str
    holders: str


class RunNoPlaceBesideAgent(Finding):
    sentence = (
        "{command!r} does not fit on the machine of the agent in {root}; 'numalet ps' lists the "
        "allocations"
    )
    command: str
    root: str


class RunHeldByKernel(NoteFinding):
    sentence = "{what}; enforced by the kernel (cgroup v2)"
    what: str


class RunHeldByProcess(NoteFinding):
    sentence = "{what}; not enforced (no cgroup v2)"
    what: str


def held(place: RunDocument) -> Finding:
    what = run_document.allocation(place)
    if place.guarantee is GuaranteeLevel.KERNEL:
        return RunHeldByKernel(what=what)
    return RunHeldByProcess(what=what)


class RunOutsideAffinity(NoteFinding):
    sentence = "{cpus}: outside the CPU affinity that this process inherited ({inherited})"
    cpus: str
    inherited: str


class RunWithinCpus(NoteFinding):
    """The command did not fit within the CPUs that it may get."""

    sentence = "numalet considered {cpus} and not {others}"
    cpus: str
    others: str


class RunRootless(WarningFinding):
    sentence = "programs of other users that run without numalet may use the same CPUs and memory"


class RunOverItsMemory(Finding):
    sentence = "killed by the kernel: the command exceeded its memory limit ({limit_bytes} bytes)"
    limit_bytes: int


class RunNodesExhausted(Finding):
    sentence = (
        "killed by the kernel below its own memory limit: NUMA nodes {nodes}, or a parent cgroup, "
        "had no free memory"
    )
    nodes: str
