"""The objects of a cluster from files, folders, tarballs or the standard input.

    kubectl get nodes,pods,pdb -A -o json

``must-gather`` and ``kubectl cluster-info dump --output-directory`` write such folders. An
unreadable file in a folder or tarball is a warning, and so is an unreadable object. If an object
occurs twice, the last one wins.
"""

from __future__ import annotations

import os
import re
import sys
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Final, cast

import msgspec

from numalet.core.cluster.objects import ClusterObjects
from numalet.core.model import input_error, limits
from numalet.core.model.findings import BadInput, Finding, Findings, Location, Severity
from numalet.io import packed
from numalet.io.documents.cluster import cluster_decoder
from numalet.io.documents.cluster.cluster_decoder import ObjectDecoder
from numalet.io.documents.text import object_stream, yaml_source
from numalet.io.documents.text.object_stream import ObjectText
from numalet.io.documents.text.typed import LineOf, Place, no_line
from numalet.io.findings.documents import DocumentTooManyObjects, DocumentUnreadable

MOST_UNPACKED_BYTES: Final = 4 << 30
"""The largest cluster that Kubernetes supports has 150,000 pods, about 1.5 GB."""
MOST_TIMES: Final = 200
"""The largest ratio of a dump above 64 MiB to its compressed form."""
MOST_MEMBERS: Final = 500_000
_SUFFIXES: Final = (".json", ".yaml", ".yml")
_OF_A_FOLDER: Final = (*_SUFFIXES, *(f"{each}.gz" for each in _SUFFIXES))
_KIND_BYTES: Final = 400
_KIND: Final = re.compile(
    rb'\A\s*\{\s*(?:"apiVersion":\s*"[^"\\]*",\s*)?"kind":\s*"([A-Za-z0-9]+)"'
)
_YAML_KIND: Final = re.compile(rb"^(?:- |  )?kind: ['\"]?([A-Za-z0-9]+)", re.MULTILINE)


class _Anything(msgspec.Struct):
    kind: str | None = None


def load(paths: Iterable[str]) -> ClusterObjects:
    """``-`` is the standard input. Raises ``BadInput`` for broken files, not for broken objects."""
    reader = ObjectReader()
    findings = Findings()
    for path in paths:
        is_folder = Path(path).is_dir()
        for file in _files(path) if is_folder else [path]:
            try:
                findings.extend(reader.read_file(file))
            except BadInput as bad:
                findings.extend(_warnings(bad) if is_folder else bad.findings)
    findings.raise_errors()
    return reader.objects(findings.all)


def _warnings(bad: BadInput) -> Iterator[Finding]:
    # In a folder, one bad file must not hide the others.
    return (each.of_severity(Severity.WARNING) for each in bad.findings)


