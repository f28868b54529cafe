"""Measures the depth of JSON texts without recursion.

Recursive decoders fail at a depth that depends on the Python release and the call stack. Here the
limit is constant, and one object beyond it does not hide the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

import msgspec

from numalet.core.model import limits

_OPENING: Final = b"[{"
_BRACKETS: Final = b"[]{}"
_NO_BRACKETS: Final = bytes(each for each in range(256) if each not in _BRACKETS)
_STEP: Final = {each: 1 if each in _OPENING else -1 for each in _BRACKETS}
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[][{}]', re.DOTALL)
_ABOVE: Final = 10
"""Levels beyond the limit that ``shallow`` keeps, so that a deep object is still reported."""


def is_too_deep(text: bytes) -> bool:
    if text.count(b"[") + text.count(b"{") <= limits.NESTING:
        return False
    # A fast upper bound: it counts brackets in strings, too.
    steps = map(_STEP.__getitem__, text.translate(None, _NO_BRACKETS))
    if max(accumulate(steps)) <= limits.NESTING:
        return False
    return any(depth > limits.NESTING for depth, _ in _depths(text))


def shallow(text: bytes) -> bytes:
    """The JSON text with null in place of everything far beyond the limit; line numbers stay."""
    deepest = limits.NESTING + _ABOVE
    kept: list[bytes] = []
    begin, is_inside = 0, False
    for depth, at in _depths(text):
        if depth > deepest and not is_inside:
            kept.append(text[begin:at])
            begin, is_inside = at, True
        elif depth == deepest and is_inside:
            kept += (b"null", b"\n" * text.count(b"\n", begin, at))
            begin, is_inside = at + 1, False
    return b"".join([*kept, b"" if is_inside else text[begin:]])


def decode(decoder: msgspec.json.Decoder[Any], text: bytes) -> Any:
    """Decode a text, if necessary without the parts that are too deep for the decoder."""
    try:
        return decoder.decode(text)
    except RecursionError:
        return decoder.decode(shallow(text))


def _depths(text: bytes) -> Iterator[tuple[int, int]]:
    """The depth inside each opening and outside each closing bracket, with its index."""
    depth = 0
    for match in _TOKEN.finditer(text):
        step = _STEP.get(text[match.start()])
        if step is not None:
            depth += step
            yield depth, match.start()
