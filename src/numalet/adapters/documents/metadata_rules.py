"""The rules for labels and annotations, which a cluster keeps as well.

Kubernetes v1.32: ``ValidateLabels`` and ``ValidateAnnotations`` of ``apimachinery``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from numalet.adapters.documents import typed
from numalet.adapters.documents.typed import Place
from numalet.model.findings import Findings

MOST_ANNOTATION_BYTES: Final = 256 * 1024
"""Names and texts of all annotations together."""
_LONGEST_NAME: Final = 63
_LONGEST_PREFIX: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_PART: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PREFIX: Final = re.compile(rf"{_PART}(\.{_PART})*", re.ASCII)


def check(metadata: Mapping[Any, Any], place: Place, findings: Findings) -> None:
    """Findings for labels and annotations that no cluster takes. Other types are told elsewhere."""
    labels, notes = metadata.get("labels"), metadata.get("annotations")
    if isinstance(labels, Mapping):
        for name, value in labels.items():
            where = place.member("labels").member(str(name)).location
            if not _is_qualified(name):
                findings.add("workload/label-name", where, value=typed.described(name))
            if isinstance(value, str) and not _is_label_value(value):
                findings.add("workload/label-value", where, value=typed.described(value))
    if isinstance(notes, Mapping):
        at = place.member("annotations")
        for name in notes:
            if not _is_qualified(str(name).lower()):
                where = at.member(str(name)).location
                findings.add("workload/label-name", where, value=typed.described(name))
        size_bytes = sum(len(f"{name}{text}".encode()) for name, text in notes.items())
        if size_bytes > MOST_ANNOTATION_BYTES:
            fields = {"size_bytes": size_bytes, "most_bytes": MOST_ANNOTATION_BYTES}
            findings.add("workload/annotations-size", at.location, **fields)


def _is_qualified(name: object) -> bool:
    """Whether it is a name, or a domain, a slash and a name."""
    if not isinstance(name, str):
        return False
    prefix, slash, own = name.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix)):
        return False
    return len(own) <= _LONGEST_NAME and _NAME.fullmatch(own) is not None


def _is_label_value(value: str) -> bool:
    return not value or (len(value) <= _LONGEST_NAME and _NAME.fullmatch(value) is not None)
