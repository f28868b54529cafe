"""The KubeletConfiguration inside an object that people have at hand.

A ConfigMap of kubeadm, what a kubelet answers to ``/configz``, a KubeletConfig of OpenShift, a
machine configuration of Talos, and a list of such objects. Every finding about a part of
the configuration has its place in the file that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from numalet.core.config.kubelet_config import CommandFlag
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Value, replace
from numalet.io.documents import typed, yaml_source
from numalet.io.documents.kubelet_types import go_kind
from numalet.io.documents.typed import Place
from numalet.io.documents.yaml_source import YamlDocument
from numalet.io.findings.config_files import (
    ConfigFileKind,
    ConfigFileNotAMapping,
    ConfigFileReadFrom,
    ConfigFileReadInPart,
    ConfigFileSeveralDocuments,
)
from numalet.io.findings.documents import DocumentType

API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
KIND: Final = "KubeletConfiguration"

_OPENSHIFT: Final = "machineconfiguration.openshift.io/"
_CONFIGZ: Final = "kubeletconfig"
_DEEPEST_LIST: Final = 3
"""Lists inside lists: no client writes more than one, and a hostile file may."""


class Part(Protocol):
    """A mapping of fields that says where each of them was given."""

    @property
    def value(self) -> Any:
        """The mapping."""

    def location(self, path: str) -> Location:
        """The place of a path such as ``$.maxPods`` of the mapping."""


class ConfigPart(Value, kw_only=True):
    """The fields of a configuration, and what stands beside them in the same place.

    ``flags`` are a kubelet's flags with their places, in order; they win over the fields.
    ``problems`` are what else stands on its command line and stops it.
    ``note`` says what was read, None for a plain KubeletConfiguration.
    """

    value: dict[str, Any]
    locate: Callable[[str], Location]
    duplicates: tuple[Finding, ...] = ()
    flags: tuple[tuple[str, str, Location], ...] = ()
    problems: tuple[CommandFlag, ...] = ()
    note: Finding | None = None

    def location(self, path: str) -> Location:
        """The place of a path of the configuration, in the file."""
        return self.locate(path)


class _Object(Value):
    """A mapping inside a document, with its path there, and the text of the whole file."""

    value: Mapping[str, Any]
    path: str
    document: YamlDocument
    text: str

    def at(self, *names: str) -> Any:
        """The value below these names, None if there is none."""
        value: Any = self.value
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    @property
    def title(self) -> str:
        """Kind, namespace and name, as far as they are given."""
        given = (self.at("metadata", "namespace"), self.at("metadata", "name"))
        name = "/".join(each for each in given if isinstance(each, str) and each)
        return f"{self.at('kind')} {name}".strip()


def is_plain(value: object) -> bool:
    """Whether a document is a KubeletConfiguration itself."""
    return isinstance(value, Mapping) and (value.get("apiVersion"), value.get("kind")) == (
        API_VERSION,
        KIND,
    )


def of_document(document: YamlDocument, text: str) -> list[ConfigPart]:
    """The configurations that a document is or holds; ``text`` is that of the whole file.

    Raises:
        BadInput: one of them can not be read.
    """
    return [*_parts(document.value, "$", document, text)]


def read_from(source: str, where: Location, system: str = "") -> Finding:
    """A note that says what was read; of what a ``system`` adds of its own nothing is known."""
    if system:
        return ConfigFileReadInPart(source=source, system=system, where=where)
    return ConfigFileReadFrom(source=source, where=where)


def fields_of(value: object, where: Location) -> dict[str, Any]:
    """The fields of a configuration that may leave out ``apiVersion`` and ``kind``.

    Raises:
        BadInput: it is no mapping, or says that it is something else.
    """
    if not isinstance(value, dict):
        raise BadInput([ConfigFileNotAMapping(found=go_kind(value), where=where)])
    given = value.get("apiVersion", API_VERSION), value.get("kind", KIND)
    if given != (API_VERSION, KIND):
        raise BadInput(
            [
                ConfigFileKind(
                    api_version=value.get("apiVersion"), kind=value.get("kind"), where=where
                )
            ]
        )
    return value


def _parts(
    value: object, path: str, document: YamlDocument, text: str, depth: int = 0
) -> Iterator[ConfigPart]:
    if not isinstance(value, dict):
        return
    if path == "$" and is_plain(value):
        yield ConfigPart(value=value, locate=document.location, duplicates=document.duplicates)
        return
    outer = _Object(value, path, document, text)
    api_version, kind = str(value.get("apiVersion")), value.get("kind")
    if kind == "List" and isinstance(value.get("items"), list) and depth < _DEEPEST_LIST:
        for at, item in enumerate(value["items"]):
            yield from _parts(item, f"{path}.items[{at}]", document, text, depth + 1)
    elif (api_version, kind) == ("v1", "ConfigMap"):
        yield from _of_config_map(outer)
    elif api_version.startswith(_OPENSHIFT) and kind == "KubeletConfig":
        if isinstance(outer.at("spec"), Mapping):
            yield _of_openshift(outer)
    elif isinstance(value.get(_CONFIGZ), dict) and len(value) == 1:
        source = "the configuration that a running kubelet reports (configz)"
        yield _nested(outer, value[_CONFIGZ], (_CONFIGZ,), source)
    elif kind is None and isinstance(outer.at("machine", "kubelet"), Mapping):
        yield _of_talos(outer)


def _nested(
    outer: _Object, value: object, names: tuple[str, ...], source: str, system: str = ""
) -> ConfigPart:
    """The configuration at these names of an object."""
    prefix = ".".join((outer.path, *names))

    def locate(path: str) -> Location:
        return outer.document.location(prefix + path.removeprefix("$"))

    where = locate("$")
    return ConfigPart(
        value=fields_of({} if value is None else value, where),
        locate=locate,
        duplicates=outer.document.duplicates,
        note=read_from(source, where, system),
    )


def _of_openshift(outer: _Object) -> ConfigPart:
    source = f"{outer.title} of OpenShift, its spec.kubeletConfig"
    names = ("spec", "kubeletConfig")
    return _nested(outer, outer.at(*names), names, source, "OpenShift")


def _of_talos(outer: _Object) -> ConfigPart:
    names = ("machine", "kubelet", "extraConfig")
    source = "the machine configuration of Talos, its machine.kubelet"
    part = _nested(outer, outer.at(*names), names, source, "Talos")
    return replace(part, flags=tuple(_extra_arguments(outer)))


def _extra_arguments(outer: _Object) -> Iterator[tuple[str, str, Location]]:
    """The flags; Talos accepts a text or a list of texts for each."""
    path = f"{outer.path}.machine.kubelet.extraArgs"
    given = outer.at("machine", "kubelet", "extraArgs")
    if given is None:
        return
    if not isinstance(given, dict):
        where = outer.document.location(path)
        raise BadInput([ConfigFileNotAMapping(found=go_kind(given), where=where)])
    for name, value in given.items():
        where = outer.document.location(f"{path}.{name}")
        for each in value if isinstance(value, list) else [value]:
            if each is None or isinstance(each, dict | list):
                raise BadInput(
                    [DocumentType(expected="a text", got=typed.described(each), where=where)]
                )
            yield name, flag_text(each), where


def flag_text(value: object) -> str:
    """A value as a flag of the kubelet has it: ``true`` and ``false`` in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_config_map(outer: _Object) -> Iterator[ConfigPart]:
    data = outer.at("data")
    for key, text in data.items() if isinstance(data, Mapping) else ():
        if isinstance(text, str) and KIND in text:
            yield from _of_text(outer, key, text)


