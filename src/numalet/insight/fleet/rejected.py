"""The pods that kubelets rejected at admission, by owner, shape and reason, and where they fit now.

Only pods that still exist are known: an owner that deletes a rejected pod also hides the rejection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.cluster.shapes import PodKey
from numalet.core.model import pod_demand
from numalet.core.model.value import Value
from numalet.insight.fleet import parts
from numalet.insight.fleet.assessing import Assessment, Assessor
from numalet.insight.fleet.parts import Origins
from numalet.wording import numbers


class _OnNodes(Value, kw_only=True):
    nodes: Mapping[str, int]

    @property
    def on_nodes(self) -> str:
        """The first nodes with their numbers of rejected pods."""
        return numbers.some(f"{name} {count}" for name, count in self.nodes.items())


class RejectedGroup(_OnNodes, kw_only=True):
    """Rejected pods of one owner and one shape, with one reason.

    ``owner`` is ``Kind/name``, empty for bare pods. ``pod`` is the last of them, ``message`` its
    ``status.message``. ``nodes`` counts them by the node that rejected them. ``first_at_seconds``
    and ``last_at_seconds`` are when kubelets first saw the pods, since 1970, or null.
    ``fits_on`` are the nodes where another such pod fits now, sorted by name; of those,
    ``fits_there`` are nodes that rejected some.
    """

    namespace: str
    owner: str
    pod: str
    amounts: Mapping[str, int]
    reason: str
    message: str
    count: int
    first_at_seconds: float | None
    last_at_seconds: float | None
    fits_on: tuple[str, ...]
    fits_there: tuple[str, ...]


class FleetRejected(_OnNodes, kw_only=True, tag_field="schema", tag="numalet.fleet-rejected/1"):
    """The groups with the latest rejections first; ``nodes`` counts all rejected pods by node."""

    count: int
    groups: tuple[RejectedGroup, ...]
    origins: Origins


_Key: TypeAlias = tuple[str, str, PodKey, str]


def seen_at_seconds(pod: ClusterPod) -> float | None:
    """Return when the kubelet first saw the pod, else when it was created."""
    return pod.created_at_seconds if pod.started_at_seconds is None else pod.started_at_seconds


def rejected(cluster: Cluster, assessor: Assessor | None = None) -> FleetRejected:
    """Group the rejected pods of a cluster, and assess one new pod of each group on every node."""
    assessor = assessor or Assessor()
    pods = [each for each in cluster.pods.values() if each.was_rejected]
    by_key: dict[_Key, list[ClusterPod]] = {}
    for each in sorted(pods, key=_age):
        key = (each.pod.namespace, parts.controller_text(each), shapes.key_of(each), each.reason)
        by_key.setdefault(key, []).append(each)
    groups = [_group(each, assessor.assess(cluster, each[0])) for each in by_key.values()]
    return FleetRejected(
        count=len(pods),
        nodes=_by_node(pods),
        groups=tuple(sorted(groups, key=_latest_first)),
        origins=parts.origins(cluster),
    )


def _group(pods: Sequence[ClusterPod], assessed: Mapping[str, Assessment]) -> RejectedGroup:
    last, nodes = pods[-1], _by_node(pods)
    fits_on = tuple(sorted(name for name, each in assessed.items() if each.fits))
    return RejectedGroup(
        namespace=last.pod.namespace,
        owner=parts.controller_text(last),
        pod=last.pod.name,
        amounts=pod_demand.amounts(last.pod),
        reason=last.reason,
        message=last.message,
        count=len(pods),
        nodes=nodes,
        first_at_seconds=seen_at_seconds(pods[0]),
        last_at_seconds=seen_at_seconds(last),
        fits_on=fits_on,
        fits_there=tuple(name for name in fits_on if name in nodes),
    )


def _age(pod: ClusterPod) -> tuple[float, str]:
    return seen_at_seconds(pod) or 0.0, str(pod.pod)


def _by_node(pods: Iterable[ClusterPod]) -> dict[str, int]:
    counts = Counter(each.pod.node_name for each in pods)
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _latest_first(group: RejectedGroup) -> tuple[float, str, str]:
    return -(group.last_at_seconds or 0.0), group.namespace, group.pod
