"""The document of ``numalet fleet why -o json``: what a cluster knows about a pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final, Literal

from numalet.core.admission import reasons
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import pod_demand
from numalet.core.model.value import OutputDocument
from numalet.insight.explain import story
from numalet.insight.fleet import evicting, fit, kube_scheduler, parts, rejected
from numalet.insight.fleet.assessing import Assessment, Assessor
from numalet.insight.fleet.evicting import FreeQuestion
from numalet.insight.fleet.fit import Fit
from numalet.insight.fleet.parts import Origins
from numalet.insight.output import explanation_document
from numalet.insight.rejections import other_shape
from numalet.wording import numbers

SCHEMA: Final = "numalet.fleet-why/1"
_MOST_SETS: Final = 10_000
"""Fewer than for ``numalet fleet free``, so that the answer takes seconds."""


class Standing(Enum):
    """What the cluster says about a pod; ``waiting`` has no node yet."""

    REJECTED = "rejected"
    FAILED = "failed"
    SUCCEEDED = "succeeded"
    WAITING = "waiting"
    ON_NODE = "on-node"


class ThereVerdict(Enum):
    """What would happen to the pod on its node now.

    ``not-sent``: the kubelet would admit it, but the scheduler does not send it there.
    """

    ADMITTED = "admitted"
    REJECTED = "rejected"
    NOT_SENT = "not-sent"
    UNDECIDED = "undecided"
    GONE = "gone"


class Way(Enum):
    """Kinds of ways out, the cheapest first."""

    NODE = "node"
    SHAPE = "other-shape"
    EVICTIONS = "evictions"


class ThereDocument(OutputDocument, kw_only=True):
    """The pod on its own node now.

    ``reason`` is ``status.reason`` of a rejection; ``text`` has its cause, or why the node is not
    decided. ``contradiction`` explains why the assumed configuration of the node never gives the
    recorded reason, else it is empty.
    """

    node: str
    verdict: ThereVerdict
    reason: str
    text: str
    contradiction: str


class FleetWayOutDocument(OutputDocument, kw_only=True):
    """A way to get the pod running; ``evicted`` are the pods to evict for it, by name."""

    way: Way
    node: str
    text: str
    evicted: list[str]


class FleetWhyDocument(OutputDocument, kw_only=True):
    """A pod of a cluster: its recorded rejection, and where it fits now.

    ``amounts`` are its requests; of ``cpu`` thousandths of a CPU. ``node`` is the node that it was
    sent to, empty for none; ``at_seconds`` is when that kubelet first saw it, since 1970, or null.
    ``reason`` and ``message`` are those of its status. ``there`` is null without a node, and for a
    pod that is on its node. ``fit`` is about one new pod of its shape, and null for a pod that is
    on its node or has succeeded. The scheduler would send the pod to the nodes of ``refusing``
    too, and their kubelets would reject it. ``ways_out`` are ordered by cost, the cheapest first.
    """

    schema: Literal["numalet.fleet-why/1"]
    namespace: str
    name: str
    uid: str
    owner: str
    amounts: dict[str, int]
    standing: Standing
    node: str
    at_seconds: float | None
    reason: str
    message: str
    there: ThereDocument | None
    fit: Fit | None
    refusing: list[str]
    ways_out: list[FleetWayOutDocument]
    origins: Origins

    @property
    def is_yes(self) -> bool:
        """Whether the pod is on its node, has succeeded, or fits on some node now."""
        return self.fit is None or self.fit.fits

    @property
    def is_decided(self) -> bool:
        """Whether the cluster has a node with enough data."""
        return bool(self.origins.releases)


def of(cluster: Cluster, pod: ClusterPod, assessor: Assessor | None = None) -> FleetWhyDocument:
    """Return all about a pod of the cluster; the node decides on it as on a new one."""
    assessor, standing = assessor or Assessor(), _standing(pod)
    is_asked = standing not in (Standing.ON_NODE, Standing.SUCCEEDED)
    answer, there, refusing, ways = None, None, [], []
    if is_asked:
        new = kube_scheduler.as_new(pod)
        assessed = assessor.assess(cluster, new)
        answer = fit.fit(cluster, new, 1, assessor)
        there = _there(cluster, pod, assessed) if pod.pod.node_name else None
        refusing = sorted(
            name for name, each in assessed.items() if each.rejection and not each.scheduler
        )
        ways = list(_ways_out(cluster, new, answer, assessed))
    return FleetWhyDocument(
        schema=SCHEMA,
        namespace=pod.pod.namespace,
        name=pod.pod.name,
        uid=pod.pod.uid,
        owner=parts.controller_text(pod),
        amounts=dict(pod_demand.amounts(pod.pod)),
        standing=standing,
        node=pod.pod.node_name,
        at_seconds=rejected.seen_at_seconds(pod),
        reason=pod.reason,
        message=pod.message,
        there=there,
        fit=answer,
        refusing=refusing,
        ways_out=ways,
        origins=parts.origins(cluster),
    )


def _standing(pod: ClusterPod) -> Standing:
    if pod.was_rejected:
        return Standing.REJECTED
    if pod.is_over:
        return Standing.FAILED if pod.pod.phase == "Failed" else Standing.SUCCEEDED
    return Standing.ON_NODE if pod.pod.node_name else Standing.WAITING


def _there(cluster: Cluster, pod: ClusterPod, assessed: Mapping[str, Assessment]) -> ThereDocument:
    name = pod.pod.node_name
    each, verdict, reason, text, contradiction = assessed.get(name), ThereVerdict.GONE, "", "", ""
    if name in cluster.undecided:
        verdict, text = ThereVerdict.UNDECIDED, str(cluster.undecided[name].why)
    elif each is not None:
        rules = each.node.node.rules
        never = reasons.why_impossible(pod.reason, pod.message, rules, pod.pod)
        if never is not None:
            contradiction = (
                f"{pod.reason} needs {never.needs}, and the configuration that is assumed for "
                f"{name} has {never.has}"
            )
        if each.fits:
            verdict = ThereVerdict.ADMITTED
        elif each.rejection is None and each.scheduler is not None:
            verdict, text = ThereVerdict.NOT_SENT, each.scheduler.text
        else:
            known = [one.pod for one in cluster.pods.values() if one.pod.node_name == name]
            case = other_shape.case_of(each, kube_scheduler.as_new(pod).pod, known)
            made = explanation_document.explanation(case, story.trace(case), ())
            verdict, reason, text = ThereVerdict.REJECTED, made.reason, made.cause
    return ThereDocument(
        node=name, verdict=verdict, reason=reason, text=text, contradiction=contradiction
    )


def _ways_out(
    cluster: Cluster, new: ClusterPod, answer: Fit, assessed: Mapping[str, Assessment]
) -> Iterator[FleetWayOutDocument]:
    for landing in answer.landings:
        yield FleetWayOutDocument(
            way=Way.NODE, node=landing.node, text=landing.sentence, evicted=[]
        )
    if answer.landings:
        return
    shape = other_shape.other_shape(assessed, new)
    if shape is not None:
        text = f"{shape.text}, on {shape.node}"
        yield FleetWayOutDocument(way=Way.SHAPE, node=shape.node, text=text, evicted=[])
    best = evicting.free(cluster, new, FreeQuestion(most_sets=_MOST_SETS)).best
    if best is not None:
        names = [str(each.pod) for each in best.going]
        text = f"evict {numbers.counted(len(names), 'pod')} from {best.name}: {', '.join(names)}"
        if not names:
            text = f"wait until pods that are being deleted have left {best.name}"
        yield FleetWayOutDocument(way=Way.EVICTIONS, node=best.name, text=text, evicted=names)
