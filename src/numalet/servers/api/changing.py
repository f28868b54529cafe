"""Changes of a pod: patches, and another object in its place.

A patched object is read as a posted one is, so that ``1024Mi`` in the place of ``1Gi`` is no
change. What may change is said by ``workload.changes``; everything else was decided on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from starlette.requests import Request

from numalet.adapters.documents.typed import Place
from numalet.adapters.documents.workload import WorkloadOptions, decode_workload
from numalet.model.findings import Findings
from numalet.servers.api import patches, requests, status
from numalet.servers.api.patches import Patch, PatchDoesNotFit, PatchUnreadable
from numalet.servers.api.status import Failure
from numalet.wording import kubernetes_api as words
from numalet.workload import changes
from numalet.workload.record import PodRecord
from numalet.workload.spec import Source, Workload

PATCHES: Final[Mapping[str, Patch]] = {
    "application/json-patch+json": patches.operations,
    "application/merge-patch+json": patches.merge,
    "application/strategic-merge-patch+json": patches.strategic,
}
LISTS: Final = frozenset({"application/json-patch+json"})
"""Kinds of patches that are lists."""

Revision: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""What becomes of a pod object."""


@dataclass(frozen=True, slots=True)
class Revised:
    """A pod after a change, and the version that it is a change of; None for any."""

    workload: Workload
    version: int | None


async def patch_of(request: Request) -> Revision:
    """The patch of a request. Raises ``Failure`` for one of no known kind or form."""
    kind = requests.media_type(request)
    apply = PATCHES.get(kind)
    if apply is None:
        raise Failure(415, words.PATCH_MEDIA_TYPE)
    document = await requests.document(request, PATCHES)
    empty: Any = [] if kind in LISTS else {}
    patch = empty if document is None else document.value
    if not isinstance(patch, type(empty)):
        found = type(patch).__name__
        raise Failure(400, words.KIND_DIFFERS.format(found=found, expected="a patch"))
    return lambda pod: apply(pod, patch)


async def object_of(request: Request) -> Revision:
    """The object of a request that is to take the place of another."""
    value = requests.of_kind(await requests.document(request), "v1", "Pod")
    return lambda _pod: value


async def revised(revision: Revision, record: PodRecord, pod: Mapping[str, Any]) -> Revised | None:
    """The pod after this revision; None if it stays as it is.

    Raises:
        Failure: the revision does not fit, its result is no pod, or it may not be so.
    """
    try:
        value = await asyncio.to_thread(revision, pod)
    except PatchUnreadable as bad:
        raise Failure(400, words.PATCH_UNREADABLE.format(problem=bad)) from None
    except PatchDoesNotFit as bad:
        raise Failure(422, words.PATCH_UNREADABLE.format(problem=bad)) from None
    version = _checked_identity(value, pod)
    old, new = _shown(record.workload, pod), _read(value, record, pod)
    refused = changes.unchangeable(old, new)
    if _given(value, "spec", "nodeName") not in (None, "", pod["spec"].get("nodeName")):
        refused = ("spec", *(each for each in refused if each != "spec"))
    if refused:
        causes = [(field, _why_not(old, field)) for field in refused]
        raise status.unchangeable("Pod", old.pod.name, causes)
    return Revised(changes.changed(old, new), version) if changes.is_changed(old, new) else None


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


def _shown(workload: Workload, pod: Mapping[str, Any]) -> Workload:
    """The workload with the name that its node has now, as the API shows it."""
    shown = workload.manifest
    spec = {**shown["spec"], "nodeName": pod["spec"]["nodeName"]}
    return replace(workload, manifest={**shown, "spec": spec})


def _read(value: Any, record: PodRecord, pod: Mapping[str, Any]) -> Workload:
    old = record.workload
    options = WorkloadOptions(
        source=old.source,
        origin=old.origin,
        uid=record.uid,
        namespace=old.pod.namespace,
        node_name=pod["spec"]["nodeName"],
    )
    findings = Findings()
    new = decode_workload(value, Place(""), options, findings)
    if new is None:
        raise status.invalid("Pod", old.pod.name, findings.all)
    return new


def _why_not(old: Workload, field: str) -> str:
    if old.source is Source.FILE:
        return words.UNCHANGEABLE_FILE
    if field == "spec.tolerations":
        return words.UNCHANGEABLE_TOLERATIONS
    return words.UNCHANGEABLE if field == "spec" else words.UNCHANGEABLE_METADATA


def _given(value: Any, part: str, name: str) -> object:
    """A member of a part of an object of which nothing is known yet."""
    found = value.get(part) if isinstance(value, Mapping) else None
    return found.get(name) if isinstance(found, Mapping) else None
