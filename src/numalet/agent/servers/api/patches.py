"""JSON patch and JSON merge patch."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

import jsonpatch
import msgspec

from numalet.wording import kubernetes_api as words

MOST_OPERATIONS: Final = 10_000
MOST_COPIED_BYTES: Final = 3 * 1024 * 1024
"""The kube-apiserver has the same limits: each copy may double the object."""


class PatchUnreadable(Exception):  # noqa: N818 - it is an answer
    """The patch is malformed; the text says how."""


class PatchDoesNotFit(Exception):  # noqa: N818 - it is an answer
    """The patch does not apply to this object; the text says why."""


def operations(value: Any, patch: Any) -> Any:
    """Apply a JSON patch (RFC 6902). Raises ``PatchUnreadable`` or ``PatchDoesNotFit``."""
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
    """Apply a JSON merge patch (RFC 7396): null removes, lists are replaced."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(value) if isinstance(value, Mapping) else {}
    for name, member in patch.items():
        if member is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), member)
    return merged
