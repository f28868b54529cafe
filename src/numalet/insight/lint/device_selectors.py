"""Which devices a CEL selector can not mean, as far as that is certain without evaluating CEL.

Most selectors compare the driver or an attribute with a constant, several of them joined with
``&&``. Such comparisons are understood; everything else is taken to accept every device. So a
device that is said to be left out is one that the scheduler leaves out, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from numalet.core.model.device_claims import AttributeValue, SliceDevice

DRIVER: Final = ""
"""The name that stands for the driver of a device among its attributes."""

_LONGEST: Final = 10 * 1024
"""Characters of an expression that Kubernetes accepts."""
_MOST_PARENTHESES: Final = 20

_TEXT: Final = r"""(?:"(?P<text>[^"\\]*)"|'(?P<text2>[^'\\]*)')"""
_LITERAL: Final = rf"(?:{_TEXT}|(?P<int>-?\d{{1,18}})|(?P<bool>true|false))"
_ATTRIBUTE: Final = (
    r"""attributes\[(?P<quote>["'])(?P<domain>[^"'\\]+)(?P=quote)\]\.(?P<name>\w+)"""
)
_SUBJECT: Final = rf"device\.(?:driver|{_ATTRIBUTE})"
_COMPARISONS: Final = (
    re.compile(rf"{_SUBJECT}\s*==\s*{_LITERAL}"),
    re.compile(rf"{_LITERAL}\s*==\s*{_SUBJECT}"),
)


class SelectorTerm(NamedTuple):
    """A comparison: an attribute, or ``DRIVER``, has this value."""

    attribute: str
    value: AttributeValue


def accepts(expression: str, device: SliceDevice) -> bool:
    """Whether the expression may accept the device."""
    return all(_holds(term, device) for term in terms(expression))


@lru_cache(maxsize=1024)
def terms(expression: str) -> tuple[SelectorTerm, ...]:
    """The comparisons all of which hold of every device that the expression accepts."""
    if len(expression) > _LONGEST:
        return ()
    found = (_term(part) for part in _joined(expression.strip(), _MOST_PARENTHESES))
    return tuple(term for term in found if term is not None)


def _holds(term: SelectorTerm, device: SliceDevice) -> bool:
    if term.attribute == DRIVER:
        return device.driver == term.value.value
    values = device.attributes.get(term.attribute)
    if values is None:
        return False  # What is not there can not be compared: the device is not selected.
    is_plain = len(values) == 1 and all(each.type == term.value.type for each in values)
    return term.value in values or not is_plain


def _joined(expression: str, parentheses: int) -> Iterator[str]:
    """The parts that ``&&`` joins; nothing where the expression is joined otherwise, too."""
    parts: list[str] = []
    start = depth = 0
    quote = ""
    at = 0
    while at < len(expression):
        character = expression[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif depth == 0 and expression.startswith("&&", at):
            parts.append(expression[start:at])
            at += 1
            start = at + 1
        elif depth == 0 and (character == "?" or expression.startswith("||", at)):
            return
        at += 1
    for part in (*parts, expression[start:]):
        inner = part.strip()
        if parentheses and _is_in_parentheses(inner):
            yield from _joined(inner[1:-1].strip(), parentheses - 1)
        else:
            yield inner


def _is_in_parentheses(part: str) -> bool:
    """Whether one pair of parentheses is around all of it, as far as texts have none."""
    if not (part.startswith("(") and part.endswith(")")):
        return False
    depth = 0
    for at, character in enumerate(part):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return at == len(part) - 1
    return False


def _term(part: str) -> SelectorTerm | None:
    match = next(filter(None, (each.fullmatch(part) for each in _COMPARISONS)), None)
    if match is None:
        return None
    name = match["name"]
    attribute = DRIVER if name is None else f"{match['domain']}/{name}"
    if match["int"] is not None:
        return SelectorTerm(attribute, AttributeValue("int", int(match["int"])))
    if match["bool"] is not None:
        return SelectorTerm(attribute, AttributeValue("bool", match["bool"] == "true"))
    text = match["text"] if match["text"] is not None else match["text2"]
    return SelectorTerm(attribute, AttributeValue("string", text))
