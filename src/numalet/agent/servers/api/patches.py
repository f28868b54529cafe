"""Patches of a pod: JSON patch and JSON merge patch.

A patched object is parsed like a posted one, so ``1024Mi`` instead of ``1Gi`` is not a change.
``core.workload.changes`` decides which fields may change.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

import jsonpatch
import msgspec
from starlette.requests import Request

from numalet.agent.servers.api import requests, status
from numalet.agent.servers.api.requests import FieldValidation
from numalet.agent.servers.api.status import Failure
from numalet.core.model.findings import Finding, Findings, Severity
from numalet.core.model.value import Value, replace
from numalet.core.workload import changes
from numalet.core.workload.records import PodRecord
from numalet.core.workload.spec import Workload, WorkloadSource
from numalet.io.documents.pods.workload import WorkloadOptions, decode_workload
from numalet.io.documents.text.typed import Place
from numalet.wording import kubernetes_api as words

MOST_OPERATIONS: Final = 10_000
MOST_COPIED_BYTES: Final = 3 * 1024 * 1024
"""The kube-apiserver has the same limits: each copy may double the object."""

MERGE: Final = "application/merge-patch+json"
LISTS: Final = frozenset({"application/json-patch+json"})
"""Kinds of patches that are lists."""


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


PATCHES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "application/json-patch+json": operations,
    MERGE: merge,
}


class Patch(Value):
    """``duplicates`` are fields that the client sent twice."""

    apply: Callable[[Mapping[str, Any]], Any]
    duplicates: tuple[Finding, ...] = ()


class Revised(Value):
    """A patched pod. Without ``workload`` nothing changed; without ``version`` any matches."""

    workload: Workload | None
    version: int | None
    warnings: tuple[str, ...] = ()


async def patch_of(request: Request, also_merged: tuple[str, ...] = ()) -> Patch:
    """Read the patch; media types in ``also_merged`` are merge patches.

    Raises ``Failure`` for an unknown media type or form.
    """
    kind = requests.media_type(request)
    apply = merge if kind in also_merged else PATCHES.get(kind)
    if apply is None:
        raise Failure(415, words.PATCH_MEDIA_TYPE)
    document = await requests.document_as_it_is(request, (kind,))
    empty: Any = [] if kind in LISTS else {}
    patch = empty if document is None else document.value
    if not isinstance(patch, type(empty)):
        found = type(patch).__name__
        raise Failure(400, words.KIND_DIFFERS.format(found=found, expected="a patch"))
    duplicates = () if document is None else document.duplicates
    return Patch(lambda value: apply(value, patch), duplicates)


async def revised(
    patch: Patch, record: PodRecord, pod: Mapping[str, Any], wants: FieldValidation
) -> Revised:
    """Apply the patch to a pod.

    Raises ``Failure`` if the patch fails, the result is not a pod, or a field may not change.
    """
    value = await applied(patch, pod)
    version = _checked_identity(value, pod)
    findings = Findings()
    findings.extend(each.of_severity(Severity.WARNING) for each in patch.duplicates)
    new = await asyncio.to_thread(_read, value, record, pod, findings)
    name = record.workload.pod.name
    requests.check_patched(wants, name, findings.all)
    if new is None:
        raise status.invalid("Pod", name, findings.all)
    # The record keeps the node name of its creation; the API shows the current one.
    shown = record.workload.manifest
    spec = {**shown["spec"], "nodeName": pod["spec"]["nodeName"]}
    old = replace(record.workload, manifest={**shown, "spec": spec})
    refused = changes.unchangeable(old, new)
    if _given(value, "spec", "nodeName") not in (None, "", pod["spec"].get("nodeName")):
        refused = ("spec", *(each for each in refused if each != "spec"))
    if refused:
        raise status.unchangeable("Pod", name, [(field, _why_not(old, field)) for field in refused])
    after = changes.changed(old, new) if changes.is_changed(old, new) else None
    return Revised(after, version, tuple(requests.field_warnings(wants, findings.all)))


async def applied(patch: Patch, value: Mapping[str, Any]) -> Any:
    """Raises ``Failure`` if the patch cannot be applied."""
    try:
        # A hostile patch may take seconds, so keep it out of the event loop.
        return await asyncio.to_thread(patch.apply, value)
    except PatchUnreadable as bad:
        raise Failure(400, words.PATCH_UNREADABLE.format(problem=bad)) from None
    except PatchDoesNotFit as bad:
        raise Failure(422, words.PATCH_UNREADABLE.format(problem=bad)) from None


def _checked_identity(value: Any, pod: Mapping[str, Any]) -> int | None:
    """The version that the client requires, if any.

    Raises ``Failure`` if name, uid or version belong to another object.
    """
    metadata = pod["metadata"]
    given = {name: _given(value, "metadata", name) for name in ("name", "uid", "resourceVersion")}
    name, uid, version = (each if isinstance(each, str) else None for each in given.values())
    if name not in (None, metadata["name"]):
        raise Failure(400, words.NAME_DIFFERS.format(found=name[:253], expected=metadata["name"]))
    if _given(value, "metadata", "namespace") not in (None, "", metadata["namespace"]):
        raise Failure(400, words.NAMESPACE_DIFFERS)
    if uid not in (None, "", metadata["uid"]):
        problem = words.UID_DIFFERS.format(asked=uid[:253], found=metadata["uid"])
        raise status.conflict("pods", metadata["name"], problem)
    if version not in (None, "", metadata["resourceVersion"]):
        raise status.conflict("pods", metadata["name"], words.VERSION_DIFFERS)
    return int(version) if version else None


def _read(
    value: Any, record: PodRecord, pod: Mapping[str, Any], findings: Findings
) -> Workload | None:
    old = record.workload
    options = WorkloadOptions(
        source=old.source,
        origin=old.origin,
        uid=record.uid,
        namespace=old.pod.namespace,
        node_name=pod["spec"]["nodeName"],
        unknown_fields=Severity.WARNING,
    )
    return decode_workload(value, Place(""), options, findings)


def _why_not(old: Workload, field: str) -> str:
    if old.source is WorkloadSource.FILE:
        return words.UNCHANGEABLE_FILE
    if field == "spec.tolerations":
        return words.UNCHANGEABLE_TOLERATIONS
    return words.UNCHANGEABLE if field == "spec" else words.UNCHANGEABLE_METADATA


def _given(value: Any, part: str, name: str) -> object:
    """Read a member of an object whose types are unchecked."""
    members = value.get(part) if isinstance(value, Mapping) else None
    return members.get(name) if isinstance(members, Mapping) else None
