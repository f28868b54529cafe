"""Parts of a configuration in the formats of vendors, merged for one group of machines.

A group has its own settings and those for all machines.
"""

from __future__ import annotations

import base64
import binascii
import urllib.parse
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from numalet.core.config.kubelet_config import CommandFlag, UnknownFields
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Value, replace
from numalet.io.documents.kubelet import (
    bottlerocket,
    command_text,
    flag_words,
    kubelet_config_document,
    kubelet_flags,
)
from numalet.io.documents.kubelet.bottlerocket import TomlDocument
from numalet.io.documents.kubelet.drop_ins import MergedDocuments
from numalet.io.documents.kubelet.vendor_format import VendorFormat, VendorSettings
from numalet.io.documents.text import typed
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.io.findings.config_files import (
    ConfigFileReadFrom,
    ConfigFileReadInPart,
)
from numalet.io.findings.documents import DocumentType

_LARGEST_FILE: Final = 4 * 1024 * 1024


class ConfigPart(Value, kw_only=True):
    """The fields of a configuration, with the flags and notes from the same place.

    ``flags`` are kubelet flags with their places, in order; they win over the fields. ``problems``
    are invalid words on its command line, which stop the kubelet; ``missing`` are unreadable files
    that it names.

    ``note`` names the source, except for a plain KubeletConfiguration. ``pools`` names the group of
    machines, outer group first; empty means all machines. ``vendor`` is the format, except for a
    whole configuration; ``sets`` are the fields that the vendor sets.
    """

    value: dict[str, Any]
    locate: Callable[[str], Location]
    duplicates: tuple[Finding, ...] = ()
    flags: tuple[tuple[str, str, Location], ...] = ()
    problems: tuple[CommandFlag, ...] = ()
    missing: tuple[str, ...] = ()
    note: Finding | None = None
    pools: tuple[str, ...] = ()
    vendor: VendorFormat | None = None
    sets: Mapping[str, Any] = {}

    def location(self, path: str) -> Location:
        return self.locate(path)


Document: TypeAlias = YamlDocument | TomlDocument


def _unmoved(where: Location) -> Location:
    return where


class Source(Value):
    """A document, the text that contains it, and how its places map to those of the file."""

    document: Document
    text: str
    move: Callable[[Location], Location] = _unmoved

    def location(self, path: str) -> Location:
        return self.move(self.document.location(path))

    @property
    def duplicates(self) -> tuple[Finding, ...]:
        return tuple(each.at(self.move(each.where)) for each in self.document.duplicates)


def fields(settings: VendorSettings, value: object, path: str, source: Source) -> ConfigPart:
    """The fields of a mapping; some may have names of the vendor."""
    if settings.only_named and isinstance(value, dict):
        given: dict[str, Any] = value
    else:
        given = kubelet_config_document.fields_of(value, source.location(path))
    fields: dict[str, Any] = {}
    places: dict[str, str] = {}
    for name, inner in given.items():
        # Vendors nest some settings, such as ``reserved.memory``; the member has a name in the
        # table.
        is_around = any(each.startswith(f"{name}.") for each in settings.names)
        each_inner = inner.items() if is_around and isinstance(inner, dict) else ()
        members = {f"{name}.{key}": each for key, each in each_inner} or {name: inner}
        for own, each in members.items():
            field = settings.field_of(own)
            if field is not None:
                _put(fields, field, each)
                places[field.removesuffix("<")] = own

    def locate(asked: str) -> Location:
        around = wanted = asked.removeprefix("$").removeprefix(".")
        while around and around not in places:
            around = around[: max(around.rfind("."), around.rfind("["), 0)]
        inside = places[around] + wanted[len(around) :] if around else wanted
        return source.location(f"{path}.{inside}" if inside else path)

    return ConfigPart(value=fields, locate=locate, duplicates=source.duplicates)


def _put(fields: dict[str, Any], field: str, value: Any) -> None:
    # ``field<`` is a map that vendors also write like the kubelet's flag: ``name<threshold,...``.
    if field.endswith("<") and isinstance(value, str):
        pairs = (pair.partition("<") for pair in value.split(",") if pair)
        fields[field[:-1]] = {key.strip(): threshold.strip() for key, _, threshold in pairs}
        return
    name, _, key = field.removesuffix("<").partition(".")
    if not key:
        fields[name] = value
    elif isinstance(fields.setdefault(name, {}), dict):
        # Maps such as options and reservations have text values.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        fields[name][key] = str(value) if is_number else value


def flags(value: Any, path: str, source: Source) -> Iterator[tuple[str, str, Location]]:
    """Flags from a mapping, a list of names with values, a list of texts, or a text."""
    where = source.location(path)
    if isinstance(value, dict):
        for name, each in value.items():
            # A repeated flag is a list under its name.
            for one in each if isinstance(each, list) else [each]:
                yield _flag(name, one, source.location(f"{path}.{name}"))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            place = source.location(f"{path}[{at}]")
            if isinstance(item, dict) and "name" in item:
                yield _flag(item["name"], item.get("value", ""), place)
            elif isinstance(item, str):
                name, _, text = item.partition("=")
                yield _flag(name, text if "=" in item else "true", place)
            else:
                raise _no_text(item, place)
    elif isinstance(value, str) and value.startswith("--"):
        try:
            given = [*flag_words.parsed(command_text.words_of(value))]
        except ValueError:
            raise _no_text(value, where) from None
        problems = [flag.problem.at(where) for flag in given if flag.problem is not None]
        if problems:
            raise BadInput(problems)
        yield from ((flag.name, flag.value, where) for flag in given)
    elif isinstance(value, str):
        name, _, text = value.partition("=")
        yield _flag(name, text, where)
    else:
        raise _no_text(value, where)


