"""Check whether a kubelet with this configuration and machine would accept state files.

The *drift* between files and machine distinguishes an ordinary reboot from a change of hardware, of
configuration, or of the file itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

from numalet.core.admission import roster
from numalet.core.admission.roster import Roster
from numalet.core.checkpoint import cpu_file, device_file, memory_file
from numalet.core.config import start as configuration
from numalet.core.config import unknown
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import MemoryPolicy, StartRefused
from numalet.core.model.findings import Finding, Location, Severity, WarningFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node import node as nodes
from numalet.core.node import restarting
from numalet.core.node.restarting import KubeletRestart, Readmission
from numalet.insight.state import (
    block_rules,
    device_rules,
    memory_rules,
    reading,
    rebase,
    state_drift,
)
from numalet.insight.state.block_rules import StateGroupsOverlap
from numalet.insight.state.device_rules import StateDeviceOnAbsentNode
from numalet.insight.state.reading import MemoryState, Seal, State, States
from numalet.insight.state.rebase import Rebased
from numalet.insight.state.restart import Restart
from numalet.wording import restarts


class RestartPodRejected(Finding):
    sentence = "the kubelet rejects pod {pod}, which runs{condition}: {reason}: {message}"
    why = "A kubelet that starts admits every pod of its node again, and ends those it rejects."
    fix = "drain the node before the kubelet starts again"
    pod: str
    condition: str
    reason: str
    message: str


class RestartPodNeedsPlugin(WarningFinding):
    sentence = (
        "after a reboot the kubelet rejects pod {pod}{condition}: {reason}: {message}; its "
        "containers do not run then"
    )
    why = "A container that runs keeps its devices; of any other one the kubelet asks the plugin."
    fix = "drain the node before the reboot"
    pod: str
    condition: str
    reason: str
    message: str


class RestartPodMoved(WarningFinding):
    sentence = (
        "container {container} of pod {pod} runs with {held}; after the restart the kubelet gives "
        "it {holds}"
    )
    why = "The kubelet places some pods a second time, and forgets their former allocation."
    fix = "drain the node before the kubelet starts again"
    pod: str
    container: str
    held: str
    holds: str


def pods_seen_again(restart: KubeletRestart, after_reboot: KubeletRestart) -> Iterator[Finding]:
    """Yield lost and moved pods; ``after_reboot`` is the same start without running containers."""
    for each, rebooted in zip(restart.pods, after_reboot.pods, strict=True):
        if not each.decision.admitted:
            yield RestartPodRejected(**restarts.rejection(each))
        elif not rebooted.decision.admitted:
            yield RestartPodNeedsPlugin(**restarts.rejection(rebooted))
        yield from moved(each)


def moved(pod: Readmission) -> Iterator[RestartPodMoved]:
    for move in pod.moves:
        yield RestartPodMoved(
            pod=str(pod.pod),
            container=move.container,
            held=restarts.shown(move.held),
            holds=restarts.shown(move.holds),
        )


class DriftUnreadable(Finding):
    sentence = "the file is damaged: it cannot be decoded ({error})"
    error: str


class DriftCorrupted(Finding):
    sentence = (
        "the file is damaged or was edited: its checksum is {checksum}, its content has {expected}"
    )
    checksum: int
    expected: int


class DriftEarlyLayout(Finding):
    sentence = (
        "the file is of the layout before the first release; its checksum {checksum} is right by "
        "the rule of that layout, and the kubelet calls it corrupted"
    )
    checksum: int


class DriftPolicy(Finding):
    sentence = "the file is of policy {found!r}; the configuration says {configured!r}"
    found: str | None
    configured: str


_NO_MEMORY = MemoryPolicy.NONE

_OF_FILES = ("cpu-state", "memory-state")
_OF_MACHINE = (
    state_drift.DriftNodeLost,
    state_drift.DriftNodeNew,
    state_drift.TotalFinding,
    state_drift.DriftTypeGone,
    state_drift.DriftTypeNew,
    state_drift.DriftHugepages,
    state_drift.DriftCpusGone,
    state_drift.DriftCpusNew,
)
"""Changes caused by the machine, never by a configuration."""


class RestartAnswer(Enum):
    """Whether the kubelet starts with the files."""

    ACCEPTED = "accepted"
    BY_CHANCE = "by-chance"
    """Groups overlap, and the kubelet visits containers in random order."""
    REFUSED = "refused"
    NOT_ASKED = "not-asked"
    """The kubelet does not start with this configuration, independent of the files."""


class RestoreCheck(Value):
    """The answer, the kubelet's refusal if there is one, the drift, and the kept records.

    ``pods`` are findings on running pods, if there are pods and the kubelet starts.
    """

    answer: RestartAnswer
    refused: StartRefused | None
    drift: tuple[Finding, ...]
    rebased: Rebased | None
    behaviour: Behaviour = EXACT
    pods: tuple[Finding, ...] | None = None

    @property
    def loses_pods(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.pods or ())


def check(
    config: KubeletConfig,
    machine: MachineInfo,
    files: Mapping[str, str],
    behaviour: Behaviour = EXACT,
    pods: Sequence[Pod] = (),
    identity: NodeIdentity = UNKNOWN_NODE,
) -> RestoreCheck:
    """Start a kubelet, or a node in native mode, with these files and pods."""
    checked = replace(_check(config, machine, files, behaviour), behaviour=behaviour)
    if not pods:
        return checked
    # Twice: with running containers, as after a restart of the kubelet, and without, as after a
    # reboot.
    again, rebooted = (
        restarting.restart(
            config, machine, files, pods, running=runs, behaviour=behaviour, identity=identity
        )
        for runs in (None, ())
    )
    if isinstance(again, StartRefused) or isinstance(rebooted, StartRefused):
        return checked
    return replace(checked, pods=tuple(pods_seen_again(again, rebooted)))


def _check(
    config: KubeletConfig, machine: MachineInfo, files: Mapping[str, str], behaviour: Behaviour
) -> RestoreCheck:
    started = nodes.start(config, machine, files, behaviour=behaviour)
    refused = started if isinstance(started, StartRefused) else None
    if refused is not None and refused.is_undecided:
        return RestoreCheck(RestartAnswer.NOT_ASKED, refused, (), None)
    config = unknown.assumed(config)
    rules = configuration.resolve(config, machine, behaviour=behaviour)
    if isinstance(rules, StartRefused):
        return RestoreCheck(RestartAnswer.NOT_ASKED, rules, (), None)
    staff = roster.build(rules)
    if isinstance(staff, StartRefused):
        return RestoreCheck(RestartAnswer.NOT_ASKED, staff, (), None)
    # Read any format, to show the content of a file that this kubelet refuses.
    states = reading.read(files, rules.release_rules.and_also(state_files_have_pods=True))
    drift = tuple(_drift(staff, states))
    if refused is not None and not is_about_files(refused):
        return RestoreCheck(RestartAnswer.NOT_ASKED, refused, drift, None)
    return RestoreCheck(_answer(refused, drift), refused, drift, rebase.rebase(staff, files))


def is_about_files(refused: StartRefused) -> bool:
    """Return whether a state file prevents the start or crashes the kubelet."""
    return refused.findings[0].code.partition("/")[0] in _OF_FILES


def is_about_machine(drift: Iterable[Finding]) -> bool:
    """Return whether the machine has changed since the files were written."""
    return any(isinstance(finding, _OF_MACHINE) for finding in drift)


def _answer(refused: StartRefused | None, drift: Iterable[Finding]) -> RestartAnswer:
    """Return "by chance" if overlapping groups are the only problem."""
    has_errors = any(finding.severity is Severity.ERROR for finding in drift)
    if not has_errors and any(
        isinstance(finding, StateGroupsOverlap) and finding.restart == Restart.BY_CHANCE.value
        for finding in drift
    ):
        return RestartAnswer.BY_CHANCE
    return RestartAnswer.ACCEPTED if refused is None else RestartAnswer.REFUSED


def _drift(staff: Roster, states: States) -> Iterator[Finding]:
    for name, finding in states.unreadable.items():
        severity = Severity.WARNING if name == device_file.FILE_NAME else Severity.ERROR
        yield DriftUnreadable(
            error=finding.fields.get("error", ""), where=Location(name), severity=severity
        )
    if staff.rules.managers_are_stand_ins:
        return
    if states.cpu is not None:
        yield from _of_file(cpu_file.FILE_NAME, states.cpu, staff.rules.cpu.policy.value)
        if states.cpu.seal is not Seal.WRONG:
            yield from state_drift.cpu_drift(staff, states.cpu)
    if states.memory is not None:
        yield from _of_file(memory_file.FILE_NAME, states.memory, staff.rules.memory.policy.value)
        # A damaged or edited file is not evidence about the machine.
        if states.memory.seal is not Seal.WRONG and staff.rules.memory.policy is not _NO_MEMORY:
            yield from state_drift.memory_drift(staff, states.memory)
            yield from _contradictions(states.memory)
    if states.device is not None:
        yield from _of_file(device_file.FILE_NAME, states.device, None)
        breaches = device_rules.breaches(states.device, staff.rules.machine)
        yield from (each for each in breaches if isinstance(each, StateDeviceOnAbsentNode))


def _of_file(name: str, state: State, policy: str | None) -> Iterator[Finding]:
    """Check a file as a whole: its seal, its policy."""
    where = Location(name)
    if state.seal is Seal.WRONG:
        # The kubelet starts with a damaged device checkpoint: it ignores its content.
        severity = Severity.WARNING if name == device_file.FILE_NAME else Severity.ERROR
        yield DriftCorrupted(
            checksum=state.checksum, expected=state.expected, where=where, severity=severity
        )
    if state.seal is Seal.EARLY_LAYOUT:
        yield DriftEarlyLayout(checksum=state.checksum, where=where)
    if policy is not None and state.policy_name != policy:
        yield DriftPolicy(found=state.policy_name, configured=policy, where=where)


def _contradictions(state: MemoryState) -> Iterator[Finding]:
    """Yield contradictions inside the file, independent of the machine."""
    yield from memory_rules.breaches(state, None)
    yield from block_rules.breaches(state)
