"""Whether a node is among those that a pod requires: terms of which one has to match.

Of a *term* all expressions about the node's labels and all about its fields have to hold; one
without any matches no node, and so does one with an expression that is not well formed. The only
field is ``metadata.name``.
Kubelet: ``GetRequiredNodeAffinity`` of ``component-helpers``, ``labels.NewRequirement``, v1.32.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from numalet.model import label_names

_IN: Final = "In"
_NOT_IN: Final = "NotIn"
_EXISTS: Final = "Exists"
_DOES_NOT_EXIST: Final = "DoesNotExist"
_GREATER: Final = "Gt"
_LESS: Final = "Lt"
_NAME_FIELD: Final = "metadata.name"
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_MOST: Final = 2**63


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression: what it is about, its operator as it is written, and the values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """Expressions about labels and about fields, which all have to hold."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


def matches(terms: Iterable[Term], labels: Mapping[str, str], node_name: str) -> bool:
    """Whether one of the terms matches the node; without any term none does."""
    return any(_matches(term, labels, node_name) for term in terms)


def _matches(term: Term, labels: Mapping[str, str], node_name: str) -> bool:
    if not (term.expressions or term.fields):
        return False
    well_formed = all(map(_is_expression, term.expressions)) and all(map(_is_field, term.fields))
    # A node without a name has no fields, and is not asked for any.
    return (
        well_formed
        and all(_holds(each, labels) for each in term.expressions)
        and (not node_name or all(_is_named(each, node_name) for each in term.fields))
    )


def _is_expression(each: Requirement) -> bool:
    if not (label_names.is_name(each.key) and all(map(label_names.is_value, each.values))):
        return False
    if each.operator in (_IN, _NOT_IN):
        return bool(each.values)
    if each.operator in (_EXISTS, _DOES_NOT_EXIST):
        return not each.values
    compares = each.operator in (_GREATER, _LESS)
    return compares and len(each.values) == 1 and _whole(each.values[0]) is not None


def _is_field(each: Requirement) -> bool:
    return each.operator in (_IN, _NOT_IN) and len(each.values) == 1


def _holds(each: Requirement, labels: Mapping[str, str]) -> bool:
    there = labels.get(each.key)
    if each.operator in (_NOT_IN, _DOES_NOT_EXIST):
        return there is None or (each.operator == _NOT_IN and there not in each.values)
    if there is None:
        return False
    if each.operator in (_IN, _EXISTS):
        return each.operator == _EXISTS or there in each.values
    has, asked = _whole(there), _whole(each.values[0])
    if has is None or asked is None:
        return False
    return has > asked if each.operator == _GREATER else has < asked


def _is_named(each: Requirement, node_name: str) -> bool:
    """What is no field of a node is an empty text."""
    there = node_name if each.key == _NAME_FIELD else ""
    return (there == each.values[0]) is (each.operator == _IN)


def _whole(text: str) -> int | None:
    """A number of 64 bits."""
    number = int(text) if _WHOLE.fullmatch(text) else _MOST
    return number if -_MOST <= number < _MOST else None
