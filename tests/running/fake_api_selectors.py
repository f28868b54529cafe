"""Which objects a fake API server's lists and watches choose, by fields and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Selectors:
    """As in a query: ``status.phase=Failed``, and ``a=b,c,!d``."""

    fields: str = ""
    labels: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Selectors:
        return cls(query.get("fieldSelector", ""), query.get("labelSelector", ""))

    def choose(self, value: Mapping[str, Any]) -> bool:
        labels = value["metadata"].get("labels") or {}
        return all(_has_field(value, each) for each in _parts(self.fields)) and all(
            _has_label(labels, each) for each in _parts(self.labels)
        )


EVERYTHING = Selectors()


def _parts(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


def _has_field(value: Any, text: str) -> bool:
    path, _, wanted = text.partition("=")
    for name in path.split("."):
        value = (value or {}).get(name)
    return str(value or "") == wanted.removeprefix("=")


def _has_label(labels: Mapping[str, str], text: str) -> bool:
    name, equals, wanted = text.partition("=")
    if equals:
        return labels.get(name) == wanted.removeprefix("=")
    return (name in labels) if not name.startswith("!") else name[1:] not in labels
