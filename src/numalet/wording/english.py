"""Reasons in words, and how values are shown in words: sizes, hints, amounts.

The sentence of a reason is a ``str.format`` template beside its class, over its fields. Findings
make their own text: see ``core.model.findings``.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Final

from numalet.core.admission.reasons import NothingToPreempt, OutOfResource
from numalet.core.hints.hint import Hint
from numalet.core.hints.provider import WHOLE_POD
from numalet.core.hints.reasons import Reason
from numalet.core.model import numa_mask, resources
from numalet.core.model.findings import Finding

WHOLE_POD_WORDS: Final = "the pod as a whole"
_MASKS = frozenset({"mask", "group", "best", "nodes"})


def sentence(about: Finding | Reason) -> str:
    """What a finding says, its place before it, or what a reason says, its causes included."""
    return about.located if isinstance(about, Finding) else of_reason(about)


def of_reason(reason: Reason) -> str:
    """The sentence of a reason, causes included."""
    values = {name: _shown(name, value) for name, value in fields_of(reason).items()}
    if isinstance(reason, OutOfResource):
        for name in ("requested", "used", "capacity"):
            values[name] = amount(reason.resource, values[name])
    elif isinstance(reason, NothingToPreempt):
        lacking = (f"{amount(each, lack)} of {each}" for each, lack in reason.lacking)
        values["lacking"] = ", ".join(lacking)
    template = getattr(reason, "sentence", None)
    if isinstance(template, str):
        if values.get("container") == WHOLE_POD:
            values["container"] = WHOLE_POD_WORDS
            template = template.replace("Container {container}", "The pod as a whole")
            template = template.replace("container {container}", "{container}")
        return template.format(**values)
    # Of a manager from outside the project, whose reasons may have no sentence.
    listed = ", ".join(f"{name}: {value}" for name, value in values.items())
    return f"{reason.code} ({listed})" if listed else reason.code


def fields_of(reason: object) -> dict[str, Any]:
    """The figures of a reason, by name, as they are."""
    if not is_dataclass(reason):
        return {}
    return {field.name: getattr(reason, field.name) for field in fields(reason)}


def _shown(name: str, value: Any) -> Any:
    if name.endswith("_bytes"):
        return size(value)
    if isinstance(value, Hint):
        return hint(value)
    if name in _MASKS | {"affinity"} and isinstance(value, int):
        return numa_mask.text(value)
    if isinstance(value, Reason):
        return of_reason(value)
    return value


def hint(value: Hint) -> str:
    """A hint as people say it."""
    nodes = "any NUMA node" if value.mask is None else f"NUMA nodes {numa_mask.text(value.mask)}"
    return f"{nodes}, {'preferred' if value.preferred else 'not preferred'}"


def counted(count: int, noun: str) -> str:
    """A number with its noun, which takes an s: ``1 pod``, ``2 pods``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def rounded_size(size_bytes: int) -> str:
    """Bytes for people, all in one form: in the largest unit that they fill, rounded."""
    value, unit = float(size_bytes), ""
    for name in _UNITS:
        if abs(value) < 1024:
            break
        value, unit = value / 1024, name
    return f"{value:.0f}{unit}" if value.is_integer() else f"{value:.2f}{unit}"


def amount(resource: str, value: int) -> str:
    """So much of a resource as a node counts it: CPU in thousandths, sizes in bytes."""
    if resource == resources.CPU:
        return f"{value / 1000:.10g}"
    is_size = resources.is_memory_type(resource) or resource == resources.EPHEMERAL_STORAGE
    return size(value) if is_size else str(value)


def size(size_bytes: int) -> str:
    """Bytes for people: exact in the largest unit that divides them, else two decimals."""
    value, unit = size_bytes, ""
    for name in _UNITS:
        if value == 0 or value % 1024:
            break
        value, unit = value // 1024, name
    if value < 10_000:
        return f"{value}{unit}"
    scaled = float(size_bytes)
    for name in _UNITS:
        scaled /= 1024
        if scaled < 1024:
            return f"{scaled:.2f}{name}"
    return f"{scaled:.2f}{_UNITS[-1]}"
