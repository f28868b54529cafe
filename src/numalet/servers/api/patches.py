"""Patches of an object: JSON merge patches and Kubernetes' strategic ones.

A strategic patch merges lists of named things by what names them, and has directives. Kubernetes:
``apimachinery/pkg/util/strategicpatch``, v1.32, as far as pods need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Patch: TypeAlias = Callable[[Any, Any], Any]

MERGE_KEYS: Final[Mapping[str, str]] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "ownerReferences": "uid",
    "conditions": "type",
}
"""By the list's name: what its members are told apart by."""

_PATCH: Final = "$patch"
_RETAINED: Final = "$retainKeys"


class PatchUnreadable(Exception):  # noqa: N818 - it is an answer
    """A member of a list lacks what members are told apart by: the text of this exception."""


def merge(value: Any, patch: Any) -> Any:
    """A JSON merge patch applied: null removes, lists are replaced."""
    if not isinstance(patch, Mapping):
        return patch
    found = dict(value) if isinstance(value, Mapping) else {}
    for name, member in patch.items():
        if member is None:
            found.pop(name, None)
        else:
            found[name] = merge(found.get(name), member)
    return found


def strategic(value: Any, patch: Any) -> Any:
    """A strategic merge patch applied. Raises ``PatchUnreadable``."""
    if not isinstance(patch, Mapping):
        return patch
    plain = {name: member for name, member in patch.items() if not name.startswith("$")}
    if patch.get(_PATCH) == "replace":
        return plain
    found = dict(value) if isinstance(value, Mapping) else {}
    if isinstance(retained := patch.get(_RETAINED), list):
        found = {name: member for name, member in found.items() if name in retained}
    for name, member in plain.items():
        if member is None or (isinstance(member, Mapping) and member.get(_PATCH) == "delete"):
            found.pop(name, None)
        elif isinstance(member, list) and name in MERGE_KEYS:
            there = found.get(name)
            values = there if isinstance(there, list) else []
            found[name] = _merged(values, member, MERGE_KEYS[name])
        else:
            found[name] = strategic(found.get(name), member)
    return found


def _merged(values: list[Any], patches: list[Any], key: str) -> list[Any]:
    """A list whose members are told apart by ``key``; new ones come last."""
    if {_PATCH: "replace"} in patches:
        return [each for each in patches if each != {_PATCH: "replace"}]
    by_key = {_named(each, key): each for each in values}
    for each in patches:
        named = _named(each, key)
        if each.get(_PATCH) == "delete":
            by_key.pop(named, None)
        else:
            by_key[named] = strategic(by_key.get(named), each)
    return [*by_key.values()]


def _named(member: Any, key: str) -> str | int:
    named = member.get(key) if isinstance(member, Mapping) else None
    if not isinstance(named, str | int):
        raise PatchUnreadable(key)
    return named
