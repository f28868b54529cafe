"""Whether a node matches a pod's node selector and required node affinity.

One term has to match: all its expressions about labels and all about fields. The only field is
``metadata.name``. The result None means that the node's data are incomplete. Kubelet:
``GetRequiredNodeAffinity`` of ``component-helpers``, ``labels.NewRequirement``, v1.32.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from numalet.core.model import node_constraints
from numalet.core.model.node_constraints import NodeConstraints, NodeIdentity, NodeRequirement, Term

_IN: Final = "In"
_NOT_IN: Final = "NotIn"
_EXISTS: Final = "Exists"
_DOES_NOT_EXIST: Final = "DoesNotExist"
_GREATER: Final = "Gt"
_LESS: Final = "Lt"
_NAME_FIELD: Final = "metadata.name"
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_MOST: Final = 2**63


def matches(constraints: NodeConstraints, node: NodeIdentity) -> bool | None:
    verdicts = [_selected(constraints.selector, node)]
    if constraints.affinity is not None:
        verdicts.append(_any(_matches(term, node) for term in constraints.affinity))
    return _all(verdicts)


def _selected(selector: Mapping[str, str], node: NodeIdentity) -> bool | None:
    return _all(
        node.labels.get(key) == value if node.knows_label(key) else None
        for key, value in selector.items()
    )


def _matches(term: Term, node: NodeIdentity) -> bool | None:
    # An empty term matches no node, nor does one with a malformed expression.
    if not (term.expressions or term.fields):
        return False
    if not (all(map(_is_expression, term.expressions)) and all(map(_is_field, term.fields))):
        return False
    return _all(
        (
            *(
                _holds(each, node.labels) if node.knows_label(each.key) else None
                for each in term.expressions
            ),
            *(_is_named(each, node) for each in term.fields),
        )
    )


def _all(answers: Iterable[bool | None]) -> bool | None:
    """Three-valued conjunction: one False decides, whatever the unknown answers are."""
    given = set(answers)
    return False if False in given else None if None in given else True


def _any(answers: Iterable[bool | None]) -> bool | None:
    given = set(answers)
    return True if True in given else None if None in given else False


def _is_expression(each: NodeRequirement) -> bool:
    if not (
        node_constraints.is_label_name(each.key)
        and all(map(node_constraints.is_label_value, each.values))
    ):
        return False
    if each.operator in (_IN, _NOT_IN):
        return bool(each.values)
    if each.operator in (_EXISTS, _DOES_NOT_EXIST):
        return not each.values
    compares = each.operator in (_GREATER, _LESS)
    return compares and len(each.values) == 1 and _whole(each.values[0]) is not None


def _is_field(each: NodeRequirement) -> bool:
    return each.operator in (_IN, _NOT_IN) and len(each.values) == 1


def _holds(each: NodeRequirement, labels: Mapping[str, str]) -> bool:
    there = labels.get(each.key)
    if each.operator in (_NOT_IN, _DOES_NOT_EXIST):
        return there is None or (each.operator == _NOT_IN and there not in each.values)
    if there is None:
        return False
    if each.operator in (_IN, _EXISTS):
        return each.operator == _EXISTS or there in each.values
    # Gt and Lt compare with ``strconv.ParseInt``: a label that is not an int64 matches neither.
    has, asked = _whole(there), _whole(each.values[0])
    if has is None or asked is None:
        return False
    return has > asked if each.operator == _GREATER else has < asked


def _is_named(each: NodeRequirement, node: NodeIdentity) -> bool | None:
    """An unknown field reads as an empty text. A node without a name matches every field term."""
    if not node.name:
        return True if node.has_all_labels else None
    there = node.name if each.key == _NAME_FIELD else ""
    return (there == each.values[0]) is (each.operator == _IN)


def _whole(text: str) -> int | None:
    number = int(text) if _WHOLE.fullmatch(text) else _MOST
    return number if -_MOST <= number < _MOST else None
