"""Finds the KubeletConfiguration inside other documents.

These are documents of vendors (``vendor_table``), output of ``/configz``, ConfigMaps, and lists of
objects. Findings have their location in the outer file.
"""

from __future__ import annotations

import email
from collections.abc import Iterator, Mapping
from typing import Any, Final

from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import replace
from numalet.io.documents.kubelet import (
    bottlerocket,
    config_parts,
    kubelet_command_line,
    kubelet_config_document,
    vendor_format,
    vendor_table,
)
from numalet.io.documents.kubelet.config_parts import ConfigPart, Document, Source
from numalet.io.documents.kubelet.vendor_format import VendorForm, VendorFormat, VendorSettings
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.io.findings.config_files import (
    ConfigFileReadFrom,
    ConfigFileSeveralDocuments,
)

_CONFIGZ: Final = "kubeletconfig"
_DEEPEST: Final = 3
"""Of lists in lists and texts in texts. Clients write less; this stops hostile files."""


def of_document(document: Document, text: str) -> list[ConfigPart]:
    """The configurations in a document; ``text`` is the whole file. Raises ``BadInput``."""
    return [*_parts(document.value, "$", Source(document, text), 0)]


def read_from(source: str, where: Location) -> Finding:
    return ConfigFileReadFrom(source=source, where=where)


def of_mime(text: str, name: str) -> list[ConfigPart]:
    """The configurations in multi-part user data. Raises ``BadInput``."""
    whole = YamlDocument(None, name, yaml_source.SecondReading("", name))
    return [*_of_text(text, "$", Source(whole, text), 0)]


def is_mime(text: str) -> bool:
    return text.startswith(("MIME-Version:", "Content-Type:"))


def _parts(value: object, path: str, source: Source, depth: int) -> Iterator[ConfigPart]:
    # Such a list has one item per group of machines, for example node pools.
    if isinstance(value, list) and depth == 0:
        for at, item in enumerate(value):
            for part in _parts(item, f"{path}[{at}]", source, depth + 1):
                yield replace(part, pools=(vendor_format.name_of(item, at), *part.pools))
    if not isinstance(value, dict) or depth > _DEEPEST:
        return
    api_version, kind = value.get("apiVersion"), value.get("kind")
    vendor = vendor_table.of(value)
    if path == "$" and kubelet_config_document.is_plain(value):
        yield ConfigPart(value=value, locate=source.location, duplicates=source.duplicates)
    elif vendor is not None:
        yield from _of_vendor(vendor, value, path, source, depth)
    elif kind == "List" and isinstance(value.get("items"), list):
        for at, item in enumerate(value["items"]):
            yield from _parts(item, f"{path}.items[{at}]", source, depth + 1)
    elif (api_version, kind) == ("v1", "ConfigMap"):
        data = value.get("data")
        for key, text in data.items() if isinstance(data, Mapping) else ():
            for part in _of_text(text, f"{path}.data.{key}", source, depth + 1):
                yield replace(part, note=part.note or _of_key(value, key, part))
    # /configz wraps the fields in "kubeletconfig" and leaves apiVersion and kind out.
    elif isinstance(value.get(_CONFIGZ), dict) and len(value) == 1:
        note = "the configuration that a running kubelet reports (configz)"
        part = config_parts.fields(
            VendorSettings(""), value[_CONFIGZ], f"{path}.{_CONFIGZ}", source
        )
        yield replace(part, note=read_from(note, part.locate("$")))


def _of_key(value: Mapping[str, Any], key: str, part: ConfigPart) -> Finding:
    return read_from(f"{_title(value)}, its key {key}", part.locate("$"))


def _title(value: Mapping[str, Any]) -> str:
    metadata = value.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    names = [given.get(each) for each in ("namespace", "name")]
    name = "/".join(each for each in names if isinstance(each, str) and each)
    return f"{value.get('kind') or ''} {name}".strip()


def _of_vendor(
    vendor: VendorFormat, value: Mapping[str, Any], path: str, source: Source, depth: int
) -> Iterator[ConfigPart]:
    name = _title(value)
    own = (name.rpartition("/")[2].rpartition(" ")[2],) if vendor.is_pool and name else ()
    sets = vendor.fields_set(value)
    for settings in vendor.settings:
        for pools, place, inner in vendor_format.found(value, settings.path):
            for part in _settings(settings, inner, path + place, source, depth):
                yield replace(
                    part, pools=(*own, *pools, *part.pools), vendor=vendor, sets=sets, note=None
                )


