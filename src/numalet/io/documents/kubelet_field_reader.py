"""Reads the fields of a KubeletConfiguration into their types, and collects what is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from numalet.core.config.kubelet_config import ReservedMemory
from numalet.core.model import go_duration
from numalet.core.model.findings import Findings, Location
from numalet.core.model.go_duration import DurationError
from numalet.core.model.quantity import Quantity
from numalet.core.model.quantity_error import QuantityError
from numalet.io.documents import kubelet_types
from numalet.io.documents.kubelet_fields import FieldShape
from numalet.io.documents.kubelet_types import Mismatch
from numalet.io.findings.config_files import (
    ConfigFileDuration,
    ConfigFileOutOfRange,
    ConfigFileQuantity,
    ConfigFileUnknownField,
    ConfigFileWrongType,
)

Locate = Callable[[str], Location]
"""From a path in the document to a place for a finding."""

_BITS: Final = {FieldShape.INTEGER: 32, FieldShape.LONG: 64}


class FieldReader:
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
            case FieldShape.PRESENCE:
                return bool(value) or isinstance(value, dict)

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
                folded = {each.casefold(): each for each in known}
                close = difflib.get_close_matches(key.casefold(), sorted(folded), n=1)
                hint = f" (did you mean {folded[close[0]]!r}?)" if close else ""
                self.findings.add(ConfigFileUnknownField(field=path, hint=hint, where=where))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
