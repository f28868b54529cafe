"""Adopts commands of ``numalet run`` that started without an agent.

Such a command leaves an attempt's files, an attempt's lock and a Pod object. The agent creates a
record for each and recovers as after a restart; the program is not touched. While programs of an
earlier agent run, no commands start.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from numalet.agent.controller import recovery, root_folder
from numalet.agent.controller.run_holders import CONTAINER, Holders, RunHolder
from numalet.agent.controller.settings import AgentSettings, RuntimeKind
from numalet.agent.controller.shared_state import FOLDER, HOLDERS, Content, SharedState
from numalet.agent.controller.store import StoredState
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location, Severity
from numalet.core.model.value import Value, replace
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import ContainerPhase, ContainerRun, PodRun, Verdict
from numalet.core.workload.spec import Runner, of_command
from numalet.io.documents.pods.workload import WorkloadOptions, decode_workload
from numalet.io.documents.text.typed import Place
from numalet.shared.findings.agent import (
    AgentCommandsAdopted,
)


class Adopted(Value):
    """The state to recover from, and uids of newly adopted commands."""

    stored: StoredState
    uids: tuple[str, ...] = ()

    def findings(self) -> Iterable[Finding]:
        """Findings for the operator."""
        if self.uids:
            yield AgentCommandsAdopted(count=len(self.uids))


def adopt(settings: AgentSettings, stored: StoredState, now: datetime) -> Adopted:
    """Add running commands to the stored state; the caller holds the root folder.

    Raises ``BadInput`` if a command cannot be adopted: the runtime is fake, the command is of an
    older release or in another PID namespace, or its allocation contradicts the configuration.
    """
    shared = SharedState(settings.root)
    # An observer allocates nothing, so it leaves the commands alone.
    if settings.observe or not shared.folder.is_dir():
        return Adopted(stored)
    # Before the shared state is read: ``claim`` proves that the folder is this user's.
    root_folder.claim(settings.root, [FOLDER])
    with shared.content() as content:
        new = tuple(each for each in content.live if each.uid not in stored.records)
        if not new:
            return Adopted(stored)
        for each in new:
            refused = _refusal(settings, shared.holders, each)
            if refused is not None:
                raise BadInput([refused.at(Location(str(shared.folder / HOLDERS)))])
        _check(settings, content)
        records = {
            each.uid: _record(settings, each, shared.holders.since(each) or now) for each in new
        }
    # Commands first: they are admitted again before an earlier agent's pods.
    together = replace(stored, state_files=content.files, records={**records, **stored.records})
    return Adopted(together, tuple(records))


def clear_shared_state(settings: AgentSettings) -> None:
    """Empty the shared state. Raises ``BadInput``.

    Call only after the agent's state with these commands is on disk: a crash in between must not
    lose them.
    """
    shared = SharedState(settings.root)
    if not settings.observe and shared.folder.is_dir():
        with shared.content() as content:
            if content.live or content.dead:
                shared.write({}, ())


def _refusal(settings: AgentSettings, holders: Holders, holder: RunHolder) -> Finding | None:
    """The reason why an agent cannot adopt this command."""
    if settings.runtime is not RuntimeKind.PROCESS:
        return input_error.Conflict(
            f"process {holder.pid}, a 'numalet run', holds CPUs and memory of this root folder, "
            "and an agent with --runtime fake cannot adopt it; choose another --root"
        )
    if not holder.manifest:
        return input_error.NotSupported(
            f"process {holder.pid} is a 'numalet run' of an older release, which the agent cannot "
            "adopt; start the agent after the command has ended"
        )
    if holders.pid_here(holder) is None:
        return input_error.Conflict(
            f"process {holder.pid}, a 'numalet run', holds CPUs and memory of this root folder in "
            "another PID namespace; start the agent in that namespace, or after the command has "
            "ended"
        )
    return None


def _check(settings: AgentSettings, content: Content) -> None:
    """Raise ``BadInput`` if the allocations contradict the configuration."""
    running = [each.key for each in content.live]
    try:
        # A trial start on the commands' own files: their programs run and cannot be moved, so a
        # configuration that does not fit them must not start an agent.
        recovery.start_node(settings.premises, content.files, running)
    except BadInput as bad:
        pids = ", ".join(str(each.pid) for each in content.live)
        where = Location(str(settings.root))
        text = str(bad.findings[0].fields.get("text", bad.findings[0]))
        raise input_error.Conflict(
            f"the processes {pids} of 'numalet run' got their CPUs and memory with a "
            f"configuration that conflicts with the agent's ({text}); start the agent with their "
            "configuration, or after they have ended",
            where=where,
        ).bad_input() from None


def _record(settings: AgentSettings, holder: RunHolder, since: datetime) -> PodRecord:
    """The record of a command, as if it had been admitted when it got its place."""
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
