"""Reads a KubeletConfiguration (v1beta1) from file, drop-in directory and flags, in this order.

Drop-ins are JSON merge patches over the file; flags win over both. For documents around a
configuration see ``enclosed_config``. Unknown and repeated fields are warnings, because the kubelet
falls back to lenient decoding; wrong types are errors. ``config`` validates the values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from numalet.core.config import kubelet_fields, node_allocatable
from numalet.core.config.behaviour import Behaviour, Mode
from numalet.core.config.kubelet_config import CommandFlag, KubeletConfig, UnknownFields
from numalet.core.config.kubelet_fields import KubeletField
from numalet.core.config.numalet_config import AS_THE_KUBELET, NumaletConfig
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT, NEWEST
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.go_text import QuantityError
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.model.value import Value, replace
from numalet.io.documents.kubelet import (
    config_parts,
    drop_ins,
    kubelet_config_document,
    kubelet_config_file,
    kubelet_flags,
    kubelet_types,
    numalet_config,
    plain_sizes,
)
from numalet.io.documents.kubelet.config_parts import ConfigPart
from numalet.io.documents.kubelet.kubelet_field_reader import FieldReader, Locate
from numalet.io.documents.kubelet.kubelet_version import KubeletAtHand
from numalet.io.documents.kubelet.vendor_format import CONFIGZ, SUM, VendorFormat
from numalet.io.documents.text.typed import Place
from numalet.io.findings.config_files import (
    ConfigFileNotAMapping,
)

_EVICTION = "evictionHard"
_RESERVED = "reservedMemory"
_SUMMED = (
    ("kubeReserved", "memory"),
    ("systemReserved", "memory"),
    (_EVICTION, node_allocatable.MEMORY_AVAILABLE),
)


class Base(Enum):
    """The configuration below the flags without a file."""

    FILE = "the configuration file that is named"

    EMPTY_FILE = "an empty configuration file: default eviction thresholds apply"
    FLAGS_ONLY = "no file at all: no eviction thresholds unless a flag gives them"


class ConfigSources(Value, kw_only=True):
    """The sources of a configuration.

    ``config_file`` is ``-`` for the standard input, which is readable only once. ``flags`` are
    pairs of name and value, in order; a name may repeat. ``base`` applies without a file. ``mode``
    and ``memory_node_classes`` win over the file; ``Mode.EXACT`` disables every setting of native
    mode.

    ``release`` is the kubelet release to follow. By default it is the one in the file, or else that
    of ``kubelets``, which the user's other input shows.
    """

    config_file: Path | str | None = None
    config_dir: Path | str | None = None
    flags: Sequence[tuple[str, str]] = ()
    base: Base = Base.EMPTY_FILE
    mode: Mode | None = None
    memory_node_classes: Sequence[str] | None = None
    release: str | None = None
    kubelets: Sequence[KubeletAtHand] = ()


class LoadedConfig(Value):
    """A configuration, the kubelet's warnings, and numalet's own settings."""

    config: KubeletConfig
    warnings: tuple[Finding, ...] = ()
    numalet: NumaletConfig = AS_THE_KUBELET
    has_own_settings: bool = False
    """Whether the user set more than the release."""
    is_release_assumed: bool = False
    """Whether neither the user nor a kubelet names the release."""

    @property
    def named_release(self) -> Release | None:
        return None if self.is_release_assumed else self.numalet.release

    @property
    def behaviour(self) -> Behaviour:
        return self.numalet.behaviour


class GatheredConfig(Value):
    """The content of the sources, read once; its meaning depends on the release."""

    sources: ConfigSources
    merged: drop_ins.MergedDocuments
    own: NumaletConfig
    inside: Sequence[tuple[str, str, Location]]
    problems: tuple[CommandFlag, ...]
    has_file_defaults: bool
    notices: tuple[Finding, ...]
    part: ConfigPart | None = None

    def loaded(self, release: str | None, kubelets: Sequence[KubeletAtHand] = ()) -> LoadedConfig:
        """Decode as a kubelet of this release, or of ``kubelets``, would. Raises ``BadInput``."""
        warnings = Findings()
        warnings.extend(self.notices)
        has_own = self.own is not AS_THE_KUBELET
        own, said = numalet_config.with_release(self.own, release, kubelets)
        is_assumed = own.release is None
        followed = own.release or DEFAULT
        own = replace(own, release=followed)
        config, remarks = _decode(
            self.merged.value,
            self.merged.locate,
            followed,
            has_default_eviction=self.has_file_defaults,
        )
        warnings.extend((*remarks, *said))
        vendor = None if self.part is None else self.part.vendor
        if vendor is not None:
            config = replace(config, unknown=_unknown(vendor, self.merged.value, self.sources))
        if self.part is not None and self.part.missing:
            where = Location(str(self.sources.config_file))
            missing = UnknownFields(
                system="", fields={}, command=CONFIGZ, where=where, files=self.part.missing
            )
            config = replace(config, unknown=missing)
        # Flags in the file first: the user's own flags win over them.
        config = kubelet_flags.applied(config, kubelet_flags.parse_placed(self.inside, followed))
        config = replace(config, flags=(*config.flags, *self.problems))
        config = kubelet_flags.applied(config, kubelet_flags.parse(self.sources.flags, followed))
        warnings.extend(plain_sizes.warnings(config))
        if self.part is not None and vendor is not None:
            warnings.add(config_parts.note(self.part, vendor, config.unknown))
        return LoadedConfig(config, warnings.all, own, has_own, is_assumed)


def load(sources: ConfigSources | str | PathLike[str]) -> LoadedConfig:
    """The configuration of all sources together, or of this file.

    Raises:
        BadInput: a source is unreadable or has a wrong type.
    """
    if isinstance(sources, str | PathLike):
        sources = ConfigSources(config_file=fspath(sources))
    return gather(sources).loaded(sources.release, sources.kubelets)


def gather(sources: ConfigSources) -> GatheredConfig:
    """Read all sources. Raises ``BadInput`` if one is unreadable."""
    warnings = Findings()
    own = AS_THE_KUBELET
    has_file_defaults = sources.base is Base.EMPTY_FILE and sources.config_dir is None
    config_dir = sources.config_dir
    inside: Sequence[tuple[str, str, Location]] = ()
    problems: tuple[CommandFlag, ...] = ()
    merged = drop_ins.MergedDocuments()
    part: ConfigPart | None = None
    if sources.config_file is not None:
        file = kubelet_config_file.read(sources.config_file)
        has_file_defaults = file.has_defaults
        config_dir = config_dir or file.config_dir
        _merge(merged, file.part)
        part = file.part
        warnings.extend(file.notices)
        own = numalet_config.of_documents(file.own)
        inside, problems = file.part.flags, file.part.problems
    if config_dir is not None:
        if has_file_defaults and merged.value.get(_EVICTION) is None:
            # The kubelet applies defaults before it merges, so a drop-in adds to them.
            defaults = node_allocatable.default_eviction(OperatingSystem.LINUX)
            merged.value[_EVICTION] = dict(defaults)
        for path in drop_ins.files(Path(config_dir)):
            file = kubelet_config_file.read_drop_in(path)
            merged.merge(file.part)
            warnings.extend(file.notices)
    own = numalet_config.with_flags(
        own, sources.mode, sources.memory_node_classes, str(sources.config_file or "")
    )
    return GatheredConfig(
        sources, merged, own, inside, problems, has_file_defaults, warnings.all, part
    )


def _merge(merged: drop_ins.MergedDocuments, part: ConfigPart) -> None:
    vendor, sets = part.vendor, dict(part.sets)
    if vendor is not None:
        if vendor.replaces_maps:
            sets = {name: value for name, value in sets.items() if name not in part.value}
        nowhere = Location(f"set by {vendor.system} ({vendor.source})")
        by_vendor = ConfigPart(value=sets, locate=lambda path: replace(nowhere, path=path))
        merged.merge(by_vendor)
    merged.merge(part)
    # Some vendors compute reservedMemory as the sum that the kubelet requires.
    if merged.value.get(_RESERVED) == SUM:
        sizes = (merged.value.get(field, {}).get(key, "0") for field, key in _SUMMED)
        with suppress(QuantityError, AttributeError):
            total = sum((Quantity.parse(each) for each in sizes), ZERO)
            merged.value[_RESERVED] = [{"numaNode": 0, "limits": {"memory": str(total)}}]


def _unknown(
    vendor: VendorFormat, given: Mapping[str, Any], sources: ConfigSources
) -> UnknownFields | None:
    """The fields that the vendor's file leaves open and that are not given elsewhere."""
    known = [
        name
        for name in vendor.unknown
        for field, _, key in (name.partition("."),)
        if (key in given.get(field, {}) if key else field in given)
    ]
    unknown = UnknownFields(
        system=vendor.system,
        fields=vendor.unknown,
        command=vendor.command,
        where=Location(str(sources.config_file)),
    )
    return unknown.without(known)


