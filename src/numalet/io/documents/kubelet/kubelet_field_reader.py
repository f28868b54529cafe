"""Converts the fields of a KubeletConfiguration to their types and collects errors."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from numalet.core.config.kubelet_config import ReservedMemory
from numalet.core.model import go_text, input_error
from numalet.core.model.findings import Findings, Location
from numalet.core.model.go_text import DurationError, QuantityError
from numalet.core.model.quantity import Quantity
from numalet.io.documents.kubelet import kubelet_types
from numalet.io.documents.kubelet.kubelet_types import (
    GoType,
    Listed,
    Mapped,
    Mismatch,
    Scalar,
    Struct,
)
from numalet.io.findings.config_files import (
    ConfigFileOutOfRange,
    ConfigFileUnknownField,
    ConfigFileWrongType,
)

Locate = Callable[[str], Location]
"""From a path in the document to the place for a finding."""

_ZEROS: Final[Mapping[str, Any]] = {"string": "", "bool": False}
_RESERVATION: Final = "v1beta1.MemoryReservation"


class FieldReader:
    def __init__(self, locate: Locate, mismatches: Mapping[str, Mismatch]) -> None:
        self.locate = locate
        self.mismatches = dict(mismatches)
        self.findings = Findings()
        self.origins: dict[str, Location] = {}

    def wrong(self, place: str) -> None:
        mismatch = self.mismatches.pop(place)
        value, where = _shown(mismatch.value), self.locate(f"$.{place}")
        if mismatch.range is not None:
            self.findings.add(
                ConfigFileOutOfRange(
                    field=place,
                    value=value,
                    lowest=mismatch.range.start,
                    highest=mismatch.range.stop - 1,
                    go_text=mismatch.go_text,
                    where=where,
                )
            )
            return
        self.findings.add(
            ConfigFileWrongType(
                field=place,
                expected=mismatch.expected.words,
                value=value,
                found=kubelet_types.go_kind(mismatch.value),
                go_text=mismatch.go_text,
                where=where,
            )
        )

    def came_from(self, place: str) -> None:
        self.origins[place] = self.locate(f"$.{place}")

    def read(self, place: str, of_type: GoType, value: Any) -> Any:
        self.came_from(place)
        if place in self.mismatches:
            return self.wrong(place)
        match of_type:
            case Scalar(is_duration=True):
                return self._duration(place, value)
            case Listed(element=Struct(name=name)) if name == _RESERVATION:
                return tuple(self._entry(f"{place}[{i}]", each) for i, each in enumerate(value))
            case Listed(element=Scalar() as element):
                texts = [self._member(f"{place}[{i}]", element, v) for i, v in enumerate(value)]
                return tuple(each for each in texts if each is not None)
            case Mapped(element=Scalar() as element):
                members = {
                    key: self._member(f"{place}.{key}", element, each)
                    for key, each in value.items()
                }
                return MappingProxyType({k: v for k, v in members.items() if v is not None})
            case Scalar():
                return value
            case _:
                # For other fields only their presence matters; an empty list is absent.
                return value != [] or None

    def _member(self, place: str, element: Scalar, value: Any) -> Any:
        # Go decodes null in a list or map to the zero value.
        return _ZEROS[element.kind] if value is None else self.read(place, element, value)

    def _duration(self, place: str, text: str) -> int | None:
        try:
            return go_text.parse_duration_ns(text)
        except DurationError as error:
            self.findings.add(
                input_error.Invalid(
                    f"invalid {place} {_shown(text)!r}: {error.go_text}",
                    expected="a duration such as '100ms'",
                    where=self.locate(f"$.{place}"),
                )
            )
            return None

    def _entry(self, place: str, value: Any) -> ReservedMemory:
        self.came_from(place)
        if place in self.mismatches:
            self.wrong(place)
        if not isinstance(value, dict):
            # Go decodes null in a list to the zero value.
            return ReservedMemory(0, {})
        self.refuse_unknown(place, value, ("numaNode", "limits"))
        node = value.get("numaNode")
        if f"{place}.limits" in self.mismatches:
            self.wrong(f"{place}.limits")
            value = {}
        if node is not None:
            node = self.read(f"{place}.numaNode", kubelet_types.of_name("int32"), node)
        return ReservedMemory(
            numa_node=node or 0, limits=self._limits(f"{place}.limits", value.get("limits") or {})
        )

    def _limits(self, place: str, limits: Mapping[str, object]) -> Mapping[str, Quantity]:
        quantities: dict[str, Quantity] = {}
        for name, value in limits.items():
            at = f"{place}.{name}"
            self.came_from(at)
            text = kubelet_types.as_json(value)
            try:
                # Quantity.UnmarshalJSON trims spaces and accepts null as zero.
                quantities[name] = Quantity() if value is None else Quantity.parse(text.strip())
            except QuantityError as error:
                shown, where = _shown(text), self.locate(f"$.{at}")
                self.findings.add(
                    input_error.Invalid(
                        f"invalid {at} {shown!r}: {error.go_text}",
                        expected="a quantity such as '1Gi'",
                        where=where,
                    )
                )
        return MappingProxyType(quantities)

    def refuse_unknown(self, place: str, value: Mapping[str, object], known: Sequence[str]) -> None:
        for key in value:
            if key not in known:
                path = f"{place}.{key}" if place else key
                where = self.locate(f"$.{path}")
                folded = {each.casefold(): each for each in known}
                close = difflib.get_close_matches(key.casefold(), sorted(folded), n=1)
                hint = f" (did you mean {folded[close[0]]!r}?)" if close else ""
                self.findings.add(ConfigFileUnknownField(field=path, hint=hint, where=where))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
