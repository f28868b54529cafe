"""The exact error of Go's JSON scanner about a text that is not JSON.

The error names the first invalid byte and its context. The scanner runs only on broken texts, so it
builds nothing. Go 1.23: ``encoding/json``, ``scanner.go``.
"""

from __future__ import annotations

from typing import Final

from numalet.core.model import go_text

_DEEPEST: Final = 10_000
_BLANKS: Final = b" \t\r\n"
_DIGITS: Final = b"0123456789"
_HEXADECIMAL: Final = b"0123456789abcdefABCDEF"
_ESCAPES: Final = b'bfnrt\\/"'
_LITERALS: Final = {b"t": b"true", b"f": b"false", b"n": b"null"}
_CLOSING: Final = {b"{": b"}", b"[": b"]"}
_AFTER: Final = {b"{": "after object key:value pair", b"[": "after array element"}
_FIRST_PRINTABLE: Final = b" "


class _Broken(Exception):  # noqa: N818 - stops the scanner, not an error
    """The text is invalid from here on."""


def complaint(text: str) -> str:
    """Return Go's error about a text; empty if the text is valid JSON."""
    try:
        _Scanner(text.encode("utf-8", "surrogatepass")).scan()
    except _Broken as broken:
        return str(broken)
    return ""


class _Scanner:
    """Scans the bytes once; ``_open`` holds the brackets that are still open."""

    def __init__(self, content: bytes) -> None:
        # Go appends a blank, which ends a number or a literal at the end of the text.
        self._content = content + b" "
        self._at = 0
        self._open: list[bytes] = []

    def scan(self) -> None:
        """Scan the whole text: one value with blanks around it."""
        while self._opens_container() or self._has_another():
            pass
        self._skip_blanks()
        if self._at < len(self._content):
            raise self._refused("after top-level value")

    def _peek(self) -> bytes:
        byte = self._content[self._at : self._at + 1]
        if not byte:
            raise _Broken("unexpected end of JSON input")
        return byte

    def _refused(self, what: str) -> _Broken:
        # Go prints a byte as the character with that number, even inside a multi-byte character.
        byte = chr(self._peek()[0])
        shown = {"'": "\\'", '"': '"'}.get(byte) or go_text.quote(byte)[1:-1]
        return _Broken(f"invalid character '{shown}' {what}")

    def _skip_blanks(self) -> None:
        while self._at < len(self._content) and self._content[self._at] in _BLANKS:
            self._at += 1

    def _next(self) -> bytes:
        """Return the next byte that is not blank, without consuming it."""
        self._skip_blanks()
        return self._peek()

    def _opens_container(self) -> bool:
        """Consume a value, or only the opening of a non-empty container."""
        first = self._next()
        if first not in _CLOSING:
            self._scalar(first)
            return False
        self._open.append(first)
        # An own stack instead of recursion, because Go allows deeper nesting than Python's call
        # stack.
        if len(self._open) > _DEEPEST:
            raise self._refused("exceeded max depth")
        self._at += 1
        if self._next() == _CLOSING[first]:
            self._open.pop()
            self._at += 1
            return False
        if first == b"{":
            self._key()
        return True

    def _has_another(self) -> bool:
        """Consume separators after a value; return whether another value of a container follows."""
        while self._open:
            opening = self._open[-1]
            byte = self._next()
            if byte != b"," and byte != _CLOSING[opening]:
                raise self._refused(_AFTER[opening])
            self._at += 1
            if byte == b",":
                if opening == b"{":
                    self._key()
                return True
            self._open.pop()
        return False

    def _key(self) -> None:
        if self._next() != b'"':
            raise self._refused("looking for beginning of object key string")
        self._string()
        if self._next() != b":":
            raise self._refused("after object key")
        self._at += 1

    def _scalar(self, first: bytes) -> None:
        if first == b'"':
            self._string()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        elif first == b"-" or first in _DIGITS:
            self._number()
        else:
            raise self._refused("looking for beginning of value")

    def _literal(self, word: bytes) -> None:
        for letter in word:
            if self._peek()[0] != letter:
                expected = f"in literal {word.decode()} (expecting {chr(letter)!r})"
                raise self._refused(expected)
            self._at += 1

    def _string(self) -> None:
        self._at += 1
        while (byte := self._peek()) != b'"':
            if byte < _FIRST_PRINTABLE:
                raise self._refused("in string literal")
            self._at += 1
            if byte == b"\\":
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        byte = self._peek()
        if byte == b"u":
            self._at += 1
            for _ in range(4):
                self._one_of(_HEXADECIMAL, "in \\u hexadecimal character escape")
        else:
            self._one_of(_ESCAPES, "in string escape code")

    def _number(self) -> None:
        if self._peek() == b"-":
            self._at += 1
        # No digit may follow a leading zero; the next check then complains about it, as in Go.
        if self._peek() == b"0":
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._peek() == b".":
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._peek() in (b"e", b"E"):
            self._at += 1
            if self._peek() in (b"+", b"-"):
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, what: str) -> None:
        self._one_of(_DIGITS, what)
        while self._peek() in _DIGITS:
            self._at += 1

    def _one_of(self, allowed: bytes, what: str) -> None:
        if self._peek() not in allowed:
            raise self._refused(what)
        self._at += 1
