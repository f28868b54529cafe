"""What several use cases refuse."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.model.findings import Finding, NoteFinding
from numalet.io.documents.pod_manifest import Ignored


class FilesNoPods(Finding):
    code = "files/no-pods"
    sentence = "no pod manifests were given; name at least one file with pods"


class FilesPodsIgnored(NoteFinding):
    code = "files/pods-ignored"
    sentence = "ignored: {counts}"
    counts: str


def pods_ignored(ignored: Mapping[Ignored, int]) -> tuple[Finding, ...]:
    """A note on pods of the input that hold nothing on any node, if there are some."""
    causes = (Ignored.FINISHED, Ignored.NOT_SCHEDULED)
    counts = [
        f"{ignored[cause]} ({cause.value.replace('-', ' ')})"
        for cause in causes
        if cause in ignored
    ]
    return (FilesPodsIgnored(counts=", ".join(counts)),) if counts else ()
