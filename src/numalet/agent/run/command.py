"""From what was said on the command line to an exit status."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from numalet.agent.host.cgroup_v2 import hold
from numalet.agent.host.runtime import host_capabilities
from numalet.agent.host.runtime.host_capabilities import HostCapabilities
from numalet.agent.keeper import other_roots, owners, root_claim, settings
from numalet.agent.keeper.owners import OwnerKind
from numalet.agent.keeper.recovery import Premises
from numalet.agent.keeper.settings import AgentOptions
from numalet.agent.run import beside_agent, leftovers, placement_notes, program, queue, request
from numalet.agent.run.beside_agent import AgentGone
from numalet.agent.run.child import EXIT_REFUSED
from numalet.agent.run.options import Explained, RunOptions, Voice
from numalet.agent.run.placing import NoPlace, Placed, Placer
from numalet.agent.run.queue import Waiter
from numalet.agent.run.shared_state import FOLDER, SharedState
from numalet.core.model.findings import BadInput, Finding, Location, Severity
from numalet.core.model.pod import Pod
from numalet.insight.explain import case as cases
from numalet.insight.output import run_document
from numalet.insight.output.run_document import RunDocument
from numalet.insight.simulate.session import Session
from numalet.io.agent_client import places
from numalet.io.agent_client.client import AgentClient, AgentRefused
from numalet.wording import english, kubelet

_PAUSE_SECONDS: Final = 0.25


def run(options: RunOptions, voice: Voice) -> int:
    """Place and run a command; its exit status, or ours. Raises ``BadInput``."""
    pod = request.pod(options.request, str(uuid.uuid4()))
    root = (options.root or places.default_root()).absolute()
    for finding in (*_of_owners(options), *other_roots.remarks(root)):
        voice.report(finding)
    folder, words = root / FOLDER / queue.FOLDER, " ".join(options.request.command)
    with Waiter(folder, options.wait_seconds, words, voice.report) as waiter:
        return _decide_and_run(pod, root, options, voice, waiter)


def _of_owners(options: RunOptions) -> Iterator[Finding]:
    """What to know about others who set CPUs and memory. Raises ``BadInput`` if one pins."""
    others = owners.find(owners.beside(options.kubelet_root))
    owners.refuse_to_pin(others)
    for each in others:
        # Many container runtimes have a socket for plugins that no plugin uses.
        severity = Severity.NOTE if each.kind is OwnerKind.OTHER else Severity.WARNING
        yield Finding("run/other-owner", {"owner": each.who}, severity=severity)


def _decide_and_run(pod: Pod, root: Path, options: RunOptions, voice: Voice, waiter: Waiter) -> int:
    """Ask the agent that holds the root folder, or decide alone; waiting, this may change."""
    state = SharedState(root)
    while True:
        if not state.open():
            with suppress(AgentGone):
                return beside_agent.run(pod, root, options, voice, waiter)
            continue
        try:
            programs = leftovers.agents_programs(root)
            if not programs:
                return _run_first(pod, state, root, options, voice, waiter)
        finally:
            state.close()
        fields = {"root": str(root), "count": programs}
        alone = Finding("run/agents-programs", fields, Location(str(root)))
        if not waiter.waits or options.dry_run:
            raise BadInput([alone])
        too_late = waiter.turn()
        if too_late is None and not _wait_for_agent(root, waiter.last, voice):
            too_late = alone
        if too_late is not None:
            voice.report(too_late)
            return EXIT_REFUSED


def _wait_for_agent(root: Path, last: float, voice: Voice) -> bool:
    """Whether an agent came back, or what the last one started has ended, in this time."""
    voice.report(Finding("run/waits-for-agent", {"root": str(root)}, severity=Severity.NOTE))
    while leftovers.agents_programs(root):
        # Its lock is not asked for: an agent that starts would be refused for that moment.
        with suppress(BadInput, AgentRefused), AgentClient(root / places.SOCKET_NAME) as client:
            client.text("/livez")
            return True
        if time.monotonic() >= last:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


def _run_first(
    pod: Pod, state: SharedState, root: Path, options: RunOptions, voice: Voice, waiter: Waiter
) -> int:
    """Where no agent holds this root folder, as long as no other one is in use."""
    last = waiter.last if waiter.waits and not options.dry_run else 0.0
    with root_claim.claimed(root, last) as others:
        if not others:
            return _run_alone(pod, state, root, options, voice, waiter)
    for finding in others:
        voice.report(finding)
    return EXIT_REFUSED


def _run_alone(
    pod: Pod, state: SharedState, root: Path, options: RunOptions, voice: Voice, waiter: Waiter
) -> int:
    """Where no agent holds the root folder."""
    premises = _premises(options, root)
    request.check_devices(options.request, premises.devices)
    ground = host_capabilities.ground()
    placer = Placer(state, premises, ground, owners.beside(options.kubelet_root))
    with hold.with_others(None if ground.tree is None else ground.tree.root):
        return _placed(pod, options, premises, placer, voice, waiter)


def _placed(
    pod: Pod,
    options: RunOptions,
    premises: Premises,
    placer: Placer,
    voice: Voice,
    waiter: Waiter,
) -> int:
    words = " ".join(options.request.command)
    if options.dry_run:
        answer = placer.preview(pod)
    elif not waiter.waits:
        answer = placer.place(pod, words)
    else:
        queued = _placed_in_turn(pod, words, placer, waiter)
        if isinstance(queued, Finding):
            voice.report(queued)
            return EXIT_REFUSED
        answer = queued
    for finding in placer.remarks:
        voice.report(finding)
    document = _document(answer, placer.ground)
    if isinstance(answer, NoPlace):
        placement_notes.refused(document, _explained(answer, premises, voice), voice)
        fields = {"command": options.request.command[0], "running": answer.running}
        voice.report(
            Finding("run/no-place", {**fields, "holders": placement_notes.holders(answer)})
        )
        policy = placer.admitting_policy(answer)
        if policy is not None:
            voice.report(Finding("run/other-policy", {"policy": policy}))
        return EXIT_REFUSED
    try:
        if voice.show is not None:
            voice.show(document)
        else:
            for finding in placement_notes.held(document, _why(placer.ground)):
                voice.report(finding)
        return 0 if options.dry_run else _run(answer, options, placer.ground, voice)
    finally:
        if not options.dry_run:
            placer.release(pod.uid)


def _placed_in_turn(
    pod: Pod, words: str, placer: Placer, waiter: Waiter
) -> Placed | NoPlace | Finding:
    """The answer when it is its turn; a finding if that did not come in time."""
    answer = placer.preview(pod)
    if isinstance(answer, NoPlace) and not answer.fits_when_empty:
        return answer
    too_late = waiter.turn()
    if too_late is not None:
        return too_late
    answer = placer.place_in_time(pod, words, waiter.last)
    waiter.leave()
    return answer


def _run(placed: Placed, options: RunOptions, ground: HostCapabilities, voice: Voice) -> int:
    outcome = program.run(placed, options.request.command, ground)
    if outcome.finding is not None:
        voice.report(outcome.finding)
    return outcome.status


def _premises(options: RunOptions, root: Path) -> Premises:
    """What the decision is made from: this machine, and a configuration fitted to it."""
    given = AgentOptions(
        root=root,
        config_file=options.config_file,
        devices_file=options.devices_file,
    )
    premises = settings.resolve(given).premises
    if options.policy is None:
        return premises
    config = replace(premises.config, topology_manager_policy=options.policy)
    return replace(premises, config=config)


def _explained(answer: NoPlace, premises: Premises, voice: Voice) -> Explained:
    session = Session(premises.config, premises.machine, answer.node, premises.devices)
    return voice.explained(cases.build(session, (), answer.pod), answer.running)


def _document(answer: Placed | NoPlace, ground: HostCapabilities) -> RunDocument:
    if isinstance(answer, NoPlace):
        why = answer.decision.rejection
        verdict = kubelet.reason(why), kubelet.message(why)
        return run_document.refused(answer.pod, *verdict, answer.fits_when_empty, "books")
    held = ground.capabilities
    nodes = answer.settings.cgroup.memory_nodes
    return run_document.placed(
        answer.pod, answer.snapshot, held.level, held.shortfalls, "books", nodes
    )


def _why(ground: HostCapabilities) -> str:
    """Why the kernel does not hold a command here."""
    reason = ground.reason
    return "" if reason is None else english.of_finding(Finding(reason.code, reason.fields))
