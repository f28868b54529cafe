"""Patches of a pod. A pod is what it was accepted as, so a patch is fine if it changes nothing.

What was accepted decided about CPUs and memory; its labels and annotations are kept with it. A
patched object is read as a posted one is, so that ``1024Mi`` in the place of ``1Gi`` is no change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request

from numalet.adapters.documents.typed import Place
from numalet.adapters.documents.workload import WorkloadOptions, decode_workload
from numalet.model.findings import Findings
from numalet.servers.api import patches, requests, status
from numalet.servers.api.patches import Patch, PatchUnreadable
from numalet.servers.api.status import Failure
from numalet.wording import kubernetes_api as words
from numalet.workload.record import PodRecord

_PATCHES: Final[Mapping[str, Patch]] = {
    "application/merge-patch+json": patches.merge,
    "application/strategic-merge-patch+json": patches.strategic,
}
_SERVERS_OWN: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink"}
)


async def check_patch(request: Request, record: PodRecord, pod: Mapping[str, Any]) -> None:
    """Raise ``Failure`` if the patch of this request would change the pod, or is none."""
    apply = _PATCHES.get(requests.media_type(request))
    if apply is None:
        raise Failure(415, words.PATCH_MEDIA_TYPE)
    document = await requests.document(request, _PATCHES)
    patch = {} if document is None else document.value
    if not isinstance(patch, Mapping):
        found = type(patch).__name__
        raise Failure(400, words.KIND_DIFFERS.format(found=found, expected="a patch"))
    try:
        patched = apply(pod, patch)
    except PatchUnreadable as bad:
        raise Failure(400, words.PATCH_UNREADABLE.format(key=bad)) from None
    _check_version(pod, patched)
    changed = _changed(record, pod, patched)
    if changed:
        raise status.unchangeable("Pod", record.workload.pod.name, changed)


def _check_version(pod: Mapping[str, Any], patched: Mapping[str, Any]) -> None:
    metadata = patched.get("metadata")
    given = metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None
    if given not in (None, "", pod["metadata"]["resourceVersion"]):
        name = pod["metadata"]["name"]
        about = {"resource": "pods", "name": name, "problem": words.VERSION_DIFFERS}
        details = {"name": name, "kind": "pods"}
        raise Failure(409, words.CONFLICT.format(**about), details=details)


def _changed(record: PodRecord, pod: Mapping[str, Any], patched: Mapping[str, Any]) -> list[str]:
    """Which parts of the object are not what they were, once the patched one is understood."""
    old = record.workload
    options = WorkloadOptions(
        uid=record.uid, namespace=old.pod.namespace, node_name=str(pod["spec"]["nodeName"])
    )
    findings = Findings()
    new = decode_workload(patched, Place(""), options, findings)
    if new is None:
        raise status.invalid("Pod", old.pod.name, findings.all)
    before, after = _metadata(old.manifest), _metadata(new.manifest)
    changed = [
        f"metadata.{name}"
        for name in sorted(before.keys() | after.keys())
        if (before.get(name) or None) != (after.get(name) or None)
    ]
    same_spec = new.manifest["spec"] == {**old.manifest["spec"], "nodeName": options.node_name}
    return changed if same_spec else ["spec", *changed]


def _metadata(manifest: Mapping[str, Any]) -> dict[str, Any]:
    metadata = manifest["metadata"]
    return {name: member for name, member in metadata.items() if name not in _SERVERS_OWN}
