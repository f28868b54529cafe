"""Patches of an object: JSON patches, JSON merge patches and Kubernetes' strategic ones.

A JSON patch is a list of operations, of which a copy could double the object each time, so what
they copy is bounded together, as a kube-apiserver bounds it. A strategic patch merges lists of
named things by what names them, and has directives. Kubernetes:
``apimachinery/pkg/util/strategicpatch``, v1.32, as far as pods need it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import jsonpatch
import msgspec

from numalet.io.documents.pod_table import reach
from numalet.io.documents.pod_table.kinds import ListOf
from numalet.io.documents.pod_table.pod import POD
from numalet.wording import kubernetes_api as words

Patch: TypeAlias = Callable[[Any, Any], Any]

MERGE_KEYS: Final[Mapping[str, str]] = {
    name: field.kind.merged_by
    for kind, _ in reach.types(POD)
    for name, field in kind.fields.items()
    if isinstance(field.kind, ListOf) and field.kind.merged_by
}
"""By the list's name: the key of its members."""

_PATCH: Final = "$patch"
_RETAINED: Final = "$retainKeys"


MOST_OPERATIONS: Final = 10_000
MOST_COPIED_BYTES: Final = 3 * 1024 * 1024
"""Of a JSON patch; a kube-apiserver has the same bounds."""


class PatchUnreadable(Exception):  # noqa: N818 - it is an answer
    """The patch says nothing that could be done: the text of this exception says what."""


class PatchDoesNotFit(Exception):  # noqa: N818 - it is an answer
    """What the patch is about is not in the object, or not so: the text of this exception."""


def operations(value: Any, patch: Any) -> Any:
    """A JSON patch (RFC 6902) applied. Raises ``PatchUnreadable`` or ``PatchDoesNotFit``."""
    if not isinstance(patch, list):
        raise PatchUnreadable(words.PATCH_NO_LIST)
    if len(patch) > MOST_OPERATIONS:
        raise PatchUnreadable(words.PATCH_TOO_LONG.format(most=MOST_OPERATIONS))
    patched, left = copy.deepcopy(value), MOST_COPIED_BYTES
    try:
        for operation in jsonpatch.JsonPatch(patch):
            if operation["op"] == "copy" and isinstance(operation.get("from"), str):
                copied = jsonpatch.JsonPointer(operation["from"]).resolve(patched)
                left -= len(msgspec.json.encode(copied))
            if left < 0:
                raise PatchUnreadable(words.PATCH_COPIES.format(most_bytes=MOST_COPIED_BYTES))
            patched = jsonpatch.apply_patch(patched, [operation], in_place=True)
    except RecursionError:
        raise PatchUnreadable(words.PATCH_TOO_DEEP) from None
    except UnicodeEncodeError as bad:
        raise PatchUnreadable(str(bad)) from None
    except jsonpatch.InvalidJsonPatch as bad:
        raise PatchUnreadable(str(bad)) from None
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as bad:
        raise PatchDoesNotFit(str(bad)) from None
    return patched


def merge(value: Any, patch: Any) -> Any:
    """A JSON merge patch applied: null removes, lists are replaced."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(value) if isinstance(value, Mapping) else {}
    for name, member in patch.items():
        if member is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), member)
    return merged


def strategic(value: Any, patch: Any) -> Any:
    """A strategic merge patch applied. Raises ``PatchUnreadable``."""
    if not isinstance(patch, Mapping):
        return patch
    plain = {name: member for name, member in patch.items() if not name.startswith("$")}
    if patch.get(_PATCH) == "replace":
        return plain
    merged = dict(value) if isinstance(value, Mapping) else {}
    if isinstance(retained := patch.get(_RETAINED), list):
        merged = {name: member for name, member in merged.items() if name in retained}
    for name, member in plain.items():
        if member is None or (isinstance(member, Mapping) and member.get(_PATCH) == "delete"):
            merged.pop(name, None)
        elif isinstance(member, list) and name in MERGE_KEYS:
            there = merged.get(name)
            values = there if isinstance(there, list) else []
            merged[name] = _merged(values, member, MERGE_KEYS[name])
        else:
            merged[name] = strategic(merged.get(name), member)
    return merged


def _merged(values: list[Any], patches: list[Any], key: str) -> list[Any]:
    """A list whose members have the key ``key``; new ones come last."""
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
        raise PatchUnreadable(words.PATCH_NO_KEY.format(key=key))
    return named
