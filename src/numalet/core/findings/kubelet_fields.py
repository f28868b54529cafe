"""What the kubelet finds wrong with fields of its configuration, in its own words."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class FieldFinding(Finding):
    """A field that the kubelet refuses; ``problem`` is its text, values included."""

    field: str
    problem: str


class ConfigFieldValue(FieldFinding):
    why = "The kubelet checks the values of fields before it starts."
    fix = "correct {field}, or remove it"
    sentence = kubelet_text = "invalid configuration: {problem}"


class ConfigTracingRate(FieldFinding):
    why = "Requests are traced at a rate per million."
    fix = "set {field} to a number from 0 to 1000000"
    sentence = kubelet_text = "{field}: Invalid value: {problem}"


class ConfigFieldsConflict(FieldFinding):
    why = "Some fields need another field, or exclude it."
    fix = "remove {field}, or change {other}"
    sentence = kubelet_text = "invalid configuration: {problem}"
    other: str


class ConfigFieldNeedsGate(FieldFinding):
    why = "The kubelet reads some fields only if a feature gate is on."
    fix = "remove {field}, or set featureGates.{gate} to true"
    sentence = kubelet_text = "invalid configuration: {problem}"
    gate: str
