"""The objects that the API shows, made from records in one place, and kept while they are current.

A list of a thousand pods is asked for again and again while few of them change, so an object is
made, and written as JSON, once for each resource version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

from numalet.core.model.value import Value

JSON: Final = "application/json"

K = TypeVar("K")


class Shown(Value):
    """An object, and the JSON that it is sent as."""

    value: Mapping[str, Any]
    text: bytes


def shown(value: Mapping[str, Any]) -> Shown:
    """An object with its JSON."""
    return Shown(value, msgspec.json.encode(value))


class Kept(Generic[K]):
    """Objects by key, each for the latest two versions that were asked for.

    Of a change both are asked for, by every watch that selects.
    """

    def __init__(self) -> None:
        self._kept: dict[K, tuple[tuple[int, Shown], ...]] = {}

    def of(self, key: K, version: int, make: Callable[[], Mapping[str, Any]]) -> Shown:
        """The object of this version, made at the first call."""
        kept = self._kept.get(key, ())
        for known, item in kept:
            if known == version:
                return item
        item = shown(make())
        self._kept[key] = (*kept[-1:], (version, item))
        return item

    def forget_all_but(self, keys: Iterable[K]) -> None:
        """Forget objects that are not there any more."""
        current = set(keys)
        self._kept = {key: kept for key, kept in self._kept.items() if key in current}

    def __len__(self) -> int:
        return len(self._kept)


def listed(head: Mapping[str, str], metadata: Mapping[str, Any], items: Iterable[Shown]) -> bytes:
    """A list object as JSON."""
    begin = msgspec.json.encode({**head, "metadata": metadata})
    return begin[:-1] + b',"items":[' + b",".join(item.text for item in items) + b"]}"


def watch_line(kind: str, item: Shown) -> bytes:
    """One line of a watch."""
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), item.text)
