"""The procedure of every ``numalet run``, from options to exit status."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from numalet.agent.controller import owners, root_claim
from numalet.agent.controller.owners import OwnerKind
from numalet.agent.controller.shared_state import FOLDER, AgentHolds, SharedState
from numalet.agent.findings.run import RunOtherOwner, RunWaitsForAgent
from numalet.agent.run import (
    beside_agent,
    child,
    direct,
    foreground,
    other_runs,
    placement_notes,
    program,
    queue,
    request,
    requested_environment,
    without_agent,
)
from numalet.agent.run.beside_agent import AgentGone
from numalet.agent.run.child import EXIT_REFUSED
from numalet.agent.run.program import Allocator, Answer
from numalet.agent.run.queue import Waiter
from numalet.agent.run.request import RunOptions, Voice
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.pod import Pod
from numalet.insight.output.run_document import RunDocument
from numalet.io.agent_client import places

_PAUSE_SECONDS: Final = 0.25


def run(options: RunOptions, voice: Voice) -> int:
    """Place and run a command. Raises ``BadInput``."""
    # The result is cached; later the parent may be another process.
    child.ignored_by_caller()
    pod = request.pod(options.request, direct.pod_uid())
    root = (options.root or places.default_root()).absolute()
    for finding in (*_of_owners(options), *root_claim.other_roots(root)):
        voice.report(finding)
    folder, words = root / FOLDER / queue.FOLDER, " ".join(options.request.command)
    with Waiter(folder, options.wait_seconds, words, voice.report) as waiter:
        return _decide_and_run(pod, root, options, voice, waiter)


def _of_owners(options: RunOptions) -> Iterator[Finding]:
    """Report other managers of CPUs and memory. Raises ``BadInput`` if one pins."""
    others = owners.find(owners.beside(options.kubelet_root))
    owners.refuse_to_pin(others)
    for each in others:
        # Many container runtimes have a socket for plugins, used or not.
        severity = Severity.NOTE if each.kind is OwnerKind.OTHER else Severity.WARNING
        yield RunOtherOwner(owner=each.who, severity=severity)


def _decide_and_run(pod: Pod, root: Path, options: RunOptions, voice: Voice, waiter: Waiter) -> int:
    """Decide with the current holder of the state, which may change while the command waits."""
    state = SharedState(root)
    while True:
        if not state.prepare():
            with suppress(AgentGone), beside_agent.opened(pod, root, options, waiter) as agent:
                return _place_and_run(agent, options, voice, waiter)
            continue
        programs = 0
        # An agent may take over whenever no command holds the lock.
        with suppress(AgentHolds):
            programs = _agents_programs(state, root)
            if not programs:
                return _run_without_agent(pod, state, root, options, voice, waiter)
        if not programs:
            continue
        alone = other_runs.still_running(root, programs)
        if not waiter.waits or options.dry_run:
            raise BadInput([alone])
        too_late = waiter.turn()
        if too_late is None and not _wait_for_agent(state, root, waiter.last, voice):
            too_late = alone
        if too_late is not None:
            return _refused([too_late], waiter, voice)


def _agents_programs(state: SharedState, root: Path) -> int:
    """Count running programs of an agent that has ended. Raises ``AgentHolds`` and ``BadInput``."""
    with state.held() as content:
        return other_runs.agents_programs(root, content)


def _wait_for_agent(state: SharedState, root: Path, last: float, voice: Voice) -> bool:
    """Wait until an agent returns or its last programs end; False at the deadline."""
    voice.report(RunWaitsForAgent(root=str(root)))
    while True:
        try:
            if not _agents_programs(state, root):
                return True
        except AgentHolds:
            return True
        if time.monotonic() >= last:
            return False
        time.sleep(_PAUSE_SECONDS)


def _run_without_agent(
    pod: Pod, state: SharedState, root: Path, options: RunOptions, voice: Voice, waiter: Waiter
) -> int:
    """Fails if another root folder is in use on this machine."""
    last = waiter.last if waiter.waits and not options.dry_run else 0.0
    with root_claim.claimed(root, last) as others:
        if not others:
            allocator = without_agent.opened(pod, state, root, options, voice.explained)
            return _place_and_run(allocator, options, voice, waiter)
    return _refused(others, waiter, voice)


def _refused(findings: Iterable[Finding], waiter: Waiter, voice: Voice) -> int:
    for finding in (*findings, *waiter.in_vain()):
        voice.report(finding)
    return EXIT_REFUSED


def _place_and_run(allocator: Allocator, options: RunOptions, voice: Voice, waiter: Waiter) -> int:
    """The procedure for any allocator. Raises ``AgentGone``."""
    place = _placed(allocator, options, waiter)
    if isinstance(place, Finding):
        return _refused([place], waiter, voice)
    for finding in allocator.remarks:
        voice.report(finding)
    if not place.admitted:
        placement_notes.refused(place, allocator.explanation(), voice)
        return _refused(allocator.on_refusal(), waiter, voice)
    try:
        if voice.show is not None:
            voice.show(place)
        else:
            for finding in placement_notes.held(place):
                voice.report(finding)
        return 0 if options.dry_run else _run(allocator, place, options, voice)
    finally:
        if not options.dry_run:
            allocator.release()


def _placed(allocator: Allocator, options: RunOptions, waiter: Waiter) -> Answer:
    if options.dry_run:
        return allocator.preview()
    if not waiter.waits:
        return allocator.place()
    # A command that never fits must not queue and block others.
    place = allocator.preview()
    if isinstance(place, Finding) or not place.fits_when_empty:
        return place
    too_late = waiter.turn()
    if too_late is not None:
        return too_late
    place = _placed_in_time(allocator, waiter.last)
    # Keep the ticket until here, so that the next in line cannot take this place.
    waiter.leave()
    return place


def _placed_in_time(allocator: Allocator, last: float) -> Answer:
    """Repeat until the command is admitted, can never fit, or the deadline passes."""
    while True:
        left = max(0.0, last - time.monotonic())
        place = allocator.place_or_wait(left)
        if isinstance(place, Finding) or place.admitted or not place.fits_when_empty or not left:
            return place


def _run(allocator: Allocator, place: RunDocument, options: RunOptions, voice: Voice) -> int:
    ready = allocator.prepare(place)
    if isinstance(ready, Finding):
        voice.report(ready)
        return EXIT_REFUSED
    more = requested_environment.of(options.env, place, options.request.cpus)
    ready.setup.env = {**ready.setup.env, **more}
    outcome = program.outcome(foreground.run(ready), ready, place.numa_nodes)
    if outcome.finding is not None:
        voice.report(outcome.finding)
    return outcome.status
