"""Findings of the agent about itself, its root folder and its records."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, Severity, WarningFinding


class AgentRootUnusable(Finding):
    code = "agent/root-unusable"
    sentence = "the root folder cannot be used: {error}"
    path: str
    error: str


class AgentNodeStateHeld(Finding):
    code = "agent/node-state-held"
    sentence = "process {holder} uses this root folder; only one agent can serve it at a time"
    path: str
    holder: str


class AgentCommandsAdopted(NoteFinding):
    code = "agent/commands-adopted"
    sentence = (
        "adopted the commands of 'numalet run' that began without an agent ({count}); they go on "
        "as they are"
    )
    count: int


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


class AgentNodeStateUnwritable(Finding):
    code = "agent/node-state-unwritable"
    sentence = "the node state cannot be written, so no pods are admitted"


class AgentJournalUnwritable(Finding):
    code = "agent/journal-unwritable"
    sentence = "the journal cannot be written"


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


class ManifestsBug(Finding):
    code = "manifests/bug"
    sentence = (
        "a bug in numalet kept the file from being read ({problem}); other files are not "
        "affected, and the log of the agent has the details"
    )
    problem: str


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
