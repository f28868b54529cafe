"""Reads a KubeletConfiguration (v1beta1) from file, drop-in directory and flags.

In the kubelet's order: the file, the drop-ins over it as JSON merge patches, the flags over both.
What the file may enclose the configuration in: see ``enclosed_config``.
Unknown and repeated fields are warnings, because the kubelet falls back to a lenient reading; a
wrong type is an error. Which values are legal is decided elsewhere (``config``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from numalet.core.config import node_allocatable
from numalet.core.config.behaviour import Behaviour, Mode
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.numalet_config import AS_THE_KUBELET, NumaletConfig
from numalet.core.model import go_duration
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.go_duration import DurationError
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.quantity import Quantity, QuantityError
from numalet.io.documents import (
    drop_ins,
    kubelet_config_file,
    kubelet_flags,
    kubelet_types,
    numalet_config,
    plain_sizes,
)
from numalet.io.documents.kubelet_fields import (
    DEFAULTED_WHEN_EMPTY,
    HONOURED,
    PASSED_OVER,
    FieldShape,
)
from numalet.io.documents.kubelet_types import Mismatch
from numalet.io.findings.config_files import (
    ConfigFileDuration,
    ConfigFileNotAMapping,
    ConfigFileOutOfRange,
    ConfigFileQuantity,
    ConfigFileUnknownField,
    ConfigFileWrongType,
)

Locate = Callable[[str], Location]
"""From a path in the document to a place for a finding."""

_BITS: Final = {FieldShape.INTEGER: 32, FieldShape.LONG: 64}
_EVICTION = "evictionHard"


class Base(Enum):
    """What the flags are applied to."""

    FILE = "the configuration file that is named"

    EMPTY_FILE = "an empty configuration file: default eviction thresholds apply"
    FLAGS_ONLY = "no file at all: no eviction thresholds unless a flag gives them"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSources:
    """Where a configuration comes from.

    ``config_file`` is ``-`` for the standard input, which can be read once.
    Flags are pairs of name and value, in order, a name as often as needed. ``base`` says what
    stands in for a file that is not named. ``mode`` and ``memory_node_classes`` win over
    what the file says, unless None; ``Mode.EXACT`` leaves nothing of native mode in it.
    """

    config_file: Path | str | None = None
    config_dir: Path | str | None = None
    flags: Sequence[tuple[str, str]] = ()
    base: Base = Base.EMPTY_FILE
    mode: Mode | None = None
    memory_node_classes: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A configuration, what the kubelet would only warn about, and our own settings beside it."""

    config: KubeletConfig
    warnings: tuple[Finding, ...] = ()
    numalet: NumaletConfig = AS_THE_KUBELET

    @property
    def behaviour(self) -> Behaviour:
        """The rules of the mode that the settings name."""
        return self.numalet.behaviour


def load(sources: ConfigSources) -> LoadedConfig:
    """The configuration of all sources together.

    Raises:
        BadInput: a source can not be read or holds a wrong type or an unknown flag.
    """
    warnings = Findings()
    own = AS_THE_KUBELET
    flags = kubelet_flags.parse(sources.flags)
    has_file_defaults = sources.base is Base.EMPTY_FILE and sources.config_dir is None
    config_dir = sources.config_dir
    inside = kubelet_flags.NONE_GIVEN
    merged = drop_ins.MergedDocuments()
    if sources.config_file is not None:
        file = kubelet_config_file.read(sources.config_file)
        has_file_defaults = file.has_defaults
        config_dir = config_dir or file.config_dir
        merged.merge(file.part)
        warnings.extend(file.notices)
        own = numalet_config.of_documents(file.own)
        inside = kubelet_flags.parse_placed(file.part.flags)
    if config_dir is not None:
        if has_file_defaults and merged.value.get(_EVICTION) is None:
            # The kubelet fills in defaults before it merges, so a drop-in adds to them.
            defaults = node_allocatable.default_eviction(OperatingSystem.LINUX)
            merged.value[_EVICTION] = dict(defaults)
        for path in drop_ins.files(Path(config_dir)):
            file = kubelet_config_file.read_drop_in(path)
            merged.merge(file.part)
            warnings.extend(file.notices)
    config, remarks = _decode(merged.value, merged.locate, has_default_eviction=has_file_defaults)
    warnings.extend(remarks)
    own = numalet_config.with_flags(
        own, sources.mode, sources.memory_node_classes, str(sources.config_file or "")
    )
    config = kubelet_flags.applied(kubelet_flags.applied(config, inside), flags)
    warnings.extend(plain_sizes.warnings(config))
    return LoadedConfig(config, warnings.all, own)


