"""The formats of vendors' documents with kubelet settings, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from numalet.core.model.value import Value
from numalet.io.documents.kubelet.kubelet_types import CONFIGURATION

CONFIGZ: Final = "kubectl get --raw /api/v1/nodes/NODE/proxy/configz"
"""Prints the whole configuration of a node, with flags and drop-ins."""

SUM: Final = "equal to their sum"
"""A value of reservedMemory: reservations plus eviction threshold, on NUMA node 0."""


_FIELDS: Final = {name.casefold(): name for name in CONFIGURATION.fields}


class VendorForm(Enum):
    """The syntax of settings."""

    FIELDS = "fields"
    """Fields of a KubeletConfiguration."""
    FLAGS = "flags"
    TEXT = "text"
    """A text with the content of a whole file."""
    FILE = "file"
    """A file with a path and a content."""
    BOTTLEROCKET = "bottlerocket"


class VendorSettings(Value):
    """The place of settings: names from the top, separated by ``/``.

    ``name[*]`` is every item of a list, one group of machines each; ``name[]`` is every item, for
    the same machines. ``names`` maps the vendor's names to fields, or to None for those without a
    field; a name that differs from the field's only in case may be left out. ``only_named`` ignores
    all other names.
    """

    path: str
    form: VendorForm = VendorForm.FIELDS
    names: Mapping[str, str | None] = MappingProxyType({})
    only_named: bool = False

    def field_of(self, name: str) -> str | None:
        if self.only_named:
            return self.names.get(name)
        as_field = _FIELDS.get(name.casefold(), name) if self.names else name
        return self.names.get(name, as_field)


def at(
    *paths: str, names: Mapping[str, str | None] = MappingProxyType({}), only_named: bool = False
) -> tuple[VendorSettings, ...]:
    """Settings at these paths, written ``form:path``; the form defaults to fields."""
    parts = (path.rpartition(":") for path in paths)
    return tuple(
        VendorSettings(path, VendorForm(form or "fields"), names, only_named)
        for form, _, path in parts
    )


def _anything(_document: Mapping[str, Any]) -> bool:
    return True


class VendorFormat(Value, kw_only=True):
    """One format.

    Recognition: ``group`` is a prefix of apiVersion, ``kinds`` are the kinds. A document without
    both must have one of the paths in ``keys``. ``accepts`` is a further condition. ``is_pool``:
    each object is a group of machines, named like the object.

    ``sets`` are the fields that the vendor sets; ``sets_when`` those that it sets if the document
    has one of these values at this path. ``replaces_maps``: a map in the file replaces the vendor's
    map as a whole. ``pool_replaces``: settings of a group replace those of the cluster.

    ``unknown`` are the fields that the file lacks, with two possible values each: see
    ``core.config.kubelet_config.UnknownFields``. ``source`` documents these facts.
    """

    name: str
    settings: tuple[VendorSettings, ...]
    system: str
    group: str = ""
    kinds: tuple[str | None, ...] = ()
    keys: tuple[str, ...] = ()
    accepts: Callable[[Mapping[str, Any]], bool] = _anything
    is_pool: bool = False
    sets: Mapping[str, Any] = MappingProxyType({})
    sets_when: tuple[tuple[str, tuple[str, ...], Mapping[str, Any]], ...] = ()
    replaces_maps: bool = False
    pool_replaces: bool = False
    unknown: Mapping[str, tuple[str, str]] = MappingProxyType({})
    command: str = CONFIGZ
    source: str = ""

    def matches(self, value: Mapping[str, Any]) -> bool:
        api_version, kind = value.get("apiVersion"), value.get("kind")
        if self.kinds:
            is_named = kind in self.kinds and str(api_version or self.group).startswith(self.group)
            return is_named and self.accepts(value)
        if kind is not None or (api_version is not None and not self.group):
            return False
        is_there = not self.keys or any(next(found(value, key), None) for key in self.keys)
        return is_there and self.accepts(value)

    def fields_set(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that the vendor sets in addition to this document."""
        fields = dict(self.sets)
        for path, values, more in self.sets_when:
            if any(given in values for _, _, given in found(value, path)):
                fields |= more
        return fields


def found(value: Any, path: str) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Everything at a path: the groups of machines, the place in the document, the value."""
    yield from _below(value, path.split("/") if path else [], (), "")


def _below(
    value: Any, names: list[str], pools: tuple[str, ...], place: str
) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    if not names:
        if value is not None:
            yield pools, place, value
        return
    name, is_each, _ = names[0].partition("[")
    inner = value.get(name) if isinstance(value, Mapping) else None
    place = f"{place}.{name}"
    if not is_each:
        yield from _below(inner, names[1:], pools, place)
        return
    for at, item in enumerate(inner if isinstance(inner, list) else ()):
        own = (name_of(item, at),) if names[0].endswith("[*]") else ()
        yield from _below(item, names[1:], (*pools, *own), f"{place}[{at}]")


def name_of(item: Any, at: int) -> str:
    """The name of a group of machines: its name, its role, or its index."""
    given = [item.get(key) for key in ("name", "role")] if isinstance(item, Mapping) else []
    return next((each for each in given if isinstance(each, str) and each), str(at))
