"""Sentences of findings that are stored as a code and values, and why a pod lost its allocation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from numalet.core.model import grammar
from numalet.core.model.findings import Finding
from numalet.core.workload import rejections
from numalet.core.workload.run import Cause
from numalet.io.findings.files import RecordTextOnly
from numalet.wording import kubelet


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
        return grammar.singular(classes[code].sentence.format(**fields))
    except (KeyError, ValueError):  # a missing field, or one that was not a text
        values = ", ".join(f"{name} {value!r}" for name, value in fields.items())
        return f"{code}: {values}" if values else code


def sentences(classes: Mapping[str, type[Finding]], causes: Sequence[Cause]) -> str:
    """The sentences of all causes in one line; empty without causes."""
    return "; ".join(sentence(classes, each.code, each.fields) for each in causes)


_TEXT_ONLY: Final = by_code((RecordTextOnly,))


def loss_sentence(
    causes: Sequence[Cause], classes: Mapping[str, type[Finding]] = _TEXT_ONLY
) -> str:
    """The kubelet's message of a rejection, else sentences of ``classes``; empty without causes."""
    rejection = rejections.rejection(causes)
    return sentences(classes, causes) if rejection is None else kubelet.message(rejection)
