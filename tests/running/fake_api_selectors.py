"""Which objects a fake API server's lists and watches choose, by fields and labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Selectors:
    """As in a query: ``status.phase=Failed``, and ``a=b,c,!d,e in (f,g)``."""

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
_AMONG = re.compile(r"(?P<name>\S+) (?P<sign>in|notin) \((?P<values>[^()]*)\)")
_COMPARED = re.compile(r"(?P<name>[^=!]+)(?P<sign>==?|!=)(?P<value>[^=]*)")


def _parts(text: str) -> list[str]:
    """The requirements; commas between brackets separate values."""
    return [each.strip() for each in re.split(r",(?![^()]*\))", text) if each.strip()]


def _has_field(value: Any, text: str) -> bool:
    path, sign, wanted = _compared(text)
    for name in path.split("."):
        value = (value or {}).get(name)
    return (str(value or "") == wanted) == (sign != "!=")


def _has_label(labels: Mapping[str, str], text: str) -> bool:
    if among := _AMONG.fullmatch(text):
        values = [each.strip() for each in among["values"].split(",")]
        return (labels.get(among["name"]) in values) == (among["sign"] == "in")
    if "=" in text:
        name, sign, wanted = _compared(text)
        return (labels.get(name) == wanted) == (sign != "!=")
    return text in labels if not text.startswith("!") else text[1:] not in labels


def _compared(text: str) -> tuple[str, str, str]:
    """A name, one of ``=``, ``==`` and ``!=``, and a value."""
    compared = _COMPARED.fullmatch(text)
    assert compared is not None, f"{text!r} is no requirement that this server knows"
    return compared["name"], compared["sign"], compared["value"]
