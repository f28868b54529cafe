"""What is wrong with a document, whatever it is about."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class DocumentUnreadable(Finding):
    code = "document/unreadable"
    sentence = "this file can not be read: {reason}"
    reason: str


class DocumentTooLarge(Finding):
    code = "document/too-large"
    sentence = "this file is too large; at most {limit_bytes} bytes are read"
    limit_bytes: int


class DocumentNotUtf8(Finding):
    code = "document/not-utf8"
    sentence = "this file is not UTF-8 text: byte {byte} at offset {offset}"
    byte: str
    offset: int


class DocumentSyntax(Finding):
    code = "document/syntax"
    sentence = "this is neither YAML nor JSON: {problem}"
    problem: str


class DocumentTooDeep(Finding):
    code = "document/too-deep"
    sentence = "this is nested too deeply; at most {limit} levels are read"
    limit: int


class DocumentTooManyNodes(Finding):
    code = "document/too-many-nodes"
    sentence = (
        "with its aliases written out this document is too large; at most {limit} values are read"
    )
    limit: int


class DocumentTooManyObjects(Finding):
    code = "document/too-many-objects"
    sentence = "this is one object too many; at most {limit} are read"
    limit: int


class DocumentTooManyErrors(Finding):
    code = "document/too-many-errors"
    sentence = "reading stops here, after {count} errors"
    count: int


class DocumentCyclicAlias(Finding):
    code = "document/cyclic-alias"
    sentence = "the alias *{alias} refers to a value that it is itself a part of"
    alias: str


class DocumentUnknownAlias(Finding):
    code = "document/unknown-alias"
    sentence = "the alias *{alias} refers to no anchor before it"
    alias: str


class DocumentBadMerge(Finding):
    code = "document/bad-merge"
    sentence = "'<<' merges a mapping or a list of mappings, and this is neither"


class DocumentKeyNotText(Finding):
    code = "document/key-not-text"
    sentence = "a key must be a text, and this one is a mapping or a list"


class DocumentUnknownTag(Finding):
    code = "document/unknown-tag"
    sentence = (
        "the tag {tag!r} has no meaning here; allowed are !!str, !!int, !!float, !!bool, !!null, "
        "!!map and !!seq"
    )
    tag: str


class DocumentDuplicateKey(Finding):
    code = "document/duplicate-key"
    sentence = "{path} is given twice; the last one counts"
    path: str


class OptionsNodeLabel(Finding):
    code = "options/node-label"
    sentence = "{value} is no label of a node, such as disk=ssd"
    value: str


class PartMissing(Finding):
    """A field that has to be there; ``what`` is where, if its place does not say it."""

    name: str = ""
    what: str = ""


class DocumentFieldMissing(PartMissing):
    code = "document/field-missing"
    sentence = "the field {name!r} is missing and has no default"


class DocumentType(Finding):
    code = "document/type"
    sentence = "{expected} is expected, not {got}"
    expected: str
    got: str


class DocumentUnknownField(Finding):
    code = "document/unknown-field"
    sentence = "no field is called {name!r} here; known: {nearest}"
    name: str
    nearest: str


class DocumentMoreFindings(Finding):
    code = "document/more-findings"
    sentence = "not listed: {count} more findings of this object ({kind})"
    count: int
    kind: str


class ValueNotAllowed(Finding):
    """A value that is none of those allowed."""

    value: str
    allowed: str = ""


class DocumentOneOf(ValueNotAllowed):
    code = "document/one-of"
    sentence = "{value} is not allowed here; these are: {allowed}"


class NumberNotAllowed(Finding):
    """A number below ``least`` or above ``most``."""

    value: str
    least: int
    most: int


class DocumentRange(NumberNotAllowed):
    code = "document/range"
    sentence = "{value} is not allowed here; {least} to {most} are"
