"""Findings shared by several use cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.admission import counting
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import Pod
from numalet.io.documents.pods.pod_manifest import Ignored
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
