"""What is wrong with a document, whatever it is about."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class DocumentUnreadable(Finding):
    sentence = "this file can not be read: {reason}"
    reason: str


class DocumentTooLarge(Finding):
    sentence = "this file is too large; at most {limit_bytes} bytes are read"
    limit_bytes: int


class DocumentNotUtf8(Finding):
    sentence = "this file is not UTF-8 text: byte {byte} at offset {offset}"
    byte: str
    offset: int


class DocumentSyntax(Finding):
    sentence = "this is neither YAML nor JSON: {problem}"
    problem: str


class DocumentTooDeep(Finding):
    sentence = "this is nested too deeply; at most {limit} levels are read"
    limit: int


class DocumentTooManyNodes(Finding):
    sentence = (
        "with its aliases written out this document is too large; at most {limit} values are read"
    )
    limit: int


class DocumentTooManyObjects(Finding):
    sentence = "this is one object too many; at most {limit} are read"
    limit: int


class DocumentTooManyErrors(Finding):
    sentence = "reading stops here, after {count} errors"
    count: int


class DocumentCyclicAlias(Finding):
    sentence = "the alias *{alias} refers to a value that it is itself a part of"
    alias: str


class DocumentUnknownAlias(Finding):
    sentence = "the alias *{alias} refers to no anchor before it"
    alias: str


class DocumentBadMerge(Finding):
    sentence = "'<<' merges a mapping or a list of mappings, and this is neither"


class DocumentKeyNotText(Finding):
    sentence = "a key must be a text, and this one is a mapping or a list"


class DocumentUnknownTag(Finding):
    sentence = (
        "the tag {tag!r} has no meaning here; allowed are !!str, !!int, !!float, !!bool, !!null, "
        "!!map and !!seq"
    )
    tag: str


class DocumentDuplicateKey(Finding):
    sentence = "{path} is given twice; the last one counts"
    path: str


class OptionsNodeLabel(Finding):
    sentence = "{value} is no label of a node, such as disk=ssd"
    value: str


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


class ValueNotAllowed(Finding):
    """A value that is none of those allowed."""

    value: str
    allowed: str = ""


class DocumentOneOf(ValueNotAllowed):
    sentence = "{value} is not allowed here; these are: {allowed}"


class NumberNotAllowed(Finding):
    """A number below ``least`` or above ``most``."""

    value: str
    least: int
    most: int


class DocumentRange(NumberNotAllowed):
    sentence = "{value} is not allowed here; {least} to {most} are"
