"""The types of a Pod as clients of Kubernetes v1.32 know them, and objects read with them."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from dataclasses import dataclass
from typing import Any, Final

import lightkube.models.core_v1 as lightkube_models
import msgspec

_CLIENT: Final[Any] = importlib.import_module("kubernetes.client")
"""The official client, which says nothing of its types."""


@dataclass(frozen=True)
class Member:
    """One member of a type: its type in the words of the client, and whether it is needed."""

    type: str
    is_needed: bool


@dataclass(frozen=True)
class _Text:
    data: str


@functools.cache
def members(root: str = "Pod") -> dict[str, dict[str, Member]]:
    """All types that a Pod, or another root, is made of."""
    found: dict[str, dict[str, Member]] = {}
    open_names = [f"V1{root}"]
    while open_names:
        name = open_names.pop()
        if name.removeprefix("V1") in found:
            continue
        model = getattr(_CLIENT, name)
        source = inspect.getsource(model)
        found[name.removeprefix("V1")] = {
            model.attribute_map[own]: Member(of, f"`{own}`, must not be `None`" in source)
            for own, of in model.openapi_types.items()
        }
        for of in model.openapi_types.values():
            open_names += re.findall(r"V1\w+", of)
    return found


def read(pod: dict[str, Any]) -> None:
    """Read a Pod object as the official client and lightkube do; whatever they raise comes out."""
    api = _CLIENT.ApiClient()
    text = msgspec.json.encode(pod).decode()
    assert api.deserialize(_Text(text), "V1Pod").metadata.name
    assert msgspec.json.decode(text, type=lightkube_models.Pod).metadata is not None
