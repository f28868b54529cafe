"""Findings of ``numalet run``."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding
from numalet.shared.findings.agent import OtherNodeState


class RunQuantity(Finding):
    code = "run/quantity"
    sentence = "{value!r} is not a valid quantity: {problem}"
    value: str
    problem: str


class RunNotPositive(Finding):
    code = "run/not-positive"
    sentence = "{value!r} must be greater than 0"
    value: str


class RunSizeWithoutUnit(Finding):
    code = "run/size-without-unit"
    sentence = (
        "{value} without a unit is {value} bytes; write the unit, such as {value}Gi or {value}Mi"
    )
    value: str


class RunPageSize(Finding):
    code = "run/page-size"
    sentence = "{value!r} is not a huge page size; known are hugepages-2Mi and hugepages-1Gi"
    value: str


class RunPartOfAPage(Finding):
    code = "run/part-of-a-page"
    sentence = "{value!r} is not a whole number of pages of {page}; a plain number counts pages"
    value: str
    page: str


class RunPair(Finding):
    code = "run/pair"
    sentence = "{value!r} is not NAME=AMOUNT, or names something twice"
    value: str


class RunNotAllowed(Finding):
    code = "run/not-allowed"
    sentence = (
        "the root folder {root} belongs to user {owner}, and no other user may allocate from it "
        "or ask its agent: run the command as that user (sudo), or use another --root, for CPUs "
        "and memory that this one does not manage"
    )
    root: str
    owner: str


class RunOtherUsersAgent(Finding):
    code = "run/other-users-agent"
    sentence = (
        "the agent in {root} belongs to user {owner}; it can not end programs of user {user}, so "
        "the command has to be run as that user"
    )
    root: str
    owner: int
    user: int


class RunAgentDecides(Finding):
    code = "run/agent-decides"
    sentence = "the agent in {root} decides by its own configuration; leave this option out"
    root: str


class RunAgentSilent(Finding):
    code = "run/agent-silent"
    sentence = (
        "the agent in {root} is running but does not answer: {problem}. See its log; once it has "
        "ended, commands run without it"
    )
    root: str
    problem: str


class RunWaits(Finding):
    code = "run/waits"
    sentence = "{ahead} commands wait before {command!r}"
    ahead: int
    command: str


class RunNotItsTurn(Finding):
    code = "run/not-its-turn"
    sentence = "timed out while {ahead} commands still wait before {command!r}"
    ahead: int
    command: str


class RunKubeletPins(Finding):
    code = "run/kubelet-pins"
    sentence = (
        "{owner} pins CPUs or memory and does not know about this command, so its pods could get "
        "the same CPUs; run the command as a pod of the cluster, or set the kubelet's "
        "cpuManagerPolicy and memoryManagerPolicy to none"
    )
    owner: str


class RunOutOfSight(Finding):
    code = "run/out-of-sight"
    sentence = (
        "process {pid} ({command}) uses shared CPUs in another PID namespace and can not be moved "
        "off those that this command would get; run this command in that namespace or in the "
        "host's, or wait until the other one has ended"
    )
    pid: int
    command: str


class RunOtherNodeState(OtherNodeState):
    code = "run/other-node-state"
    sentence = (
        "process {pid} of user {user} allocates CPUs and memory from {other}, without knowing "
        "about {root}, so both could get the same ones; use the same root folder (--root), wait "
        "until it has ended (--wait), or run one agent for all users"
    )


class RunOtherOwner(Finding):
    code = "run/other-owner"
    sentence = (
        "{owner} is active on this machine and does not know about this command: it may use or "
        "change the same CPUs and memory"
    )
    owner: str


class RunAgentsPrograms(Finding):
    code = "run/agents-programs"
    sentence = (
        "{count} programs of an agent that has stopped still run, and {root} still allocates CPUs "
        "and memory to them; start the agent again, or end them"
    )
    root: str
    count: int


class RunWaitsForAgent(NoteFinding):
    code = "run/waits-for-agent"
    sentence = (
        "the agent in {root} has stopped, and its programs still run: waiting for the agent to "
        "come back, or for them to end"
    )
    root: str


class RunAgentSaysNo(Finding):
    code = "run/agent-says-no"
    sentence = "the agent in {root}: {message}"
    root: str
    message: str


class RunWaitedInVain(Finding):
    code = "run/waited-in-vain"
    sentence = "waited {seconds} s, and there is still no place for {command!r}"
    seconds: str
    command: str


class RunWithdrawn(Finding):
    code = "run/withdrawn"
    sentence = "the agent in {root} did not start the command: {message}"
    root: str
    message: str


class RunWithdrawnInSilence(Finding):
    code = "run/withdrawn-in-silence"
    sentence = "it gave no reason; its log may have one"


class RunNoPlaceBesideAgent(Finding):
    code = "run/no-place-beside-agent"
    sentence = (
        "{command!r} does not fit on the machine of the agent in {root}; 'numalet ps' shows what "
        "is allocated"
    )
    command: str
    root: str


class RunRefused(Finding):
    code = "run/refused"
    sentence = "{reason}: {message}"
    reason: str
    message: str


class RunNodeStateDamaged(Finding):
    code = "run/node-state-damaged"
    sentence = "the list of runs can not be read: {error}; remove it when none runs"
    path: str
    error: str


class RunUnpromised(WarningFinding):
    code = "run/unpromised"
    sentence = (
        "the machine has changed, and {command!r} (process {pid}) keeps running although its "
        "allocation no longer fits: {cause}"
    )
    command: str
    pid: int
    cause: str


class RunOtherConfiguration(Finding):
    code = "run/other-configuration"
    sentence = (
        "other commands run by a configuration that conflicts with this one ({text}); use theirs "
        "(-c, --policy), or wait until they have ended"
    )
    text: str


class RunNoDevices(Finding):
    code = "run/no-devices"
    sentence = (
        "there are no devices {resource!r}; known are {known}: name their file with --devices"
    )
    resource: str
    known: str


class RunNoPlace(Finding):
    code = "run/no-place"
    sentence = "{command!r} does not fit next to the commands that run: {holders}"
    command: str
    holders: str


class RunHolderFinding(Finding):
    code = "run/holder"
    sentence = "process {pid} ({command}) has {what}"
    pid: int
    command: str
    what: str


class RunRootless(WarningFinding):
    code = "run/rootless"
    sentence = "programs of other users that run without numalet may use the same CPUs and memory"


class RunOverItsMemory(Finding):
    code = "run/over-its-memory"
    sentence = "killed by the kernel: it used more than its memory ({limit_bytes} bytes)"
    limit_bytes: int


class RunNodesExhausted(Finding):
    code = "run/nodes-exhausted"
    sentence = (
        "killed by the kernel below its own limit: NUMA nodes {nodes}, or a cgroup above, had no "
        "memory left"
    )
    nodes: str


class RunOutsideAffinity(NoteFinding):
    code = "run/outside-affinity"
    sentence = (
        "not in the CPU affinity that this process inherited ({inherited}): {cpus}; "
        "'numalet run' does not keep to it"
    )
    cpus: str
    inherited: str


class RunHeldByKernel(NoteFinding):
    code = "run/held-by-kernel"
    sentence = "{what}; the kernel holds it there (cgroup v2)"
    what: str


class RunHeldByProcess(NoteFinding):
    code = "run/held-by-process"
    sentence = "{what}; not enforced (no cgroup v2)"
    what: str
