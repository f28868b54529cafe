"""JSON patches and JSON merge patches of an object.

A copy operation can double the object, so the bytes that a JSON patch copies have a limit, as in a
kube-apiserver.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

import jsonpatch
import msgspec

from numalet.wording import kubernetes_api as words

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
