"""Allowed updates of an accepted pod.

The managers decided on the original CPUs, memory and devices, and the programs run. An update may
therefore change only images in the spec, which a program of the host ignores, add tolerations, and
change metadata such as labels. Kubernetes: ``ValidatePodUpdate``, v1.32; it also allows deadlines,
which do not exist here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from numalet.core.model.value import replace
from numalet.core.workload.spec import ContainerSpec, Workload, WorkloadSource

_CHANGEABLE_METADATA: Final = frozenset(
    {"annotations", "finalizers", "generateName", "labels", "ownerReferences"}
)
_CONTAINER_LISTS: Final = ("containers", "initContainers")


def is_changed(old: Workload, new: Workload) -> bool:
    return bool(_changed_metadata(old, new)) or old.manifest["spec"] != new.manifest["spec"]


def unchangeable(old: Workload, new: Workload) -> tuple[str, ...]:
    """Return the changed fields that may not change; empty if the update is allowed."""
    metadata = _changed_metadata(old, new)
    before, after = old.manifest["spec"], new.manifest["spec"]
    # A pod of the manifest folder follows its file.
    if old.source is WorkloadSource.FILE:
        spec = ["spec"] if before != after else []
        return (*spec, *(f"metadata.{name}" for name in metadata))
    plain = _without_images(before)
    spec = ["spec"] if _fixed(before, plain) != _fixed(after, plain) else []
    if not _only_added(before.get("tolerations"), after.get("tolerations")):
        spec.append("spec.tolerations")
    return (*spec, *(f"metadata.{each}" for each in metadata if each not in _CHANGEABLE_METADATA))


def changed(old: Workload, new: Workload) -> Workload:
    return replace(
        old,
        pod=replace(old.pod, labels=new.pod.labels),
        containers=tuple(map(_with_image, old.containers, new.containers)),
        manifest=new.manifest,
    )


def _with_image(old: ContainerSpec, new: ContainerSpec) -> ContainerSpec:
    return replace(old, image=new.image)


def _changed_metadata(old: Workload, new: Workload) -> list[str]:
    before, after = old.manifest["metadata"], new.manifest["metadata"]
    return [
        name
        for name in sorted(before.keys() | after.keys())
        if (before.get(name) or None) != (after.get(name) or None)
    ]


def _without_images(spec: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the containers without an image, and so without a pull policy."""
    return frozenset(
        each["name"]
        for name in _CONTAINER_LISTS
        for each in spec.get(name, ())
        if not each.get("image")
    )


def _fixed(spec: Mapping[str, Any], plain: frozenset[str]) -> dict[str, Any]:
    """Return the spec without its mutable parts. A container's first image also sets its policy."""
    fixed = {name: member for name, member in spec.items() if name != "tolerations"}
    for name in _CONTAINER_LISTS:
        if name in fixed:
            fixed[name] = [_without_image(each, each["name"] in plain) for each in fixed[name]]
    return fixed


def _without_image(container: Mapping[str, Any], is_plain: bool) -> dict[str, Any]:
    changeable = ("image", "imagePullPolicy") if is_plain else ("image",)
    return {name: member for name, member in container.items() if name not in changeable}


def _only_added(before: object, after: object) -> bool:
    """Return whether every toleration is still there; its duration may change."""
    kept = [_lasting(each) for each in _members(after)]
    return all(_lasting(each) in kept for each in _members(before))


def _members(given: object) -> list[Any]:
    """Pods stored by an earlier version may have tolerations of the wrong type."""
    return given if isinstance(given, list) else [] if given is None else [given]


def _lasting(toleration: object) -> object:
    if not isinstance(toleration, Mapping):
        return toleration
    return {name: each for name, each in toleration.items() if name != "tolerationSeconds"}
