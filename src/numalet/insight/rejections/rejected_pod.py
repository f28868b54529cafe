"""One pod that a kubelet rejected at admission, with what the breaker has to know of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import NO_LABELS, ClusterPod
from numalet.insight.rejections import owners
from numalet.insight.rejections.owners import OwnerLink, TopOwner

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "TopologyAffinityError": "1.20",
        "UnexpectedAdmissionError": "1.20",
        "SMTAlignmentError": "1.22",
        "EmptyPodSharedPoolError": "1.36",
    }
)
"""``status.reason`` of pods that count, and the first release of the kubelet that gives it.

1.20 stands for that release and for older ones, between which nothing is distinguished here.
"""
OUT_OF: Final = "OutOf"
"""So begins the reason of a pod for which the sums of a node are too small, in every release."""

RECREATE: Final = "numalet.dev/recreate"
"""The annotation of a bare pod that wants to be created anew: "true"."""
MIRROR: Final = "kubernetes.io/config.mirror"
_SHAPE_DIGITS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedPod:
    """A pod that failed at admission. Moments are seconds since 1970.

    ``pod`` is the same as the cluster's value has it, ``shape`` the digest of what decides about
    it. ``chain`` are its owners, the nearest first; ``chain_is_whole`` is False where one of them
    could not be read, so that others may be above it. ``manifest`` is the Pod object as the API
    server has it, kept for a bare pod that wants to be created anew.
    """

    pod: ClusterPod
    resource_version: str
    reason: str
    rejected_at_seconds: float
    shape: str
    owner: TopOwner
    message: str = ""
    never_started: bool = True
    """Whether none of its containers has ever run."""
    chain: tuple[OwnerLink, ...] = ()
    chain_is_whole: bool = True
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    manifest: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def uid(self) -> str:
        """Of the pod."""
        return self.pod.pod.uid

    @property
    def namespace(self) -> str:
        """Of the pod."""
        return self.pod.pod.namespace

    @property
    def name(self) -> str:
        """Of the pod."""
        return self.pod.pod.name

    @property
    def node(self) -> str:
        """The node whose kubelet rejected it."""
        return self.pod.pod.node_name


def counts(reason: str) -> bool:
    """Whether a pod that failed with this ``status.reason`` was rejected at admission."""
    return reason in REASONS or reason.startswith(OUT_OF)


def rejected(
    document: Mapping[str, Any],
    pod: ClusterPod,
    chain: Iterable[OwnerLink] = (),
    chain_is_whole: bool = True,
    seen_at_seconds: float | None = None,
) -> RejectedPod | None:
    """The pod of this Pod object; None if no kubelet rejected it, or if it is being deleted.

    ``seen_at_seconds`` is when it was first seen to have failed. Without it that is taken from the
    object, which knows no better than when the kubelet saw the pod.
    """
    metadata, status = document.get("metadata") or {}, document.get("status") or {}
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    reason = status.get("reason") or ""
    if status.get("phase") != "Failed" or not counts(reason) or not pod.pod.node_name:
        return None
    if metadata.get("deletionTimestamp") or MIRROR in annotations:
        return None
    labels: Mapping[str, str] = metadata.get("labels") or {}
    links = tuple(chain)
    owner = owners.top_owner(pod.pod.namespace, pod.pod.name, pod.pod.uid, labels, links)
    is_wanted = not metadata.get("ownerReferences") and annotations.get(RECREATE) == "true"
    moment = seen_at_seconds
    if moment is None:
        moment = _moment(status.get("startTime")) or _moment(metadata.get("creationTimestamp"))
    return RejectedPod(
        pod=pod,
        resource_version=str(metadata.get("resourceVersion") or ""),
        reason=reason,
        rejected_at_seconds=moment or 0.0,
        shape=shape_digest(pod),
        owner=owner,
        message=status.get("message") or "",
        never_started=not any(map(_has_run, _container_statuses(status))),
        chain=links,
        chain_is_whole=chain_is_whole,
        labels=labels,
        annotations=annotations,
        manifest=document if is_wanted else None,
    )


def shape_digest(pod: ClusterPod) -> str:
    """A name for the pod's shape: equal for pods that schedulers and kubelets treat alike.

    It is short, and may stand in the value of a taint.
    """
    text = repr(shapes.key_of(pod))
    return hashlib.sha256(text.encode()).hexdigest()[:_SHAPE_DIGITS]


def _moment(text: object) -> float | None:
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _container_statuses(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    names = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    return [each for name in names for each in status.get(name) or ()]


def _has_run(status: Mapping[str, Any]) -> bool:
    """Whether the container was started at least once."""
    state, last = status.get("state") or {}, status.get("lastState") or {}
    return bool(
        status.get("containerID")
        or status.get("started")
        or status.get("restartCount")
        or "running" in state
        or "terminated" in state
        or "terminated" in last
    )