def _settings(
    settings: VendorSettings, value: Any, path: str, source: Source, depth: int
) -> Iterator[ConfigPart]:
    match settings.form:
        case VendorForm.FIELDS:
            yield config_parts.fields(settings, value, path, source)
        case VendorForm.FLAGS:
            flags = tuple(config_parts.flags(value, path, source))
            yield ConfigPart(value={}, locate=lambda _: source.location(path), flags=flags)
        case VendorForm.TEXT:
            yield from _of_text(value, path, source, depth + 1)
        case VendorForm.FILE:
            yield from _of_text(config_parts.content(value), path, source, depth + 1)
        case VendorForm.BOTTLEROCKET:
            yield config_parts.of_bottlerocket(value, path, source)


def _of_text(text: Any, path: str, source: Source, depth: int) -> Iterator[ConfigPart]:
    """The configurations in a text inside a document: YAML, TOML, a command line, or MIME."""
    if not isinstance(text, str) or depth > _DEEPEST or text.startswith("#!"):
        return
    name = source.document.document
    move = _Lines(source, path, text).moved
    if is_mime(text):
        for part in email.message_from_string(text).walk():
            content = part.get_payload(decode=True)
            if isinstance(content, bytes):
                yield from _of_text(content.decode(errors="replace"), path, source, depth + 1)
        return
    # A cheap test first; most texts in such documents do not concern the kubelet.
    if not text.startswith(("{", "[settings.")) and "kubelet" not in text.lower():
        return
    try:
        line = kubelet_command_line.read(text, name)
        if line is not None:
            flags = tuple((flag, value, move(where)) for flag, value, where in line.flags)
            yield ConfigPart(value={}, locate=lambda _: source.location(path), flags=flags)
            return
        is_toml = bottlerocket.is_meant(text, "")
        documents: list[Any] = (
            [bottlerocket.load(text, name)]
            if is_toml
            else [*yaml_source.load_documents(text, name)]
        )
    except BadInput as bad:
        raise BadInput([each.at(move(each.where)) for each in bad.findings]) from None
    for document in documents:
        yield from _parts(document.value, "$", Source(document, text, move), depth + 1)


class _Lines:
    """Maps lines of an embedded text to lines of the file.

    In a literal block (``|``) each line of the text has its own line below the key. In any other
    style all lines map to the line of the key.
    """

    def __init__(self, source: Source, path: str, text: str) -> None:
        self._source = source
        self._path = path
        self._start = source.document.line_of(path)
        self._inside = text.split("\n")
        self._outside = source.text.split("\n")

    def moved(self, where: Location) -> Location:
        path = self._path + where.path.removeprefix("$")
        here = Location(self._source.document.document, path, self._line(where.line))
        return self._source.move(here)

    def _line(self, inside: int | None) -> int | None:
        if self._start is None or inside is None:
            return self._start
        outside = self._start + inside
        # The style is unknown after parsing, so compare the lines.
        lines = self._inside[inside - 1 : inside], self._outside[outside - 1 : outside]
        is_same = [each.strip() for each in lines[0]] == [each.strip() for each in lines[1]]
        return outside if is_same else self._start


def among(documents: list[Document], part: ConfigPart) -> Finding | None:
    """Return a note that names the Kubernetes objects next to the KubeletConfiguration, if any.

    ``documents`` are the other documents of the file. Raises ``BadInput`` if one of them is not a
    Kubernetes object (no ``apiVersion`` or ``kind``): then the file may be of another kind.
    """
    kinds = []
    for document in documents:
        value = document.value
        kind = value.get("kind") if isinstance(value, Mapping) else None
        if not isinstance(kind, str) or not isinstance(value.get("apiVersion"), str):
            count = len(documents) + 1
            raise BadInput([ConfigFileSeveralDocuments(count=count, where=document.location("$"))])
        kinds.append(kind)
    if not kinds:
        return None
    source = f"the KubeletConfiguration among {len(kinds) + 1} documents"
    source += f" (passed over: {', '.join(kinds)})"
    return read_from(source, part.location("$"))