def _of_text(outer: _Object, key: str, text: str) -> Iterator[ConfigPart]:
    """The configurations in a text that is the value of a key of a ConfigMap."""
    prefix = f"{outer.path}.data.{key}"
    lines = _Lines(outer, prefix, text)
    try:
        documents = yaml_source.load_documents(text, outer.document.document)
    except BadInput as bad:
        raise BadInput([lines.moved(each) for each in bad.findings]) from None
    for document in documents:
        if not is_plain(document.value):
            continue

        def locate(path: str, inner: YamlDocument = document) -> Location:
            return lines.moved_place(inner.location(path))

        source = f"{outer.title}, its key {key}"
        yield ConfigPart(
            value=document.value,
            locate=locate,
            duplicates=(
                *outer.document.duplicates,
                *(lines.moved(each) for each in document.duplicates),
            ),
            note=read_from(source, locate("$")),
        )


class _Lines:
    """From lines of a text inside a document to lines of the file.

    The lines of a literal block (``|``) stand in the file one by one below its key; a text in any
    other style has one line, that where it begins. Which it is shows in the lines themselves.
    """

    def __init__(self, outer: _Object, path: str, text: str) -> None:
        self._document = outer.document.document
        self._path = path
        self._start = outer.document.line_of(path)
        self._inside = text.split("\n")
        self._outside = outer.text.split("\n")

    def moved_place(self, where: Location) -> Location:
        """The place in the file for a place in the text."""
        path = self._path + where.path.removeprefix("$")
        return Location(self._document, path, self._line(where.line))

    def moved(self, finding: Finding) -> Finding:
        """The same finding, placed in the file."""
        return finding.at(self.moved_place(finding.where))

    def _line(self, inside: int | None) -> int | None:
        if self._start is None or inside is None:
            return self._start
        outside = self._start + inside
        lines = self._inside[inside - 1 : inside], self._outside[outside - 1 : outside]
        is_same = [each.strip() for each in lines[0]] == [each.strip() for each in lines[1]]
        return outside if is_same else self._start


def among(documents: list[YamlDocument], part: ConfigPart) -> Finding | None:
    """A note about documents of other kinds around the configuration; None without any.

    Raises:
        BadInput: one of them is no object, so that the file is none of this sort.
    """
    kinds = []
    for document in documents:
        place = Place(document.document, "$", document.line_of)
        value = document.value
        kind = value.get("kind") if isinstance(value, Mapping) else None
        if not isinstance(kind, str) or not isinstance(value.get("apiVersion"), str):
            count = len(documents) + 1
            raise BadInput([ConfigFileSeveralDocuments(count=count, where=place.location)])
        kinds.append(kind)
    if not kinds:
        return None
    source = f"the KubeletConfiguration among {len(kinds) + 1} documents"
    source += f" (passed over: {', '.join(kinds)})"
    return read_from(source, part.location("$"))
