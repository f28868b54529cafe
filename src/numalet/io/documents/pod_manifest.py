"""Pods from manifests: files as people write them and as ``kubectl get -o json`` prints them.

A file holds one or several documents; a document is a Pod, a workload with a pod template, a
list of such objects, or something without pods (a Service, say), which is passed over. Objects
that other objects in the same input belong to are not expanded: the output of ``kubectl get all``
names a Deployment, its ReplicaSets and their pods, and the pods are there once. Pods of one input
of which it is known when they came to their node ask in that order.

Finished pods and pods of other nodes are passed over too; all that is passed over is
counted by cause. A pod that admission rejected is finished, but it is the pod that people ask
about: where it is what was asked about, it is read as if it were new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from os import PathLike, fspath
from types import MappingProxyType
from typing import Final

from numalet.core.model.findings import BadInput, Finding, Findings
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.io.documents import (
    kube_objects,
    kubelet_version,
    pod_document,
    pod_history,
    pod_templates,
    yaml_source,
)
from numalet.io.documents.kube_objects import KubeObject
from numalet.io.documents.kubelet_version import KubeletAtHand
from numalet.io.documents.pod_document import PodIdentity
from numalet.io.documents.pod_resources import PodSource
from numalet.io.documents.typed import Place
from numalet.io.documents.yaml_source import YamlDocument
from numalet.io.findings.pods import (
    PodsClaimsPassedOver,
    PodsDuplicateName,
    PodsDuplicateUid,
    PodsSeveralNodes,
)

_NODE: Final = "Node"
_MANY: Final = 50
"""From so many objects on a quick check of pods pays: it costs about 15 ms to prepare, and spares
about 0.1 ms for each pod."""


class Ignored(Enum):
    """Why an object of the input gives no pod, though nothing is wrong with it."""

    FINISHED = "finished"
    OTHER_NODE = "other-node"
    WITHOUT_PODS = "without-pods"
    HAS_ITS_OWN_PODS = "has-its-own-pods"
    ASKED_ABOUT = "asked-about"


class PodOptions(Value, kw_only=True):
    """Which pods are wanted. Without a node name all pods of the input must be on one node.

    ``about`` is the place, among the inputs, of the one with the pod that is asked about: all
    pods of it that admission rejected are read as new, and others give way to those of their
    name in it. Without one, such pods are read where they are no members of a list. ``source``
    says whether the pods have gone through an API server or are files of the node.
    """

    node_name: str | None = None
    about: int | None = None
    source: PodSource = PodSource.API


class LoadedPods(Value, kw_only=True):
    """The pods in the order of the input, what was passed over, and what should be known.

    ``rejected`` are the reasons, by uid, of pods that a kubelet rejected and that ask anew.
    ``kubelets`` are those of the Node objects among the pods.
    """

    pods: tuple[Pod, ...] = ()
    rejected: Mapping[str, str] = MappingProxyType({})
    ignored: Mapping[Ignored, int] = MappingProxyType({})
    notes: tuple[Finding, ...] = ()
    kubelets: tuple[KubeletAtHand, ...] = ()

    @property
    def on_claims(self) -> tuple[Finding, ...]:
        """The note that pods claim devices, for what decides without these; none if none does."""
        names = [str(pod) for pod in self.pods if pod.claims]
        return (PodsClaimsPassedOver(count=len(names), first=names[0]),) if names else ()


def load_pods(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], options: PodOptions = PodOptions()
) -> LoadedPods:
    """The pods of a file, or of several in their order.

    Raises:
        BadInput: with everything that is wrong in any of them.
    """
    findings = Findings()
    objects: list[KubeObject] = []
    for given in [paths] if isinstance(paths, str | PathLike) else paths:
        path = fspath(given)
        try:
            documents = yaml_source.load_documents(yaml_source.read_text_or_input(path), path)
            objects.extend(_objects(documents, path, findings, len(objects)))
        except BadInput as bad:
            findings.extend(bad.findings)
    return _load(objects, options, findings)


def read_pods(text: str, document: str, options: PodOptions = PodOptions()) -> LoadedPods:
    """The pods that a text of this name holds.

    Raises:
        BadInput: with everything that is wrong in it.
    """
    return pods_of([(document, yaml_source.load_documents(text, document))], options)


def pods_of(
    inputs: Sequence[tuple[str, Sequence[YamlDocument]]], options: PodOptions = PodOptions()
) -> LoadedPods:
    """The pods of inputs that were read already, given as pairs of name and documents.

    Raises:
        BadInput: with everything that is wrong in any of them.
    """
    findings = Findings()
    objects = [
        each
        for place, (name, documents) in enumerate(inputs)
        for each in _objects(documents, name, findings, place)
    ]
    return _load(objects, options, findings)


def decode_pod(value: object, place: Place) -> Pod:
    """The pod in one decoded Pod object, as a scenario has it in its steps.

    Raises:
        BadInput: with everything that is wrong in it.
    """
    findings = Findings()
    pod = pod_document.decode_pod(value, place, PodIdentity(), findings)
    if pod is None:
        raise BadInput(findings.all)
    return pod


def _objects(
    documents: Sequence[YamlDocument], document: str, findings: Findings, number: int
) -> list[KubeObject]:
    """The objects of one input, pods in the order in which they came to their node."""
    return _as_they_came(kube_objects.of_documents(documents, document, findings, number))


def _as_they_came(objects: list[KubeObject]) -> list[KubeObject]:
    """The objects, pods of a known time sorted among the places that they take."""
    moments = {
        place: moment
        for place, each in enumerate(objects)
        if each.kind == "Pod" and (moment := pod_history.came(each.value)) is not None
    }
    ordered = list(objects)
    for place, other in zip(moments, sorted(moments, key=moments.__getitem__), strict=True):
        ordered[place] = objects[other]
    return ordered


def _load(objects: Sequence[KubeObject], options: PodOptions, findings: Findings) -> LoadedPods:
    owners = {owner for each in objects for owner in each.owners()}
    asked_about = {each.key for each in objects if each.input == options.about}
    ignored: Counter[Ignored] = Counter()
    pods: list[Pod] = []
    rejected: dict[str, str] = {}
    positions: Counter[tuple[str, str, str]] = Counter()
    for each in objects:
        cause = _cause_to_ignore(each, owners, options)
        if cause is None and options.about not in (None, each.input) and each.key in asked_about:
            cause = Ignored.ASKED_ABOUT
        if cause is not None:
            ignored[cause] += 1
        elif pod_templates.is_workload(each.kind):
            pods.extend(pod_templates.expand(each.kind, each.value, each.place, findings))
        else:
            identity = PodIdentity(
                position=positions[each.key],
                source=options.source,
                among_many=len(objects) >= _MANY,
            )
            positions[each.key] += 1
            pod = pod_document.decode_pod(each.value, each.place, identity, findings)
            reason = pod_history.rejection(each.value)
            if pod is not None and reason is not None:
                rejected[pod.uid] = reason
                pod = replace(pod, phase="Pending")
            pods.extend(() if pod is None else (pod,))
    _check_one_node(pods, options, findings)
    _check_uids_differ(pods, findings)
    findings.raise_errors()
    _note_equal_names(pods, findings)
    counts = {cause: ignored[cause] for cause in Ignored if ignored[cause]}
    return LoadedPods(
        pods=tuple(pods),
        rejected=rejected,
        ignored=counts,
        notes=findings.all,
        kubelets=tuple(_kubelets(objects)),
    )


def _kubelets(objects: Iterable[KubeObject]) -> Iterator[KubeletAtHand]:
    for each in objects:
        kubelet = kubelet_version.of_node(each.value, each.place) if each.kind == _NODE else None
        if kubelet is not None:
            yield kubelet


def _cause_to_ignore(
    each: KubeObject, owners: set[tuple[str, str, str]], options: PodOptions
) -> Ignored | None:
    if each.kind in kube_objects.WITHOUT_PODS:
        return Ignored.WITHOUT_PODS
    if pod_templates.is_workload(each.kind):
        if each.key in owners:
            return Ignored.HAS_ITS_OWN_PODS
        node_name = each.member("spec", "template", "spec", "nodeName")
    else:
        if pod_history.is_finished(each.value) and not _asks_anew(each, options):
            return Ignored.FINISHED
        node_name = each.member("spec", "nodeName")
    if options.node_name is not None and node_name not in (None, "", options.node_name):
        return Ignored.OTHER_NODE
    return None


def _asks_anew(each: KubeObject, options: PodOptions) -> bool:
    """Whether the pod was rejected and is asked about; as one of a listing it holds nothing."""
    is_asked = not each.listed if options.about is None else each.input == options.about
    return is_asked and pod_history.rejection(each.value) is not None


def _check_one_node(pods: Sequence[Pod], options: PodOptions, findings: Findings) -> None:
    names = sorted({pod.node_name for pod in pods if pod.node_name})
    if options.node_name is None and len(names) > 1:
        findings.add(PodsSeveralNodes(names=", ".join(names)))


def _check_uids_differ(pods: Sequence[Pod], findings: Findings) -> None:
    first: dict[str, Pod] = {}
    for pod in pods:
        other = first.setdefault(pod.uid, pod)
        if other is not pod:
            findings.add(PodsDuplicateUid(uid=pod.uid, pod=str(pod), other=str(other)))


def _note_equal_names(pods: Sequence[Pod], findings: Findings) -> None:
    """Warn of names that several pods have, which a cluster would not let them have."""
    for name, count in Counter(map(str, pods)).items():
        if count > 1:
            findings.add(PodsDuplicateName(pod=name, count=count))
