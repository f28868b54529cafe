"""Findings of the agent about itself, its root folder and its records."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, Severity, WarningFinding


class AgentRootUnusable(Finding):
    code = "agent/root-unusable"
    sentence = "the root folder can not be used: {error}"
    path: str
    error: str


class AgentRootNotOurs(Finding):
    code = "agent/root-not-ours"
    sentence = (
        "the root folder belongs to user {owner} and has mode {mode}; it must belong to user "
        "{user}, who alone may write to it: chown and chmod 0700 it, or name another --root"
    )
    path: str
    owner: int
    mode: str
    user: int


class AgentOthersFiles(Finding):
    code = "agent/others-files"
    sentence = "in {path} are files of other users ({others}); remove them, or name another --root"
    path: str
    others: str


class AgentRootInUse(Finding):
    code = "agent/root-in-use"
    sentence = (
        "{path} has never been a root folder of an agent, and other things are in it ({others}); "
        "name a new folder, or an empty one"
    )
    path: str
    others: str


class AgentNodeStateHeld(Finding):
    code = "agent/node-state-held"
    sentence = "process {holder} uses this root folder; only one agent can serve it at a time"
    path: str
    holder: str


class AgentCommandOutOfSight(Finding):
    code = "agent/command-out-of-sight"
    sentence = (
        "process {pid}, a 'numalet run', holds CPUs and memory of this root folder and runs in "
        "another PID namespace; start the agent in that one, or when the command has ended"
    )
    pid: int


class AgentCommandOfOlderRelease(Finding):
    code = "agent/command-of-older-release"
    sentence = (
        "process {pid} is a 'numalet run' of an older release, which no agent can adopt; start the "
        "agent when it has ended"
    )
    pid: int


class AgentCommandsAreReal(Finding):
    code = "agent/commands-are-real"
    sentence = (
        "process {pid}, a 'numalet run', holds CPUs and memory of this root folder, and an agent "
        "with --runtime fake can not adopt it; use another --root"
    )
    pid: int


class AgentCommandsAdopted(NoteFinding):
    code = "agent/commands-adopted"
    sentence = (
        "adopted the commands of 'numalet run' that began without an agent ({count}); they go on "
        "as they are"
    )
    count: int


class AgentOtherConfiguration(Finding):
    code = "agent/other-configuration"
    sentence = (
        "commands of 'numalet run' (processes {pids}) got their CPUs and memory by a configuration "
        "that conflicts with the agent's ({text}); start the agent with theirs, or when they have "
        "ended"
    )
    pids: str
    text: str


class AgentStartRefused(Finding):
    code = "agent/start-refused"
    sentence = "the node does not start with this configuration: {text}"
    text: str
    stage: str


class AgentStateInvalid(Finding):
    code = "agent/state-invalid"
    sentence = (
        "{text}\nWhat became different follows. To keep what still fits, run 'numalet state rebase "
        "--write {root}' with the agent's configuration, or start the agent with "
        "--on-invalid-state=rebase"
    )
    text: str
    root: str
    stage: str


class AgentRecordLost(Finding):
    code = "agent/record-lost"
    sentence = "container {container} of pod {uid} lost what {file} promised it: {cause}"
    container: str
    uid: str
    file: str
    cause: str


class AgentNodeStateLostHold(Finding):
    code = "agent/node-state-lost-hold"
    sentence = (
        "{pod} is running, but the state files have no allocation for its containers "
        "({containers}); a crash can not cause that, so the files were changed. Restore them, or "
        "end the pod, or start with --on-invalid-state=rebase to have it placed anew"
    )
    pod: str
    containers: str


class AgentDescribedMachine(Finding):
    code = "agent/described-machine"
    sentence = (
        "programs can not be pinned on a machine that is only described ({machine}, {nodes} NUMA "
        "nodes); use --runtime fake to try it, or leave out -m"
    )
    machine: str
    nodes: int


class AgentKubeletPins(Finding):
    code = "agent/kubelet-pins"
    sentence = (
        "{owner} pins CPUs or memory itself, and two owners undo each other's work; stop it, or "
        "set its cpuManagerPolicy and memoryManagerPolicy to none, or only watch it with "
        "--ownership observe"
    )
    owner: str


class AgentOtherOwner(Finding):
    code = "agent/other-owner"
    sentence = "something else already pins CPUs or memory: {owner}; observing only"
    owner: str


class AgentNodeStateUnwritable(Finding):
    code = "agent/node-state-unwritable"
    sentence = "the node state can not be written, so no pods are admitted"


class AgentJournalUnwritable(Finding):
    code = "agent/journal-unwritable"
    sentence = "the journal can not be written"


class AgentDriftNotCorrected(Finding):
    code = "agent/drift-not-corrected"
    sentence = (
        "some cgroups are not as they should be, and could not be corrected; the events of the "
        "pods name the settings, and every resync tries again"
    )


class AgentPodsUnpromised(Finding):
    code = "agent/pods-unpromised"
    sentence = (
        "pods keep running although their allocations no longer fit the machine; 'numalet ps' "
        "marks them"
    )


class AgentConnectionsRefused(Finding):
    code = "agent/connections-refused"
    sentence = (
        "new connections have to wait: {error}; {limit} files may be open at once (ulimit -n, "
        "LimitNOFILE of a unit)"
    )
    error: str
    limit: int


class AgentRuntimeFailed(Finding):
    code = "agent/runtime-failed"
    sentence = "the runtime failed; the agent tries again"


class AgentKubeletConfigUnknown(NoteFinding):
    code = "agent/kubelet-config-unknown"
    sentence = (
        "the configuration of the kubelet in {root} is not known, so the agent can not say "
        "whether it would start with its state files; pass it with -c"
    )
    root: str


class AgentOtherRoot(WarningFinding):
    code = "agent/other-root"
    sentence = (
        "programs also run with the node state in this folder, which does not know about {root}; "
        "both may get the same CPUs and memory"
    )
    root: str


class OtherNodeState(Finding):
    """Another process allocates CPUs and memory of this machine; unknown ids are "unknown"."""

    pid: str
    user: str
    other: str
    root: str


class AgentOtherUsersNodeState(OtherNodeState, kw_only=True):
    code = "agent/other-users-node-state"
    sentence = (
        "process {pid} of user {user} allocates CPUs and memory from {other}, without knowing "
        "about {root}: until it ends, the same ones may be allocated twice"
    )
    severity: Severity = Severity.WARNING


class AgentOtherNodeState(OtherNodeState):
    code = "agent/other-node-state"
    sentence = (
        "process {pid} of user {user} allocates CPUs and memory from {other}, without knowing "
        "about {root}, so the same ones could be allocated twice; end it first"
    )


class AgentManifestsMissing(WarningFinding):
    code = "agent/manifests-missing"
    sentence = "the manifest folder does not exist; the agent waits for it, as a kubelet does"


class ManifestsBug(Finding):
    code = "manifests/bug"
    sentence = (
        "a bug in numalet kept the file from being read ({problem}); other files are not "
        "affected, and the log of the agent has the details"
    )
    problem: str


class ManifestsFirstAlone(WarningFinding):
    code = "manifests/first-alone"
    sentence = "a file holds one pod: the first document is used, and {others} after it are ignored"
    others: int


class RecordDamagedLine(Finding):
    code = "record/damaged-line"
    sentence = (
        "the checksum of line {line} is wrong, so the line was moved to {kept}; its pods are as in "
        "earlier lines, and the agent ends what runs for pods that it does not know"
    )
    line: int
    kept: str


class RecordQuarantined(Finding):
    code = "record/quarantined"
    sentence = (
        "the record of pod {uid} cannot be read ({problem}), so it was moved to {kept}; the agent "
        "ends what runs for the pod and releases its resources"
    )
    uid: str
    problem: str
    kept: str
