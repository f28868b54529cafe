"""Validates labels and annotations like the API server.

Kubernetes v1.32: ``ValidateLabels`` and ``ValidateAnnotations`` of ``apimachinery``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from numalet.core.model import input_error, node_constraints
from numalet.core.model.findings import Finding, Findings, Location
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

MOST_ANNOTATION_BYTES: Final = 256 * 1024
"""Keys and values of all annotations together."""


def check(metadata: Mapping[Any, Any], place: Place, findings: Findings) -> None:
    """Add findings about labels and annotations; wrong types are reported elsewhere."""
    labels, notes = metadata.get("labels"), metadata.get("annotations")
    if isinstance(labels, Mapping):
        for name, value in labels.items():
            where = place.member("labels").member(str(name)).location
            if not (isinstance(name, str) and node_constraints.is_label_name(name)):
                findings.add(_invalid_name(name, where))
            if isinstance(value, str) and not node_constraints.is_label_value(value):
                findings.add(
                    input_error.Invalid(
                        f"invalid label value {typed.described(value)}",
                        expected=(
                            "letters, digits, '-', '_' and '.', 63 at most, with a letter "
                            "or digit at both ends"
                        ),
                        where=where,
                    )
                )
    if isinstance(notes, Mapping):
        at = place.member("annotations")
        for name in notes:
            # Unlike label keys, annotation keys are lowered before the check.
            if not node_constraints.is_label_name(str(name).lower()):
                findings.add(_invalid_name(name, at.member(str(name)).location))
        size_bytes = sum(len(f"{name}{text}".encode()) for name, text in notes.items())
        if size_bytes > MOST_ANNOTATION_BYTES:
            findings.add(
                input_error.TooLarge(
                    f"the annotations have {size_bytes} bytes",
                    expected=f"at most {MOST_ANNOTATION_BYTES} bytes",
                    where=at.location,
                )
            )


def _invalid_name(name: object, where: Location) -> Finding:
    return input_error.Invalid(
        f"invalid name of a label or annotation {typed.described(name)}",
        expected=(
            "an optional domain and '/', then letters, digits, '-', '_' and '.', 63 at most, "
            "with a letter or digit at both ends"
        ),
        where=where,
    )
