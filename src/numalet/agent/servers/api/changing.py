"""Changes of a pod: patches, and another object in its place.

A patched object is read as a posted one is, so that ``1024Mi`` in the place of ``1Gi`` is no
change. What may change is decided by ``core.workload.changes``; everything else was decided on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.requests import Request

from numalet.agent.servers.api import field_validation, patches, requests, status
from numalet.agent.servers.api.field_validation import FieldValidation
from numalet.agent.servers.api.patches import Patch, PatchDoesNotFit, PatchUnreadable
from numalet.agent.servers.api.status import Failure
from numalet.core.model.findings import Finding, Findings, Severity
from numalet.core.model.value import Value, replace
from numalet.core.workload import changes
from numalet.core.workload.record import PodRecord
from numalet.core.workload.spec import Workload, WorkloadSource
from numalet.io.documents.typed import Place
from numalet.io.documents.workload import WorkloadOptions, decode_workload
from numalet.wording import kubernetes_api as words

PATCHES: Final[Mapping[str, Patch]] = {
    "application/json-patch+json": patches.operations,
    "application/merge-patch+json": patches.merge,
    "application/strategic-merge-patch+json": patches.strategic,
}
LISTS: Final = frozenset({"application/json-patch+json"})
"""Kinds of patches that are lists."""


class Revision(Value):
    """What becomes of a pod object.

    ``duplicates`` are fields that come twice in what the client sent; ``is_patch``: it sent only
    what changes.
    """

    apply: Callable[[Mapping[str, Any]], Any]
    is_patch: bool
    duplicates: tuple[Finding, ...] = ()


class Revised(Value):
    """A pod after a change, and the version that it is a change of; None for any.

    ``workload`` is None where nothing changes. ``warnings`` are texts for the client.
    """

    workload: Workload | None
    version: int | None
    warnings: tuple[str, ...] = ()


class RevisedObject(Value):
    """The object as it was sent or patched, with the version it is of, None for any."""

    value: Any
    version: int | None
    warnings: tuple[str, ...]


async def patch_of(request: Request) -> Revision:
    """The patch of a request. Raises ``Failure`` for one of no known kind or form."""
    kind = requests.media_type(request)
    apply = PATCHES.get(kind)
    if apply is None:
        raise Failure(415, words.PATCH_MEDIA_TYPE)
    document = await requests.document_as_it_is(request, PATCHES)
    empty: Any = [] if kind in LISTS else {}
    patch = empty if document is None else document.value
    if not isinstance(patch, type(empty)):
        found = type(patch).__name__
        raise Failure(400, words.KIND_DIFFERS.format(found=found, expected="a patch"))
    duplicates = () if document is None else document.duplicates
    return Revision(lambda pod: apply(pod, patch), is_patch=True, duplicates=duplicates)


async def object_of(request: Request) -> Revision:
    """The object of a request that is to take the place of another."""
    document = await requests.document_as_it_is(request)
    value = requests.of_kind(document, "v1", "Pod")
    duplicates = () if document is None else document.duplicates
    return Revision(lambda _pod: value, is_patch=False, duplicates=duplicates)


async def revised(
    revision: Revision, record: PodRecord, pod: Mapping[str, Any], wants: FieldValidation
) -> Revised:
    """The pod after this revision.

    Raises:
        Failure: the revision does not fit, its result is no pod, or it may not be so.
    """
    new, revised_ = await read(revision, record, pod, wants)
    old = as_shown(record.workload, pod)
    refused = changes.unchangeable(old, new)
    if _given(revised_.value, "spec", "nodeName") not in (None, "", pod["spec"].get("nodeName")):
        refused = ("spec", *(each for each in refused if each != "spec"))
    if refused:
        causes = [(field, _why_not(old, field)) for field in refused]
        raise status.unchangeable("Pod", old.pod.name, causes)
    after = changes.changed(old, new) if changes.is_changed(old, new) else None
    return Revised(after, revised_.version, revised_.warnings)


async def read(
    revision: Revision, record: PodRecord, pod: Mapping[str, Any], wants: FieldValidation
) -> tuple[Workload, RevisedObject]:
    """The pod that a revision makes, whatever of it is different.

    Raises:
        Failure: the revision does not fit, its result is no pod, or another one.
    """
    value = await applied(revision, pod)
    version = _checked_identity(value, pod)
    findings = Findings()
    findings.extend(each.of_severity(Severity.WARNING) for each in revision.duplicates)
    workload = await asyncio.to_thread(_read, value, record, pod, findings)
    check = field_validation.check_patched if revision.is_patch else field_validation.check_body
    check(wants, record.workload.pod.name, findings.all)
    if workload is None:
        raise status.invalid("Pod", record.workload.pod.name, findings.all)
    warnings = tuple(field_validation.warnings(wants, findings.all))
    return workload, RevisedObject(value, version, warnings)


async def applied(revision: Revision, value: Mapping[str, Any]) -> Any:
    """What the revision makes of an object. Raises ``Failure`` if it does not fit."""
    try:
        return await asyncio.to_thread(revision.apply, value)
    except PatchUnreadable as bad:
        raise Failure(400, words.PATCH_UNREADABLE.format(problem=bad)) from None
    except PatchDoesNotFit as bad:
        raise Failure(422, words.PATCH_UNREADABLE.format(problem=bad)) from None


def _checked_identity(value: Any, pod: Mapping[str, Any]) -> int | None:
    """The version that is to be changed; None for any.

    Raises:
        Failure: by its name, uid or version the object is another one.
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


def as_shown(workload: Workload, pod: Mapping[str, Any]) -> Workload:
    """The workload with the name that its node has now, as the API shows it."""
    shown = workload.manifest
    spec = {**shown["spec"], "nodeName": pod["spec"]["nodeName"]}
    return replace(workload, manifest={**shown, "spec": spec})


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
    """A member of a part of an object of which nothing is known yet."""
    members = value.get(part) if isinstance(value, Mapping) else None
    return members.get(name) if isinstance(members, Mapping) else None
