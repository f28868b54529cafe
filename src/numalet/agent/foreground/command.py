"""From what was said on the command line to an exit status."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from numalet.adapters.cgroup_v2 import hold
from numalet.adapters.runtime import levels
from numalet.adapters.runtime.levels import Ground
from numalet.agent import settings
from numalet.agent.foreground import program, request
from numalet.agent.foreground.placing import NoPlace, Placed, Placer
from numalet.agent.foreground.program import EXIT_REFUSED
from numalet.agent.foreground.request import RunRequest
from numalet.agent.foreground.shared_books import SharedBooks
from numalet.agent.recovery import Premises
from numalet.agent.settings import AgentOptions
from numalet.enforcement.levels import GuaranteeLevel
from numalet.explain import case as cases
from numalet.explain.case import Case
from numalet.model import cpu_set
from numalet.model.findings import Finding, Severity
from numalet.model.pod import Pod
from numalet.simulate.session import Session
from numalet.snapshot.placement import Placement
from numalet.wording import english

Tell: TypeAlias = Callable[[Finding], None]
Explain: TypeAlias = Callable[[Case, int], None]
"""Told why there is no place; the number is how many other commands run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """As it was said on the command line. ``wait_seconds`` is None for not waiting."""

    request: RunRequest
    root: Path | None = None
    config_file: Path | None = None
    policy: str | None = None
    devices_file: str | None = None
    wait_seconds: float | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Voice:
    """How the user is told something."""

    tell: Tell
    explain: Explain


def run(options: RunOptions, voice: Voice) -> int:
    """Place and run a command; its exit status, or ours. Raises ``BadInput``."""
    pod = request.pod(options.request, str(uuid.uuid4()))
    premises = _premises(options)
    request.check_devices(options.request, premises.devices)
    books = SharedBooks(Path(premises.root))
    books.open()
    try:
        ground = levels.ground()
        with hold.with_others(None if ground.tree is None else ground.tree.root):
            return _placed(pod, options, premises, Placer(books, premises, ground), voice)
    finally:
        books.close()


def _placed(pod: Pod, options: RunOptions, premises: Premises, placer: Placer, voice: Voice) -> int:
    if options.dry_run:
        answer = placer.preview(pod)
    else:
        words = " ".join(options.request.command)
        answer = placer.place(pod, words, options.wait_seconds)
    if isinstance(answer, NoPlace):
        _refuse(answer, premises, options, voice)
        return EXIT_REFUSED
    try:
        for finding in _held(answer.placement, placer.ground):
            voice.tell(finding)
        return 0 if options.dry_run else _run(answer, options, placer.ground, voice)
    finally:
        if not options.dry_run:
            placer.release(pod.uid)


def _run(placed: Placed, options: RunOptions, ground: Ground, voice: Voice) -> int:
    outcome = program.run(placed, options.request.command, ground)
    if outcome.finding is not None:
        voice.tell(outcome.finding)
    return outcome.status


def _premises(options: RunOptions) -> Premises:
    """What the decision is made from: this machine, and a configuration fitted to it."""
    given = AgentOptions(
        root=options.root or settings.default_root(),
        config_file=options.config_file,
        devices_file=options.devices_file,
    )
    premises = settings.resolve(given).premises
    if options.policy is None:
        return premises
    config = replace(premises.config, topology_manager_policy=options.policy)
    return replace(premises, config=config)


def _refuse(answer: NoPlace, premises: Premises, options: RunOptions, voice: Voice) -> None:
    session = Session(premises.config, premises.machine, answer.node, premises.devices)
    voice.explain(cases.build(session, (), answer.pod), answer.running)
    fields = {"command": options.request.command[0], "running": answer.running}
    voice.tell(Finding("run/no-place", fields))


def _held(held: Placement, ground: Ground) -> Iterator[Finding]:
    """Where the command is, and what holds it there; what a user other than root should know."""
    what = _what(held)
    if ground.capabilities.level is GuaranteeLevel.KERNEL:
        yield Finding("run/held-by-kernel", {"what": what}, severity=Severity.NOTE)
    else:
        reason = ground.reason
        why = "" if reason is None else english.of_finding(Finding(reason.code, reason.fields))
        fields = {"what": what, "reason": why}
        yield Finding("run/held-by-process", fields, severity=Severity.NOTE)
    if os.geteuid() != 0:
        yield Finding("run/rootless", severity=Severity.WARNING)


def _what(held: Placement) -> str:
    """What the command got, in one line."""
    parts = [f"CPUs {cpu_set.text(held.cpus)}" if held.cpus else "the shared CPUs"]
    for block in held.memory:
        nodes = cpu_set.text(block.nodes)
        parts.append(f"{english.size(block.size_bytes)} {block.resource} of NUMA nodes {nodes}")
    parts += [f"{name} {','.join(ids)}" for name, ids in held.devices.items()]
    return ", ".join(parts)
