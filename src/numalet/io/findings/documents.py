"""Findings about a document of any kind."""

from __future__ import annotations

import errno
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location

_UNUSABLE: Final = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP)


def unusable_path(error: OSError) -> BadInput | None:
    """Return the input error about a path that is closed to this user or no path; else None.

    Also the questions of ``pathlib`` raise such errors, as ``Path.exists``.
    """
    if error.errno not in _UNUSABLE or error.filename is None:
        return None
    return input_error.Unreadable(
        f"this path cannot be used: {error.strerror}", where=Location(str(error.filename))
    ).bad_input()


class DocumentUnreadable(Finding):
    sentence = "this file cannot be read: {reason}"
    reason: str


class DocumentTooLarge(Finding):
    sentence = "this file is too large; at most {limit_bytes} bytes are read"
    limit_bytes: int


class DocumentSyntax(Finding):
    sentence = "this is neither YAML nor JSON: {problem}"
    problem: str


class DocumentTooDeep(Finding):
    sentence = "this is nested too deeply; at most {limit} levels are read"
    limit: int


class DocumentTooManyObjects(Finding):
    sentence = "this is one object too many; at most {limit} are read"
    limit: int


class DocumentDuplicateKey(Finding):
    sentence = "{path} is given twice; the last one counts"
    path: str


class PartMissing(Finding):
    """A field that has to be there; ``what`` is where, if its place does not say it."""

    name: str = ""
    what: str = ""


class DocumentFieldMissing(PartMissing):
    sentence = "the field {name!r} is missing and has no default"


class DocumentType(Finding):
    sentence = "{expected} is expected, not {got}"
    expected: str
    got: str


class DocumentUnknownField(Finding):
    sentence = "no field is called {name!r} here; known: {nearest}"
    name: str
    nearest: str


class DocumentMoreFindings(Finding):
    sentence = "not listed: {count} more findings of this object ({kind})"
    count: int
    kind: str
