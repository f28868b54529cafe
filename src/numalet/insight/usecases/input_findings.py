"""Findings about the input of use cases, such as rejections that this configuration never gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.admission import counting, reasons
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.rules import StartRefused
from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import Pod
from numalet.insight.simulate.session import Session
from numalet.io.documents.pods.pod_manifest import Ignored, LoadedPods
from numalet.wording import numbers


def no_pods() -> Finding:
    return input_error.Required("no pod manifests; name at least one file with pods")


def amounts_derived(pods: Iterable[Pod], rules: Iterable[ReleaseRules]) -> tuple[Finding, ...]:
    """Return a note on pods with unknown amounts, if a kubelet with these rules uses them."""
    lacking = [str(each) for each in pods if counting.lacks_amounts(each)]
    if not lacking or not any(each.allocated_resources_count for each in rules):
        return ()
    return (
        input_error.Assumed(
            f"the status of {numbers.counted(len(lacking), 'pod')} ({lacking[0]}) has no "
            "allocatedResources; the amounts are derived from the requests"
        ),
    )


def pods_ignored(ignored: Mapping[Ignored, int]) -> tuple[Finding, ...]:
    """Return a note on pods of the input that occupy no node."""
    causes = (Ignored.FINISHED, Ignored.NOT_SCHEDULED)
    counts = [
        f"{ignored[cause]} ({cause.value.replace('-', ' ')})"
        for cause in causes
        if cause in ignored
    ]
    if not counts:
        return ()
    return (input_error.Ignored(f"ignored: {', '.join(counts)}", severity=Severity.NOTE),)


def contradictions(session: Session | StartRefused, pods: LoadedPods) -> Mapping[str, Finding]:
    """Return recorded reasons that a kubelet with this configuration never gives, by pod uid."""
    found: dict[str, Finding] = {}
    if isinstance(session, StartRefused):
        return found
    for pod in pods.pods:
        recorded = pods.rejected.get(pod.uid)
        if recorded is None:
            continue
        reason, message = recorded.reason, recorded.message
        why = reasons.why_impossible(reason, message, session.node.rules, pod)
        if why is not None:
            found[pod.uid] = input_error.Conflict(
                f"a kubelet rejected {pod} with {reason}, which this configuration never does: "
                f"{reason} needs {why.needs}, and this configuration has {why.has}. The answer is "
                "not about that kubelet; name its configuration with -c",
                severity=Severity.WARNING,
            )
    return found
