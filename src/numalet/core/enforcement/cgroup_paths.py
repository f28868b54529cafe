"""The paths of cgroups: those that the agent makes, and those of a kubelet.

Below the root of all pods, Guaranteed pods are at the root, the others below ``burstable`` and
``besteffort``; a pod's cgroup is ``pod`` and its uid, with its containers' cgroups in it by name.
Names are from manifests and may be anything, so every character except letters, digits, ``-`` and
``_`` is escaped as ``%`` and two hexadecimal digits. No name can therefore lead elsewhere, or equal
a control file of the kernel, because those contain dots.

Kubelet: ``qosContainerManagerImpl``, ``podContainerManagerImpl.GetPodContainerName``, v1.32.

A kubelet's cgroups are recognized by name. A pod's cgroup has its uid in its name, a container's
the id from the container runtime; both have two formats, one for each cgroup driver::

    kubepods/burstable/podUID/ID                                                      cgroupfs
    kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/x-ID.scope  systemd

With systemd a dash in a uid is an underscore. Other cgroups of the container runtime
(``crio-conmon-ID``) are not containers. Kubelet v1.32: ``CgroupName.ToSystemd``.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from numalet.core.model.pod import Pod, QosClass

ROOT: Final = ""
BURSTABLE: Final = "burstable"
BEST_EFFORT: Final = "besteffort"
POD_PREFIX: Final = "pod"

LONGEST_SEGMENT: Final = 200
"""A file name may have 255 bytes; the rest is for a prefix and for temporary names."""

_TO_BE_ESCAPED: Final = re.compile("[^A-Za-z0-9_-]")
_HASH_DIGITS: Final = 32
_SHORTENED: Final = "%~"
"""Separates a shortened name from its hash; no other segment contains it."""

_PARENTS: Final = {
    QosClass.GUARANTEED: ROOT,
    QosClass.BURSTABLE: BURSTABLE,
    QosClass.BEST_EFFORT: BEST_EFFORT,
}

ROOTS: Final = (
    "kubepods.slice",
    "kubepods",
    "kubelet.slice/kubelet-kubepods.slice",
    "kubelet/kubepods",
)
"""The parent cgroup of all pods, below the root of the cgroup file system."""

_POD: Final = re.compile(r"pod(?P<uid>[^/.]+)")
_POD_SLICE: Final = re.compile(r"(?:.+-)?pod(?P<uid>[^/.-]+)\.slice")
_ID: Final = re.compile(r"(?:(?P<by>[a-z0-9-]+)-)?(?P<id>[0-9a-f]{64})(?:\.scope)?")
_NO_CONTAINERS: Final = ("conmon",)


def segment(name: str) -> str:
    """Return the name as one path segment; different names have different segments."""
    escaped = _TO_BE_ESCAPED.sub(_escaped, name)
    if not escaped:
        return "%"
    if len(escaped) <= LONGEST_SEGMENT:
        return escaped
    digest = hashlib.sha256(escaped.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{escaped[: LONGEST_SEGMENT - _HASH_DIGITS - len(_SHORTENED)]}{_SHORTENED}{digest}"


def name_of(text: str) -> str | None:
    """Return the name of a segment; None for shortened names and other texts."""
    if text == "%":
        return ""
    if _SHORTENED in text:
        return None
    first, *rest = text.split("%")
    try:
        raw = b"".join((first.encode(), *(bytes.fromhex(p[:2]) + p[2:].encode() for p in rest)))
        name = raw.decode("utf-8", "surrogatepass")
    except ValueError:
        return None
    return name if name and segment(name) == text else None


def of_qos(qos: QosClass) -> str:
    return _PARENTS[qos]


def of_pod(pod: Pod) -> str:
    return _below(of_qos(pod.qos_class), pod_segment(pod.uid))


def of_container(pod: Pod, container: str) -> str:
    return _below(of_pod(pod), segment(container))


def pod_segment(uid: str) -> str:
    return f"{POD_PREFIX}{segment(uid)}"


def parents(path: str) -> tuple[str, ...]:
    parts = path.split("/")[:-1] if path else []
    above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return (ROOT, *above) if path else ()


def _below(parent: str, name: str) -> str:
    return f"{parent}/{name}" if parent else name


def _escaped(letter: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in letter[0].encode("utf-8", "surrogatepass"))


def pod_uid(name: str) -> str | None:
    if match := _POD_SLICE.fullmatch(name):
        return match["uid"].replace("_", "-")
    match = _POD.fullmatch(name)
    return None if match is None else match["uid"]


def container_id(name: str) -> str | None:
    match = _ID.fullmatch(name)
    if match is None or any(word in (match["by"] or "") for word in _NO_CONTAINERS):
        return None
    return match["id"]
