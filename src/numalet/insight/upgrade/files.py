"""State files of one release under another: losses on the way there, and the way back."""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.config.rules import StartRefused
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding, WarningFinding
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.core.node.restarting import KubeletRestart
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.insight.lint import starting
from numalet.insight.lint.subject import LintSubject
from numalet.wording import kubelet_start, restarts


class UpgradeRecordLost(Finding):
    sentence = (
        "container {container} of pod {pod} holds {held} in the state files as v{before} reads "
        "them, and {holds} as v{after} does"
    )
    fix = "drain the node before the upgrade, and delete the state files"
    pod: str
    container: str
    held: str
    holds: str
    before: str
    after: str


class UpgradePodRecordLost(Finding):
    sentence = (
        "pod {pod} holds {held} as a whole in the state files as v{before} reads them, and {holds} "
        "as v{after} does"
    )
    fix = "drain the node before the upgrade, and delete the state files"
    pod: str
    held: str
    holds: str
    before: str
    after: str


class UpgradeNoWayBack(WarningFinding):
    sentence = (
        "once v{after} has written its state files, v{before} does not start with them: {error}"
    )
    fix = "for the way back drain the node and delete the state files before v{before} starts"
    before: str
    after: str
    error: str


def changes(
    before: LintSubject, after: LintSubject, first: KubeletRestart, second: KubeletRestart
) -> Iterator[Finding]:
    earlier, later = before.release.name, after.release.name
    if before.state_files:
        nodes = first.began, second.began
        held, holds = (placement.of_all(node.snapshot) for node in nodes)
        yield from _whole_pods(*nodes, earlier, later)
        for key in sorted({*held, *holds}):
            was, is_now = (placement.of_container(node.snapshot, *key) for node in nodes)
            if was != is_now:
                yield UpgradeRecordLost(
                    pod=key.pod_uid,
                    container=key.container,
                    held=restarts.shown(was),
                    holds=restarts.shown(is_now),
                    before=earlier,
                    after=later,
                )
    refused = _way_back(before, second.node)
    if refused is not None:
        yield UpgradeNoWayBack(error=kubelet_start.text(refused), before=earlier, after=later)


def _whole_pods(first: Node, second: Node, earlier: str, later: str) -> Iterator[Finding]:
    """Yield pod-level allocations, which some releases do not know."""
    uids = {*first.snapshot.cpu.pods, *first.snapshot.memory.pods}
    for uid in sorted(uids):
        held, holds = (_of_pod(node, uid) for node in (first, second))
        if held != holds:
            yield UpgradePodRecordLost(
                pod=uid,
                held=restarts.shown(held),
                holds=restarts.shown(holds),
                before=earlier,
                after=later,
            )


def _of_pod(node: Node, uid: str) -> Placement:
    of = node.snapshot
    return Placement(of.cpu.pods.get(uid, cpu_set.EMPTY), of.memory.pods.get(uid, ()), {})


def _way_back(before: LintSubject, later: Node) -> StartRefused | None:
    # A file keeps the text that was read until its content changes; a downgrade has to read the
    # later format.
    written = later.at(replace(later.snapshot, files_as_read={})).state_files()
    started = starting.started(before, written)
    return started if isinstance(started, StartRefused) else None