def _flag(name: Any, value: Any, where: Location) -> tuple[str, str, Location]:
    if value is None or isinstance(value, dict | list) or not isinstance(name, str):
        raise _no_text(value, where)
    # pflag treats underscores in names as dashes.
    return name.strip().removeprefix("--").replace("_", "-"), kubelet_flags.flag_text(value), where


def _no_text(value: object, where: Location) -> BadInput:
    return BadInput([DocumentType(expected="a text", got=typed.described(value), where=where)])


def of_bottlerocket(value: Any, path: str, source: Source) -> ConfigPart:
    settings = kubelet_config_document.fields_of(value, source.location(path))

    def locate(setting: str) -> Location:
        return source.location(f"{path}.{setting}" if setting else path)

    fields, located, warnings = bottlerocket.fields(settings, locate)
    return ConfigPart(value=fields, locate=located, duplicates=(*source.duplicates, *warnings))


def content(file: Any) -> str:
    """The text of a kubelet's file that Ignition or cloud-init writes; empty for other files."""
    path = file.get("path") if isinstance(file, Mapping) else None
    if not isinstance(path, str) or "kubelet" not in path:
        return ""
    inner = file.get("contents")
    data = inner.get("source") if isinstance(inner, Mapping) else None
    text = file.get("content", data)
    encoding = str(file.get("encoding", ""))
    if not isinstance(text, str):
        return ""
    # Ignition holds contents as data URLs; cloud-init as text with an encoding.
    if not text.startswith("data:"):
        return _decoded(text, encoding) if encoding else text
    head, _, body = text.partition(",")
    body = urllib.parse.unquote(body)
    is_packed = isinstance(inner, Mapping) and inner.get("compression") == "gzip"
    return _decoded(body, f"base64{'gzip' * is_packed}") if head.endswith(";base64") else body


def _decoded(text: str, encoding: str) -> str:
    """Decode base64, and gzip if the encoding names it; empty if that fails."""
    try:
        content = base64.b64decode(text)
        if "gz" in encoding:
            # The size limit protects against a small text that unpacks to gigabytes.
            content = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content, _LARGEST_FILE)
        return content.decode()
    except (binascii.Error, zlib.error, ValueError):
        return ""


def chosen(parts: Sequence[ConfigPart], pool: str, document: str) -> ConfigPart:
    """The named group, or the only one. Raises ``BadInput`` if the name is missing or unknown."""
    every = dict.fromkeys(part.pools for part in parts)
    # Settings for an outer group apply to the inner ones and are not a group themselves.
    groups = [each for each in every if not any(_is_around(each, other) for other in every)]
    merged = {"/".join(each): _merged(each, parts) for each in groups}
    if pool:
        merged = {name: part for name, part in merged.items() if name == pool}
    first = next(iter(merged.values()), None)
    # Groups with equal settings need no choice.
    if first is None or any(not _are_same(first, each) for each in merged.values()):
        names = ["/".join(each) for each in groups]
        raise input_error.Invalid(
            f"the file has settings for several groups of machines: {', '.join(names)}; choose "
            f"one, such as {document}#{names[0]}",
            where=Location(document),
        ).bad_input()
    return first


def _is_around(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return len(one) < len(other) and other[: len(one)] == one


def _are_same(one: ConfigPart, other: ConfigPart) -> bool:
    flags = [[flag[:2] for flag in each.flags] for each in (one, other)]
    return one.value == other.value and flags[0] == flags[1]


def _merged(group: tuple[str, ...], parts: Sequence[ConfigPart]) -> ConfigPart:
    """All settings of a group in the order of the file, general settings first."""
    own = [each for each in parts if each.pools == group or _is_around(each.pools, group)]
    own.sort(key=lambda each: len(each.pools))
    # With these vendors, settings of a pool replace the general ones rather than merge.
    if group and any(each.vendor and each.vendor.pool_replaces for each in own):
        own = [each for each in own if each.pools]
    whole = next((each for each in own if each.vendor is None), None)
    first = whole or own[0]
    vendor = None if whole is not None else own[0].vendor
    if len(own) == 1 and vendor is None:
        return first
    documents = MergedDocuments()
    for each in own:
        documents.merge(each)
    return replace(
        first,
        value=documents.value,
        locate=documents.locate if len(own) > 1 else first.locate,
        duplicates=tuple(dict.fromkeys(found for each in own for found in each.duplicates)),
        flags=tuple(flag for each in own for flag in each.flags),
        problems=tuple(problem for each in own for problem in each.problems),
        pools=group,
        vendor=vendor,
    )


def note(part: ConfigPart, vendor: VendorFormat, unknown: UnknownFields | None) -> Finding:
    source = ", ".join(filter(None, (vendor.name, "/".join(part.pools))))
    if part.sets:
        source += f"; {vendor.system} also sets: {', '.join(shown(part.sets))}"
    if unknown is None:
        return ConfigFileReadFrom(source=source, where=part.locate("$"))
    fields = (
        f"{name} (assumed: {values[0] or 'not set'})" for name, values in unknown.fields.items()
    )
    return ConfigFileReadInPart(
        source=source,
        fields_unknown=", ".join(fields),
        command=vendor.command,
        where=part.locate("$"),
    )


def shown(fields: Mapping[str, Any], around: str = "") -> list[str]:
    """Fields with their values; each key of a map by itself."""
    texts = []
    for name, value in fields.items():
        if isinstance(value, Mapping):
            texts += shown(value, f"{around}{name}.")
        else:
            texts.append(f"{around}{name} {kubelet_flags.flag_text(value)}")
    return texts
