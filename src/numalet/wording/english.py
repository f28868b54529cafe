"""Reasons and hints in words; ``numbers`` formats numbers.

The sentence of a reason is a ``str.format`` template in its class, over its fields.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Final

from numalet.core.admission.reasons import NothingToPreempt, OutOfResource
from numalet.core.hints.provider import WHOLE_POD, Hint, Reason
from numalet.core.model import numa_mask
from numalet.core.model.findings import Finding
from numalet.wording import numbers

WHOLE_POD_WORDS: Final = "the pod as a whole"
_MASKS = frozenset({"mask", "group", "best", "nodes"})


def sentence(about: Finding | Reason) -> str:
    """Return a finding with its place, or a reason with its causes, as a sentence."""
    return about.located if isinstance(about, Finding) else of_reason(about)


def of_reason(reason: Reason) -> str:
    values = {name: _shown(name, value) for name, value in fields_of(reason).items()}
    if isinstance(reason, OutOfResource):
        for name in ("requested", "used", "capacity"):
            values[name] = numbers.amount(reason.resource, values[name])
    elif isinstance(reason, NothingToPreempt):
        lacking = (f"{numbers.amount(each, lack)} of {each}" for each, lack in reason.lacking)
        values["lacking"] = ", ".join(lacking)
    template = getattr(reason, "sentence", None)
    if isinstance(template, str):
        if values.get("container") == WHOLE_POD:
            values["container"] = WHOLE_POD_WORDS
            template = template.replace("Container {container}", "The pod as a whole")
            template = template.replace("container {container}", "{container}")
        return numbers.singular(template.format(**values))
    # The reason of a manager from outside the project may have no sentence.
    listed = ", ".join(f"{name}: {value}" for name, value in values.items())
    return f"{reason.code} ({listed})" if listed else reason.code


def fields_of(reason: object) -> dict[str, Any]:
    """Return the unformatted fields of a reason by name."""
    if not is_dataclass(reason):
        return {}
    return {field.name: getattr(reason, field.name) for field in fields(reason)}


def _shown(name: str, value: Any) -> Any:
    if name.endswith("_bytes"):
        return numbers.size(value)
    if isinstance(value, Hint):
        return hint(value)
    if name in _MASKS | {"affinity"} and isinstance(value, int):
        return numa_mask.text(value)
    if isinstance(value, Reason):
        return of_reason(value)
    return value


def hint(value: Hint) -> str:
    nodes = "any NUMA node" if value.mask is None else f"NUMA nodes {numa_mask.text(value.mask)}"
    return f"{nodes}, {'preferred' if value.preferred else 'not preferred'}"