def decode(value: object, document: str) -> KubeletConfig:
    """The configuration of a mapping of fields, as an otherwise empty file would give it.

    Raises:
        BadInput: it is no mapping, or a field has a wrong type.
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

    return _decode(value, locate, has_default_eviction=True)[0]


class _Reader:
    """Reads the fields of one mapping and collects what is wrong."""

    def __init__(self, locate: Locate, mismatches: Mapping[str, Mismatch]) -> None:
        self.locate = locate
        self.mismatches = dict(mismatches)
        self.findings = Findings()
        self.origins: dict[str, Location] = {}

    def wrong(self, place: str) -> None:
        """Remember a value of a wrong type."""
        mismatch = self.mismatches.pop(place)
        self.findings.add(
            ConfigFileWrongType(
                field=place,
                expected=mismatch.expected,
                value=_shown(mismatch.value),
                found=kubelet_types.go_kind(mismatch.value),
                go_text=mismatch.go_text,
                where=self.locate(f"$.{place}"),
            )
        )

    def came_from(self, place: str) -> None:
        """Remember where a field was given."""
        self.origins[place] = self.locate(f"$.{place}")

    def read(self, place: str, shape: FieldShape, value: object) -> Any:
        """The value of a field in its type, or None if it has another one."""
        self.came_from(place)
        match shape:
            case FieldShape.TEXT:
                return self._of_type(place, value, str)
            case FieldShape.BOOLEAN:
                return self._of_type(place, value, bool)
            case FieldShape.INTEGER | FieldShape.LONG:
                return self._integer(place, shape, value)
            case FieldShape.TEXTS:
                return self._texts(place, value)
            case FieldShape.TEXT_MAP:
                return self._map(place, FieldShape.TEXT, value)
            case FieldShape.BOOLEAN_MAP:
                return self._map(place, FieldShape.BOOLEAN, value)
            case FieldShape.NUMBER:
                return self._number(place, value)
            case FieldShape.DURATION:
                return self._duration(place, value)
            case FieldShape.SWAP:
                return self._swap(place, value)
            case FieldShape.RESERVED_MEMORY:
                return self._reserved_memory(place, value)

    def _of_type(self, place: str, value: object, kind: type) -> Any:
        if type(value) is kind:
            return value
        self.wrong(place)
        return None

    def _integer(self, place: str, shape: FieldShape, value: object) -> int | None:
        if type(value) is not int:
            self.wrong(place)
            return None
        end = 2 ** (_BITS[shape] - 1)
        if not -end <= value < end:
            where = self.locate(f"$.{place}")
            go_text = self.mismatches.pop(place).go_text
            self.findings.add(
                ConfigFileOutOfRange(
                    field=place,
                    value=_shown(value),
                    lowest=-end,
                    highest=end - 1,
                    go_text=go_text,
                    where=where,
                )
            )
            return None
        return value

    def _number(self, place: str, value: object) -> float | None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        self.wrong(place)
        return None

    def _duration(self, place: str, value: object) -> int | None:
        text = self._of_type(place, value, str)
        if text is None:
            return None
        try:
            return go_duration.parse_ns(text)
        except DurationError as error:
            self.findings.add(
                ConfigFileDuration(
                    field=place,
                    value=_shown(text),
                    problem=error.go_text,
                    where=self.locate(f"$.{place}"),
                )
            )
            return None

    def _swap(self, place: str, value: object) -> str | None:
        if not isinstance(value, dict):
            self.wrong(place)
            return None
        self.refuse_unknown(place, value, ("swapBehavior",))
        behavior = value.get("swapBehavior")
        return (
            None
            if behavior is None
            else self.read(f"{place}.swapBehavior", FieldShape.TEXT, behavior)
        )

    def _texts(self, place: str, value: object) -> tuple[str, ...] | None:
        if not isinstance(value, list):
            self.wrong(place)
            return None
        # JSON null in a list of Go is the element's zero.
        texts = [
            "" if each is None else self.read(f"{place}[{i}]", FieldShape.TEXT, each)
            for i, each in enumerate(value)
        ]
        return tuple(each for each in texts if each is not None)

    def _map(self, place: str, element: FieldShape, value: object) -> Mapping[str, Any] | None:
        if not isinstance(value, dict):
            self.wrong(place)
            return None
        empty: Any = "" if element is FieldShape.TEXT else False
        members = {
            # JSON null in a map of Go is the element's zero.
            key: empty if each is None else self.read(f"{place}.{key}", element, each)
            for key, each in value.items()
        }
        return MappingProxyType({key: each for key, each in members.items() if each is not None})

    def _reserved_memory(self, place: str, value: object) -> tuple[ReservedMemory, ...] | None:
        if not isinstance(value, list):
            self.wrong(place)
            return None
        return tuple(self._entry(f"{place}[{i}]", each) for i, each in enumerate(value))

    def _entry(self, place: str, value: object) -> ReservedMemory:
        self.came_from(place)
        if value is None:
            # JSON null in a list of Go is the element's zero.
            return ReservedMemory(0, {})
        if not isinstance(value, dict):
            self.wrong(place)
            return ReservedMemory(0, {})
        self.refuse_unknown(place, value, ("numaNode", "limits"))
        node = value.get("numaNode")
        limits = value.get("limits")
        if limits is not None and not isinstance(limits, dict):
            self.wrong(f"{place}.limits")
            limits = None
        return ReservedMemory(
            numa_node=0
            if node is None
            else self.read(f"{place}.numaNode", FieldShape.INTEGER, node) or 0,
            limits=self._limits(f"{place}.limits", limits or {}),
        )

    def _limits(self, place: str, limits: Mapping[str, object]) -> Mapping[str, Quantity]:
        quantities: dict[str, Quantity] = {}
        for name, value in limits.items():
            self.came_from(f"{place}.{name}")
            if value is None:
                quantities[name] = Quantity()
            else:
                self._quantity(f"{place}.{name}", name, kubelet_types.as_json(value), quantities)
        return MappingProxyType(quantities)

    def _quantity(self, place: str, name: str, text: str, quantities: dict[str, Quantity]) -> None:
        try:
            quantities[name] = Quantity.parse(text.strip())
        except QuantityError as error:
            self.findings.add(
                ConfigFileQuantity(
                    field=place,
                    value=_shown(text),
                    problem=error.go_text,
                    where=self.locate(f"$.{place}"),
                )
            )

    def refuse_unknown(self, place: str, value: Mapping[str, object], known: Sequence[str]) -> None:
        """Warn about every key that is not known."""
        for key in value:
            if key not in known:
                path = f"{place}.{key}" if place else key
                where = self.locate(f"$.{path}")
                self.findings.add(ConfigFileUnknownField(field=path, where=where))


_KNOWN: Final = tuple({*HONOURED, *PASSED_OVER})


def _decode(
    value: Mapping[str, object], locate: Locate, *, has_default_eviction: bool
) -> tuple[KubeletConfig, tuple[Finding, ...]]:
    reader = _Reader(locate, kubelet_types.mismatches(value))
    reader.refuse_unknown("", value, _KNOWN)
    attributes: dict[str, Any] = {}
    for name, (attribute, shape) in HONOURED.items():
        given = value.get(name)
        if given is None or (not given and name in DEFAULTED_WHEN_EMPTY and _is_zero(given)):
            continue
        read = reader.read(name, shape, given)
        if read is not None:
            attributes[attribute] = read
    # What is left is about fields that are not read here, and a kubelet does not start either.
    for place in tuple(reader.mismatches):
        reader.wrong(place)
    reader.findings.raise_errors()
    if has_default_eviction and value.get(_EVICTION) is None:
        attributes["eviction_hard"] = node_allocatable.default_eviction(OperatingSystem.LINUX)
        attributes["uses_default_eviction"] = True
    return KubeletConfig(
        **attributes, origins=MappingProxyType(reader.origins)
    ), reader.findings.all


def _is_zero(value: object) -> bool:
    return value == "" or (type(value) is int and value == 0)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
