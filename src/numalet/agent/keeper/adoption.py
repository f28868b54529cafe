"""Commands of ``numalet run`` that began without an agent, adopted by one that starts.

Such a command has left all that one beside an agent leaves: the files of its attempt, whose lock it
holds, and the Pod object that it is. So an agent that starts reads the node state on which those
commands decided, makes the records that it would have made itself, and recovers from both as it
does after any other restart. The commands notice nothing until they end; then they find that the
agent has their place, and hand it back.

The state of the agent before, if there is one, is of programs that do not run: where such ran, the
commands would have been refused. Its pods ask for admission again, after the commands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from numalet.agent.findings.agent import (
    AgentBooksHeld,
    AgentCommandsAdopted,
    AgentOtherConfiguration,
)
from numalet.agent.keeper import recovery, root_folder
from numalet.agent.keeper.holders import CONTAINER, RunHolder
from numalet.agent.keeper.settings import AgentSettings, RuntimeKind
from numalet.agent.keeper.shared_state import FOLDER, HOLDERS, Content, SharedState
from numalet.agent.keeper.store import StoredState
from numalet.core.model.findings import BadInput, Finding, Findings, Location, Severity
from numalet.core.workload.record import PodRecord
from numalet.core.workload.run import ContainerPhase, ContainerRun, PodRun, Verdict
from numalet.core.workload.spec import Runner, of_command
from numalet.io.documents.typed import Place
from numalet.io.documents.workload import WorkloadOptions, decode_workload


@dataclass(frozen=True, slots=True)
class Adopted:
    """The state to recover from, and the uids of commands that are in it for the first time."""

    stored: StoredState
    uids: tuple[str, ...] = ()

    def findings(self) -> Iterable[Finding]:
        """What an operator should know of it."""
        if self.uids:
            yield AgentCommandsAdopted(count=len(self.uids))


def begin(settings: AgentSettings, stored: StoredState, now: datetime) -> Adopted:
    """What was stored, with the commands that run. The agent holds the root folder.

    Raises:
        BadInput: a command can not be taken over: this agent starts no real programs, the command
            is of a former release or in another PID namespace, or its place does not agree with
            this configuration.
    """
    shared = SharedState(settings.root)
    if settings.observe or not shared.folder.is_dir():
        return Adopted(stored)
    root_folder.claim(settings.root, [FOLDER])
    with shared.content() as content:
        new = tuple(each for each in content.live if each.uid not in stored.records)
        if not new:
            return Adopted(stored)
        for each in new:
            is_seen = bool(each.manifest) and shared.holders.pid_here(each) is not None
            if not is_seen or settings.runtime is not RuntimeKind.PROCESS:
                path = str(shared.folder / HOLDERS)
                raise BadInput(
                    [AgentBooksHeld(path=path, holder=str(each.pid), where=Location(path))]
                )
        _check(settings, content)
        records = {
            each.uid: _record(settings, each, shared.holders.since(each) or now) for each in new
        }
    together = StoredState(content.files, {**records, **stored.records})
    return Adopted(together, tuple(records))


def finish(settings: AgentSettings) -> None:
    """What was taken over is in the agent's state, on the disk: it is not the commands' any more.

    Raises ``BadInput``.
    """
    shared = SharedState(settings.root)
    if not settings.observe and shared.folder.is_dir():
        with shared.content() as content:
            if content.live or content.dead:
                shared.write({}, ())


def _check(settings: AgentSettings, content: Content) -> None:
    """Raise ``BadInput`` if the commands decided by a configuration that conflicts with ours."""
    running = [each.key for each in content.live]
    try:
        recovery.start_node(settings.premises, content.files, running)
    except BadInput as bad:
        pids = ", ".join(str(each.pid) for each in content.live)
        where = Location(str(settings.root))
        text = str(bad.findings[0].fields.get("text", bad.findings[0]))
        raise BadInput([AgentOtherConfiguration(pids=pids, text=text, where=where)]) from None


def _record(settings: AgentSettings, holder: RunHolder, since: datetime) -> PodRecord:
    """The record of a command, as of one that was admitted when it got its place."""
    options = WorkloadOptions(
        uid=holder.uid,
        node_name=settings.node_name,
        behaviour=settings.premises.behaviour,
        unknown_fields=Severity.WARNING,
    )
    findings = Findings()
    place = Place(str(settings.root / FOLDER / HOLDERS))
    workload = decode_workload(holder.manifest, place, options, findings)
    findings.raise_errors()
    assert workload is not None
    runner = Runner(holder.pid, holder.ticks, holder.boot)
    starting = ContainerRun(name=CONTAINER, phase=ContainerPhase.STARTING, attempt=1)
    run = PodRun(
        accepted_at=since,
        verdict=Verdict(admitted=True),
        decided_at=since,
        containers={CONTAINER: starting},
    )
    return PodRecord(of_command(workload, runner), run, resource_version=1)
