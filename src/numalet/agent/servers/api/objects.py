"""Encoded API objects, cached per resource version.

Clients list a thousand pods repeatedly while few change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

from numalet.core.model.value import Value

JSON: Final = "application/json"

K = TypeVar("K")


class Shown(Value):
    """An object and its JSON."""

    value: Mapping[str, Any]
    text: bytes


def shown(value: Mapping[str, Any]) -> Shown:
    return Shown(value, msgspec.json.encode(value))


class Kept(Generic[K]):
    """Objects by key, for the two latest versions: every watch needs both sides of a change."""

    def __init__(self) -> None:
        self._kept: dict[K, tuple[tuple[int, Shown], ...]] = {}

    def of(self, key: K, version: int, make: Callable[[], Mapping[str, Any]]) -> Shown:
        """Return the object of this version; ``make`` is called on a miss."""
        kept = self._kept.get(key, ())
        for known, item in kept:
            if known == version:
                return item
        item = shown(make())
        self._kept[key] = (*kept[-1:], (version, item))
        return item

    def forget_all_but(self, keys: Iterable[K]) -> None:
        current = set(keys)
        self._kept = {key: kept for key, kept in self._kept.items() if key in current}

    def __len__(self) -> int:
        return len(self._kept)


def listed(head: Mapping[str, str], metadata: Mapping[str, Any], items: Iterable[Shown]) -> bytes:
    """A list object as JSON."""
    begin = msgspec.json.encode({**head, "metadata": metadata})
    return begin[:-1] + b',"items":[' + b",".join(item.text for item in items) + b"]}"


def watch_line(kind: str, item: Shown) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), item.text)
