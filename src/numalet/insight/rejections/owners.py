"""Find the owner that replaces a rejected pod: the top of its owner references.

Without readable references, the labels of the template stand for it; a bare pod is its own owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

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
