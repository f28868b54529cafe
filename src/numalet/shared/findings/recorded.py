"""Sentences of findings that are stored as a code and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from numalet.core.model.findings import Finding
from numalet.core.workload.run import Cause


def by_code(names: Iterable[object]) -> dict[str, type[Finding]]:
    """The finding classes among the values of a module, by code."""
    return {
        each.code: each
        for each in names
        if isinstance(each, type) and issubclass(each, Finding) and hasattr(each, "code")
    }


def sentence(classes: Mapping[str, type[Finding]], code: str, fields: Mapping[str, str]) -> str:
    """The sentence of a finding; of another release's finding, code and values."""
    try:
        return classes[code].sentence.format(**fields)
    except (KeyError, ValueError):  # a field that is not there, or was no text
        values = ", ".join(f"{name} {value!r}" for name, value in fields.items())
        return f"{code}: {values}" if values else code


def sentences(classes: Mapping[str, type[Finding]], causes: Sequence[Cause]) -> str:
    """The sentences of all causes in one line; empty without causes."""
    return "; ".join(sentence(classes, each.code, each.fields) for each in causes)
