"""Compare recorded rejections of pods with the configuration in use."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.admission import possible_reasons
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Finding, WarningFinding
from numalet.insight.simulate.session import Session
from numalet.io.documents.pod_manifest import LoadedPods


class PodsOtherKubelet(WarningFinding):
    sentence = (
        "a kubelet rejected {pod} with {reason}, which this configuration never gives: {reason} "
        "needs {needs}, and this has {has}. The answer is not about that kubelet: give its "
        "configuration with -c"
    )
    pod: str
    reason: str
    has: str
    needs: str


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
        why = possible_reasons.why_impossible(reason, message, session.node.rules, pod)
        if why is not None:
            found[pod.uid] = PodsOtherKubelet(
                pod=str(pod), reason=reason, has=why.has, needs=why.needs
            )
    return found
