"""The kubelet's start: its error, and the errors that would follow once it is fixed."""

from __future__ import annotations

from collections.abc import Iterable

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.checkpoint.state_files import StateFiles
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value
from numalet.core.node import node as nodes
from numalet.core.node import restarting
from numalet.core.node.node import Node
from numalet.core.node.restarting import KubeletRestart
from numalet.insight.lint.subject import LintSubject


class StartResult(Value):
    """The result of the start.

    ``refused`` is the kubelet's refusal. ``findings`` are all errors that stop it, the kubelet's
    first error first. ``empty`` is the node without state files and pods, if that starts.
    """

    refused: StartRefused | None
    findings: tuple[Finding, ...]
    empty: Node | None


def start(subject: LintSubject) -> StartResult:
    outcome = started(subject, subject.state_files)
    empty = started(subject, {}) if subject.state_files else outcome
    node = empty if isinstance(empty, Node) else None
    if isinstance(outcome, Node):
        return StartResult(None, (), node)
    findings = (*outcome.findings, *outcome.further, *_not_reached(subject, outcome.stage, empty))
    return StartResult(outcome, findings, node)


def started(subject: LintSubject, files: StateFiles) -> Node | StartRefused:
    return nodes.start(
        subject.config,
        subject.machine,
        files,
        subject.devices,
        behaviour=subject.behaviour,
        identity=subject.identity,
    )


def restarted(
    subject: LintSubject,
    files: StateFiles,
    pods: Iterable[Pod],
    running: Iterable[ContainerKey] | None = None,
) -> KubeletRestart | StartRefused:
    return restarting.restart(
        subject.config,
        subject.machine,
        files,
        pods,
        subject.devices,
        running=running,
        behaviour=subject.behaviour,
        identity=subject.identity,
    )


def _not_reached(
    subject: LintSubject, stage: StartStage, empty: Node | StartRefused
) -> tuple[Finding, ...]:
    if stage in (StartStage.NODE_ALLOCATABLE, StartStage.UNDECIDED):
        return ()
    if stage in (StartStage.CPU_MANAGER_START, StartStage.MEMORY_MANAGER_START):
        # Without the files the start reaches the last stage.
        return empty.findings if isinstance(empty, StartRefused) else ()
    return _policies_of_files(subject)


def _policies_of_files(subject: LintSubject) -> tuple[Finding, ...]:
    """Report state files that the kubelet would not read with these policies."""
    problems = []
    for name, load, policy in (
        (cpu_file.FILE_NAME, cpu_file.load, subject.config.cpu_manager_policy),
        (memory_file.FILE_NAME, memory_file.load, subject.config.memory_manager_policy),
    ):
        text = subject.state_files.get(name)
        loaded = None if text is None else load(text, policy, subject.release_rules)
        if isinstance(loaded, Finding):
            problems.append(loaded)
    return tuple(problems)