def _files(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (str(Path(place, name)) for name in sorted(names) if name.endswith(_OF_A_FOLDER))


class ObjectReader:
    """Reads objects of all kinds and keeps the known ones."""

    def __init__(self) -> None:
        self._decoder = ObjectDecoder()
        self._kept: dict[str, dict[str, Any]] = {}

    def read_file(self, path: str) -> list[Finding]:
        """Return warnings about members. Raises ``BadInput`` if the whole file is unreadable."""
        warnings: list[Finding] = []
        where = Location(path)
        try:
            with _opened(path) as file:
                for name, content in _streams(file, path):
                    try:
                        self.read(content, name)
                    except BadInput as bad:
                        # A bad member of a tarball is a warning; a bad plain file is an error.
                        if name == path:
                            raise
                        warnings += _warnings(bad)
        except packed.LimitPassedError as passed:
            too_large = input_error.TooLarge(
                f"it unpacks to more than {passed.limit} {passed.what}; unpack it yourself and "
                "pass the file or folder",
                where=where,
            )
            raise BadInput([too_large]) from None
        except tarfile.TarError as error:
            damaged = input_error.Unreadable(
                "the compressed file or tarball is damaged or truncated "
                f"({packed.first_line(error)}); copy it or write the dump again",
                where=where,
            )
            raise BadInput([damaged]) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise BadInput([DocumentUnreadable(reason=reason, where=where)]) from None
        return warnings

    def read(self, source: IO[bytes], document: str) -> None:
        """Raises ``BadInput``."""
        for count, each in enumerate(object_stream.objects(source, document)):
            if count == limits.OBJECTS_OF_A_DUMP:
                where = Location(document, each.path, each.line)
                too_many = DocumentTooManyObjects(limit=limits.OBJECTS_OF_A_DUMP, where=where)
                raise BadInput([too_many])
            self._read(each, document)

    def objects(self, notes: Iterable[Finding] = ()) -> ClusterObjects:
        said = (*notes, *self._decoder.notes())
        return cluster_decoder.of_kinds(self._kept, self._decoder.unread_pods(), said)

    def _read(self, each: ObjectText, document: str) -> None:
        kind = _kind(each)
        if not self._decoder.knows(kind):
            return
        # Finding lines parses the object again, so it is done only while findings are still
        # reported.
        lines = _lines_in(each, document) if self._decoder.names_what_is_bad else no_line
        text, findings = each.text, Findings()
        if not each.is_json:
            text = _as_json(each, document, findings)
        if findings.has_errors:
            self._decoder.leave_out(kind, text, findings)
            return
        made = self._decoder.decode(kind, text, Place(document, each.path, lines))
        if made is not None:
            self._kept.setdefault(kind, {})[made[0]] = made[1]


def _opened(path: str) -> AbstractContextManager[BufferedReader]:
    if path == yaml_source.STANDARD_INPUT:
        # Standard input stays open. A buffered reader keeps the bytes that detecting the format
        # peeks at.
        source: Any = sys.stdin.buffer
        return nullcontext(source if isinstance(source, BufferedReader) else BufferedReader(source))
    return Path(path).open("rb")


def _streams(source: BufferedReader, document: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each file in a dump; its first bytes show compression or a tarball."""
    stream = packed.unpacked(source, MOST_UNPACKED_BYTES, MOST_TIMES)
    if not stream.is_tarball():
        yield document, cast("IO[bytes]", stream)
        return
    for member, content in packed.members(stream, MOST_UNPACKED_BYTES, MOST_MEMBERS, _is_wanted):
        if content is not None:
            yield f"{document}:{member.name}", content


def _is_wanted(member: tarfile.TarInfo) -> bool:
    return member.isreg() and member.name.endswith(_SUFFIXES)


def _kind(each: ObjectText) -> str:
    # API servers write apiVersion and kind first, so this avoids decoding objects of other kinds.
    pattern = _KIND if each.is_json else _YAML_KIND
    match = pattern.search(each.text[:_KIND_BYTES] if each.is_json else each.text)
    if match is not None:
        return match.group(1).decode()
    if not each.is_json:
        return each.kind
    read = cluster_decoder.read_as(each.text, _Anything)
    return (read.kind if read is not None else None) or each.kind


def _as_json(each: ObjectText, document: str, findings: Findings) -> bytes:
    try:
        value = _yaml_value(each, document)
        return msgspec.json.encode(value)
    except BadInput as bad:
        for finding in bad.findings:
            line = finding.where.line
            # The parser counts lines from the beginning of this object.
            at = each.line if line is None else each.line + line - 1
            findings.add(finding.at(Location(document, each.path, at)))
    return b""


def _yaml_value(each: ObjectText, document: str) -> Any:
    loaded = yaml_source.load_documents(yaml_source.decode(each.text, document), document)
    value = loaded[0].value if loaded else None
    return value[0] if isinstance(value, list) and value else value


def _lines_in(each: ObjectText, document: str) -> LineOf:
    """A function that returns the line, in the whole document, of a path in this object."""

    def line_of(path: str) -> int | None:
        try:
            text = yaml_source.decode(each.text, document)
            loaded = yaml_source.load_documents(text, document)
        except BadInput:
            return each.line
        # An item cut out of a YAML list keeps its dash, so it parses as a list of one.
        is_member = bool(loaded) and isinstance(loaded[0].value, list)
        inner = ("$[0]" if is_member else "$") + path.removeprefix(each.path)
        line = loaded[0].line_of(inner) if loaded else None
        return each.line if line is None else each.line + line - 1

    return line_of
