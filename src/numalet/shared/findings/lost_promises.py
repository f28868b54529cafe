"""The reason why a running pod has lost its allocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from numalet.core.model.findings import Finding
from numalet.core.workload import rejections
from numalet.core.workload.run import Cause
from numalet.io.findings.files import RecordTextOnly
from numalet.shared.findings import recorded
from numalet.wording import kubelet

_TEXT_ONLY: Final = recorded.by_code((RecordTextOnly,))


def why(causes: Sequence[Cause], classes: Mapping[str, type[Finding]] = _TEXT_ONLY) -> str:
    """The kubelet's message of a rejection, else sentences of ``classes``; empty without causes."""
    rejection = rejections.rejection(causes)
    return recorded.sentences(classes, causes) if rejection is None else kubelet.message(rejection)
