"""A pod that a kubelet rejected at admission, its owner, and the facts that the breaker needs.

The owner is the one that replaces the pod: the top of its owner references. Without readable
references, the labels of the template stand for it; a bare pod is its own owner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import NO_LABELS, ClusterPod
from numalet.core.model import pod_standing
from numalet.core.model.value import Value

GENERATED_LABELS: Final = frozenset(
    {
        "pod-template-hash",
        "pod-template-generation",
        "controller-revision-hash",
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/job-completion-index",
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
    }
)
"""Labels that controllers write, with another value for each pod or template."""

LABELS_KIND: Final = "labels"
"""The kind of an owner that is known only by the labels of its pods."""


class OwnerLink(Value, order=True):
    """One owner of a chain. ``api_version`` is such as ``apps/v1``; ``namespace`` may be empty."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def text(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class TopOwner(Value, order=True):
    """The owner of the pods. For the kind ``labels`` the name is a label selector."""

    kind: str
    namespace: str
    name: str
    api_version: str = ""
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def next_owner(metadata: Mapping[str, Any], namespace: str) -> OwnerLink | None:
    """Return the owner in the ``metadata`` of an object: its controller, else the first one.

    An owner is in the namespace of its dependent, or cluster-scoped; the caller has to try both.
    """
    references = [each for each in metadata.get("ownerReferences") or () if each.get("name")]
    controllers = [each for each in references if each.get("controller")]
    for each in (*controllers, *references):
        return OwnerLink(
            api_version=str(each.get("apiVersion") or ""),
            kind=str(each.get("kind") or ""),
            namespace=namespace,
            name=str(each["name"]),
            uid=str(each.get("uid") or ""),
        )
    return None


def top_owner(
    namespace: str, name: str, uid: str, labels: Mapping[str, str], chain: Iterable[OwnerLink]
) -> TopOwner:
    """Return the owner of the pod with this name, uid and labels; ``chain`` is nearest first."""
    links = tuple(chain)
    if links:
        # The lasting owner: a rollout replaces a ReplicaSet, and a CronJob has many Jobs.
        top = links[-1]
        return TopOwner(top.kind, top.namespace, top.name, top.api_version, top.uid)
    kept = sorted((key, value) for key, value in labels.items() if key not in GENERATED_LABELS)
    if kept:
        selector = ",".join(f"{key}={value}" for key, value in kept)
        return TopOwner(LABELS_KIND, namespace, selector)
    return TopOwner("Pod", namespace, name, "v1", uid)


RECREATE: Final = "numalet.dev/recreate"
"""The annotation of a bare pod that requests recreation: "true"."""
MIRROR: Final = "kubernetes.io/config.mirror"
_SHAPE_DIGITS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedPod:
    """A pod that failed at admission. Times are seconds since 1970.

    ``pod`` is the cluster's value of it, ``shape`` the digest of its shape. ``chain`` are its
    owners, the nearest first; ``chain_is_whole`` is False if one of them could not be read, so that
    others may be above it. ``manifest`` is the Pod object of the API server, kept for a bare pod
    that requests recreation.
    """

    pod: ClusterPod
    resource_version: str
    reason: str
    rejected_at_seconds: float
    shape: str
    owner: TopOwner
    message: str = ""
    never_started: bool = True
    """True if its containers have never run."""
    chain: tuple[OwnerLink, ...] = ()
    chain_is_whole: bool = True
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    manifest: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def uid(self) -> str:
        return self.pod.pod.uid

    @property
    def namespace(self) -> str:
        return self.pod.pod.namespace

    @property
    def name(self) -> str:
        return self.pod.pod.name

    @property
    def node(self) -> str:
        return self.pod.pod.node_name


def rejected(
    document: Mapping[str, Any],
    pod: ClusterPod,
    chain: Iterable[OwnerLink] = (),
    chain_is_whole: bool = True,
    seen_at_seconds: float | None = None,
) -> RejectedPod | None:
    """Return the rejected pod of a Pod object, if it was rejected and is not being deleted.

    ``seen_at_seconds`` is when the failure was first seen; by default, when the kubelet first saw
    the pod.
    """
    metadata, status = document.get("metadata") or {}, document.get("status") or {}
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    reason = status.get("reason") or ""
    is_rejected = status.get("phase") == "Failed" and pod_standing.is_rejection(reason)
    if not is_rejected or not pod.pod.node_name:
        return None
    # A mirror pod shows a static pod, which the kubelet reads from its file again.
    if metadata.get("deletionTimestamp") or MIRROR in annotations:
        return None
    labels: Mapping[str, str] = metadata.get("labels") or {}
    links = tuple(chain)
    owner = top_owner(pod.pod.namespace, pod.pod.name, pod.pod.uid, labels, links)
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
    """Return a name for the pod's shape: equal for pods that schedulers and kubelets treat alike.

    It is short enough for the value of a taint.
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
    """Return whether the container was started at least once."""
    state, last = status.get("state") or {}, status.get("lastState") or {}
    return bool(
        status.get("containerID")
        or status.get("started")
        or status.get("restartCount")
        or "running" in state
        or "terminated" in state
        or "terminated" in last
    )
