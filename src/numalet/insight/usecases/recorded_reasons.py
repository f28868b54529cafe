"""Compare recorded rejections of pods with the configuration in use."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.admission import reasons
from numalet.core.config.rules import StartRefused
from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Severity
from numalet.insight.simulate.session import Session
from numalet.io.documents.pods.pod_manifest import LoadedPods


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
