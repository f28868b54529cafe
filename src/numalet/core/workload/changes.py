"""What of an accepted pod may become otherwise while it lives.

CPUs, memory and devices were decided on for what the pod said then, and its programs run, so of
its spec only images may change, which mean nothing to a program of the host, and tolerations may
be added. Labels, annotations and their like may be anything. A pod of the manifest folder is what
its file says. Kubernetes: ``ValidatePodUpdate``, v1.32; deadlines, which may be set there, no pod
here has.
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
    """Whether the pod object says something else."""
    return bool(_changed_metadata(old, new)) or old.manifest["spec"] != new.manifest["spec"]


def unchangeable(old: Workload, new: Workload) -> tuple[str, ...]:
    """The fields that are different and may not be; none where the change is fine."""
    metadata = _changed_metadata(old, new)
    before, after = old.manifest["spec"], new.manifest["spec"]
    if old.source is WorkloadSource.FILE:
        spec = ["spec"] if before != after else []
        return (*spec, *(f"metadata.{name}" for name in metadata))
    plain = _without_images(before)
    spec = ["spec"] if _fixed(before, plain) != _fixed(after, plain) else []
    if not _only_added(before.get("tolerations"), after.get("tolerations")):
        spec.append("spec.tolerations")
    return (*spec, *(f"metadata.{each}" for each in metadata if each not in _CHANGEABLE_METADATA))


def changed(old: Workload, new: Workload) -> Workload:
    """The old workload with what may be otherwise in the new one."""
    return replace(
        old,
        pod=replace(old.pod, labels=new.pod.labels),
        containers=tuple(map(_with_image, old.containers, new.containers)),
        manifest=new.manifest,
    )


def _with_image(old: ContainerSpec, new: ContainerSpec) -> ContainerSpec:
    return replace(old, image=new.image)


def _changed_metadata(old: Workload, new: Workload) -> list[str]:
    """Names of members that differ; an empty one is as good as none."""
    before, after = old.manifest["metadata"], new.manifest["metadata"]
    return [
        name
        for name in sorted(before.keys() | after.keys())
        if (before.get(name) or None) != (after.get(name) or None)
    ]


def _without_images(spec: Mapping[str, Any]) -> frozenset[str]:
    """Names of the containers without an image, and so without a policy of pulling it."""
    return frozenset(
        each["name"]
        for name in _CONTAINER_LISTS
        for each in spec.get(name, ())
        if not each.get("image")
    )


def _fixed(spec: Mapping[str, Any], plain: frozenset[str]) -> dict[str, Any]:
    """The spec without what may change. The first image of a container brings its policy."""
    fixed = {name: member for name, member in spec.items() if name != "tolerations"}
    for name in _CONTAINER_LISTS:
        if name in fixed:
            fixed[name] = [_without_image(each, each["name"] in plain) for each in fixed[name]]
    return fixed


def _without_image(container: Mapping[str, Any], is_plain: bool) -> dict[str, Any]:
    changeable = ("image", "imagePullPolicy") if is_plain else ("image",)
    return {name: member for name, member in container.items() if name not in changeable}


def _only_added(before: object, after: object) -> bool:
    """Whether every toleration is still there, but for how long it lasts."""
    kept = [_lasting(each) for each in _members(after)]
    return all(_lasting(each) in kept for each in _members(before))


def _members(given: object) -> list[Any]:
    """Of a pod that an earlier version stored the types of tolerations were not checked."""
    return given if isinstance(given, list) else [] if given is None else [given]


def _lasting(toleration: object) -> object:
    if not isinstance(toleration, Mapping):
        return toleration
    return {name: each for name, each in toleration.items() if name != "tolerationSeconds"}
