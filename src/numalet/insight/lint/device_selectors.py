"""Exclude devices that a CEL selector certainly rejects, without evaluating CEL.

Any expression that is not understood is assumed to accept every device, so the scheduler rejects
every device that is rejected here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from numalet.core.model.device_claims import AttributeValue, SliceDevice

DRIVER: Final = ""
"""The name of the driver among the attributes of a device."""

_LONGEST: Final = 10 * 1024
"""Limit of Kubernetes for the characters of an expression."""
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
    """Return whether the expression may accept the device."""
    return all(_holds(term, device) for term in terms(expression))


@lru_cache(maxsize=1024)
def terms(expression: str) -> tuple[SelectorTerm, ...]:
    """Return the comparisons that hold for every device that the expression accepts."""
    if len(expression) > _LONGEST:
        return ()
    found = (_term(part) for part in _joined(expression.strip(), _MOST_PARENTHESES))
    return tuple(term for term in found if term is not None)


def _holds(term: SelectorTerm, device: SliceDevice) -> bool:
    if term.attribute == DRIVER:
        return device.driver == term.value.value
    values = device.attributes.get(term.attribute)
    if values is None:
        return False  # A missing attribute cannot be compared: the device is not selected.
    # A list, or a value of another type, may still match, so it excludes nothing.
    is_plain = len(values) == 1 and all(each.type == term.value.type for each in values)
    return term.value in values or not is_plain


def _joined(expression: str, parentheses: int) -> Iterator[str]:
    """Yield the parts joined by ``&&``; nothing if there are other operators."""
    parts: list[str] = []
    start = depth = 0
    quote = ""
    at = 0
    while at < len(expression):
        character = expression[at]
        if quote:
            # The character after a backslash belongs to the text, also if it is a quote.
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
        # With a conditional or an alternative, no part has to hold.
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
    """Return whether one pair of parentheses encloses the part, ignoring those in texts."""
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
