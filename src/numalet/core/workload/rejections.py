"""The reasons of a rejection as causes that can be stored, and back.

A rejection by a manager becomes two causes, the rejection and the manager's reason: each cause but
the last has the following one as its ``cause``. Values that are not texts are stored as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

from numalet.core.admission import reasons as admission_reasons
from numalet.core.admission.reasons import Rejection
from numalet.core.hints.provider import Hint, Reason
from numalet.core.managers.cpu import reasons as cpu_reasons
from numalet.core.managers.device import reasons as device_reasons
from numalet.core.managers.memory import reasons as memory_reasons
from numalet.core.model.numa_mask import NumaMask
from numalet.core.workload.run import Cause

CLASSES: Final[Mapping[str, Any]] = {
    each.code: each
    for room in (admission_reasons, cpu_reasons, device_reasons, memory_reasons)
    for each in vars(room).values()
    if isinstance(each, type) and is_dataclass(each) and hasattr(each, "code")
}
"""The classes of all reasons, by code."""

_INNER: Final = "cause"
"""The field with the inner reason."""


def causes(rejection: Rejection) -> tuple[Cause, ...]:
    """Return the stored form of a rejection, the outermost reason first."""
    found: list[Cause] = []
    reason: Reason | None = rejection
    while reason is not None:
        values = {each.name: getattr(reason, each.name) for each in _fields(reason)}
        inner = values.pop(_INNER, None)
        found.append(Cause(reason.code, {name: _text(value) for name, value in values.items()}))
        reason = inner
    return tuple(found)


def rejection(causes: Sequence[Cause]) -> Rejection | None:
    """Return the rejection of these causes, unless they are unknown to this release.

    Another release or a manager from outside the project may have written them.
    """
    whole: Any = None
    try:
        for cause in reversed(causes):
            of = CLASSES[cause.code]
            values = {
                each.name: whole
                if each.name == _INNER
                else _READERS[each.type](cause.fields[each.name])
                for each in fields(of)
            }
            whole = of(**values)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return whole if isinstance(whole, Rejection) else None


def _fields(reason: object) -> Sequence[Any]:
    """Return the fields; the reason of an external manager may not be a dataclass."""
    return fields(reason) if is_dataclass(reason) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _mask(value: object) -> NumaMask:
    mask = _whole(value)
    if mask < 0:
        raise ValueError(f"{mask} is not a set of NUMA nodes")
    return mask


def _hint(text: str) -> Hint:
    mask, preferred = json.loads(text)
    return Hint(None if mask is None else _mask(mask), bool(preferred))


def _amounts(text: str) -> tuple[tuple[str, int], ...]:
    return tuple((str(name), _whole(amount)) for name, amount in json.loads(text))


_READERS: Final[Mapping[Any, Callable[[str], object]]] = {
    "str": str,
    "int": lambda text: _whole(json.loads(text)),
    "NumaMask": lambda text: _mask(json.loads(text)),
    "Hint": _hint,
    "tuple[tuple[str, int], ...]": _amounts,
}
"""Parsers of field values, by the field's annotation.

They raise ``TypeError``, ``ValueError`` or ``RecursionError`` for an invalid value.
"""
