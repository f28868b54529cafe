"""The value of ``--reserved-memory``: ``0:memory=1Gi,hugepages-2Mi=2Gi;1:memory=1Gi``.

A *group* is a NUMA node with its types; groups are split at ``;``, types at ``,``. The first error
ends the parsing, as in the kubelet. Kubelet v1.32: ``ReservedMemoryVar.Set``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.config.kubelet_config import ReservedMemory
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.model import go_text, resources
from numalet.core.model.quantity import Quantity
from numalet.core.model.quantity_error import QuantityError

NO_TARGET: Final = "no target (nil pointer to *[]MemoryReservation"
_LOW_BITS: Final = 2**32
_SIGN_BIT: Final = 2**31


class ReservedMemoryError(ValueError):
    """The value is not valid; ``go_text`` is the kubelet's error.

    ``later`` is the text of later releases, if it differs.
    """

    def __init__(self, go_text: str, later: str | None = None) -> None:
        self.go_text = go_text
        self.later = go_text if later is None else later
        super().__init__(go_text)

    def in_words_of(self, rules: ReleaseRules) -> str:
        return self.later if rules.reserved_memory_flag_is_spelt_right else self.go_text


def parse_all(values: Iterable[str]) -> tuple[ReservedMemory, ...]:
    """Parse all occurrences of the flag, in order.

    Raises ``ReservedMemoryError`` if an entry is not valid.
    """
    entries: list[ReservedMemory] = []
    emptied = False
    for value in values:
        # An empty value sets nothing, and makes the kubelet fail at the next occurrence.
        if emptied:
            raise ReservedMemoryError(NO_TARGET, f"{NO_TARGET})")
        emptied = value == ""
        entries.extend(parse(value))
    return tuple(entries)


def parse(value: str) -> tuple[ReservedMemory, ...]:
    """Parse one occurrence of the flag. Raises ``ReservedMemoryError`` if the text is not valid."""
    if value == "":
        return ()
    return tuple(_parse_group(group) for group in value.split(";"))


def text(reservations: Iterable[ReservedMemory]) -> str:
    """Format the flag's value like the kubelet: types sorted, groups sorted as text."""
    groups = [
        f"{entry.numa_node}:"
        + ",".join(f"{name}={entry.limits[name]}" for name in sorted(entry.limits))
        for entry in reservations
    ]
    return ",".join(sorted(groups))


def _parse_group(group: str) -> ReservedMemory:
    fields = group.split(":")
    if len(fields) != 2:
        raise ReservedMemoryError(
            "the reserved memory has incorrect format, expected "
            f"numaNodeID:type=quantity[,type=quantity...], got {group}"
        )
    try:
        node = go_text.atoi(fields[0])
    except go_text.GoNumberError:
        raise ReservedMemoryError(
            f"failed to convert the NUMA node ID, exptected integer, got {fields[0]}",
            f"failed to convert the NUMA node ID, expected integer, got {fields[0]}",
        ) from None
    return ReservedMemory(_as_int32(node), _parse_types(fields[1]))


def _parse_types(text: str) -> Mapping[str, Quantity]:
    limits: dict[str, Quantity] = {}
    for item in text.split(","):
        name, *quantities = item.split("=")
        if len(quantities) != 1:
            raise ReservedMemoryError(
                "the reserved limit has incorrect value, expected type=quantatity, got " + item,
                "the reserved limit has incorrect value, expected type=quantity, got " + item,
            )
        if not resources.is_memory_type(name):
            raise ReservedMemoryError(
                f"memory type conversion error, unknown type: {go_text.quote(name)}"
            )
        try:
            limits[name] = Quantity.parse(quantities[0])
        except QuantityError:
            raise ReservedMemoryError(
                "failed to parse the quantatity, expected quantatity, got " + quantities[0],
                "failed to parse the quantity: " + quantities[0],
            ) from None
    return MappingProxyType(limits)


def _as_int32(number: int) -> int:
    """Truncate the number to 32 bits, like the kubelet."""
    return (number + _SIGN_BIT) % _LOW_BITS - _SIGN_BIT
