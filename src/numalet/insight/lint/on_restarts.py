"""Rules about given pods that run when the kubelet starts again.

The node admits the pods after those of the state files. Then the kubelet starts with the files that
it has written, and admits the pods again.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.config.rules import StartRefused
from numalet.core.findings.state_files import CpuStateEmptyDefault
from numalet.core.model.findings import Finding
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace
from numalet.core.node import restarting
from numalet.core.node.node import Node
from numalet.core.node.restarting import Readmission
from numalet.core.snapshot import placement
from numalet.insight.lint import starting
from numalet.insight.lint.lint_finding import LintWarning
from numalet.insight.lint.subject import LintSubject
from numalet.wording import kubelet, kubelet_start, restarts


class LintPodStopsNextStart(LintWarning):
    sentence = "when pod {pod} runs, the kubelet does not start again: {error}"
    why = (
        "A kubelet compares its state files with its configuration when it starts. It can write "
        "files that it refuses, for example where cores have different numbers of CPUs."
    )
    fix = (
        "if the error names reserved CPUs, reserve whole cores with reservedSystemCPUs; else keep "
        "the pod away from this node"
    )
    pod: str
    error: str


class LintPodRejectedAfterRestart(LintWarning):
    sentence = (
        "the kubelet admits pod {pod}, and rejects it when it starts again while the pod "
        "runs{condition}: {reason}: {message}"
    )
    why = (
        "A kubelet that starts admits every pod of its node again, before it frees anything, and "
        "ends those it rejects."
    )
    fix = "drain the node before its kubelet is restarted"
    pod: str
    condition: str
    reason: str
    message: str


def after_a_restart(subject: LintSubject, empty: Node) -> Iterator[Finding]:
    node = starting.started(subject, subject.state_files) if subject.state_files else empty
    # In native mode a running pod that is rejected continues.
    if isinstance(node, StartRefused) or subject.behaviour.state_follows_the_machine:
        return
    held = {key.pod_uid for key in placement.of_all(node.snapshot)}
    node = node.assume_running(node.leftovers())
    admitted: list[tuple[Pod, Node]] = []
    for pod in subject.pods:
        if pod.uid in held:
            node = node.keep_active(pod)
        else:
            node, decision = node.admit(pod)
            if not decision.admitted:
                continue
            node = node.pod_started(pod.uid)
        admitted.append((pod, node))
    pods = [pod for pod, _ in admitted if pod.uid in node.snapshot.pods]
    # The status describes the present, but these pods will run.
    running = restarting.containers_that_run(replace(pod, phase="", allocated=None) for pod in pods)
    restart = starting.restarted(subject, node.state_files(), pods, running)
    if not isinstance(restart, StartRefused):
        yield from _rejected(subject, restart.rejected)
        second = starting.started(subject, restart.node.state_files())
        if pods and isinstance(second, StartRefused):
            # A kubelet that places a pod a second time accounts for it twice, or forgets its
            # allocation.
            placed_whole = (pod for pod in pods if pod.pod_level is not None)
            yield _stops(subject, next(placed_whole, pods[-1]), second)
    elif admitted and not isinstance(restart.findings[0], CpuStateEmptyDefault):
        # ``on_pods`` reports an empty pool.
        first = next(
            pod
            for pod, node in admitted
            if isinstance(starting.started(subject, node.state_files()), StartRefused)
        )
        yield _stops(subject, first, restart)


def _rejected(subject: LintSubject, pods: tuple[Readmission, ...]) -> Iterator[Finding]:
    """Yield one finding for all pods that are rejected with the same reason."""
    groups: dict[tuple[str, bool], list[Readmission]] = {}
    for each in pods:
        key = kubelet.reason(each.decision.rejection), each.waits_for_plugin
        groups.setdefault(key, []).append(each)
    for first, *others in groups.values():
        more = f" (and {len(others)} more)" if others else ""
        fields = restarts.rejection(first) | {"pod": f"{first.pod}{more}"}
        where = subject.place_of(first.pod, "")
        yield LintPodRejectedAfterRestart(**fields, where=where)


def _stops(subject: LintSubject, pod: Pod, refused: StartRefused) -> Finding:
    where = subject.place_of(pod, "")
    return LintPodStopsNextStart(pod=str(pod), error=kubelet_start.text(refused), where=where)