def decode(
    value: object, document: str = "configuration", release: Release = NEWEST
) -> KubeletConfig:
    """The configuration of a mapping of fields, as if it were the whole file.

    Fields that the release does not know may have any type.

    Raises:
        BadInput: it is not a mapping, or a field has a wrong type.
    """
    if not isinstance(value, dict):
        raise BadInput(
            [
                ConfigFileNotAMapping(
                    found=kubelet_types.go_kind(value), where=Location(document, "$")
                )
            ]
        )

    def locate(path: str) -> Location:
        return Location(document, path)

    return _decode(value, locate, release, has_default_eviction=True)[0]


def decode_placed(
    value: Mapping[str, Any], place: Place, release: Release = NEWEST
) -> LoadedConfig:
    """``decode`` for fields inside another document, with the kubelet's warnings."""

    def locate(path: str) -> Location:
        return place._replace(path=place.path + path.removeprefix("$")).location

    fields = kubelet_config_document.fields_of(value, place.location)
    config, remarks = _decode(fields, locate, release, has_default_eviction=True)
    return LoadedConfig(config, (*remarks, *plain_sizes.warnings(config)))


_KNOWN: Final = tuple(name for name in kubelet_fields.FIELDS if "." not in name)


def _decode(
    value: Mapping[str, object], locate: Locate, release: Release, *, has_default_eviction: bool
) -> tuple[KubeletConfig, tuple[Finding, ...]]:
    mismatches = kubelet_types.mismatches(value)
    # Fields that the release does not know may have any type. Comparing with a later release may
    # still need their values.
    unread = NEWEST.fields.difference(release.fields).intersection(map(_field, mismatches))
    reader = FieldReader(
        locate, {place: each for place, each in mismatches.items() if _field(place) not in unread}
    )
    reader.refuse_unknown("", value, _KNOWN)
    for name in value:
        if name in unread or (name in _KNOWN and not kubelet_fields.FIELDS[name].is_read):
            reader.came_from(name)
    value = {name: given for name, given in value.items() if name not in unread}
    swap = value.get("memorySwap")
    if isinstance(swap, dict):
        reader.refuse_unknown("memorySwap", swap, ("swapBehavior",))
    attributes: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for row in kubelet_fields.FIELDS.values():
        read = _read(reader, row, value) if row.is_read else None
        if read is not None and row.attribute:
            attributes[row.attribute] = read
        elif read is not None:
            others[row.name] = read
    # The rest are in fields that numalet does not read, but the kubelet refuses them too.
    for place in tuple(reader.mismatches):
        reader.wrong(place)
    reader.findings.raise_errors()
    if has_default_eviction and value.get(_EVICTION) is None:
        attributes["eviction_hard"] = node_allocatable.default_eviction(OperatingSystem.LINUX)
        attributes["uses_default_eviction"] = True
    attributes |= {"others": MappingProxyType(others), "origins": MappingProxyType(reader.origins)}
    return KubeletConfig(**attributes), reader.findings.all


def _field(place: str) -> str:
    return re.split(r"[.\[]", place)[0]


def _read(reader: FieldReader, row: KubeletField, value: Mapping[str, object]) -> Any:
    given: object = value
    for part in row.name.split("."):
        given = given.get(part) if isinstance(given, dict) else None
    # To Go, an absent field equals an empty one, so the kubelet sets the default for both.
    if given is None or (row.is_defaulted_when_empty and _is_zero(given)):
        return None
    read = reader.read(row.name, kubelet_types.of_name(row.type), given)
    return None if row.is_defaulted_when_empty and _is_zero(read) else read


def _is_zero(value: object) -> bool:
    return value == "" or (type(value) is int and value == 0)
