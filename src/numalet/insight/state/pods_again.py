"""The running pods after a start of the kubelet with these state files."""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.model.findings import Finding, WarningFinding
from numalet.core.node.restarting import KubeletRestart, Readmission
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
        "container {container} of pod {pod} runs with {held} and gets {holds} when the kubelet "
        "sees the pod again"
    )
    why = "The kubelet places some pods a second time, and forgets their former allocation."
    fix = "drain the node before the kubelet starts again"
    pod: str
    container: str
    held: str
    holds: str


def findings(restart: KubeletRestart, after_reboot: KubeletRestart) -> Iterator[Finding]:
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
