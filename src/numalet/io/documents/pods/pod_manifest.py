"""Reads pods from manifests: handwritten files and the output of ``kubectl get -o json``.

A document is a Pod, a workload with a pod template, a list of objects, or another kind, which is
skipped. A workload is not expanded if another object in the input belongs to it: ``kubectl get
all`` prints a Deployment, its ReplicaSets, and their pods. Pods with a known time of arrival are
sorted by it.

Finished pods and pods of other nodes are skipped, and counted by cause. A rejected pod has finished
too, but users ask why it was rejected: if it is the subject, it is read as a new pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from os import PathLike, fspath
from types import MappingProxyType
from typing import Any, Final

from numalet.core.model import input_error, pod_standing
from numalet.core.model.findings import BadInput, Finding, Findings, Severity
from numalet.core.model.pod import Pod
from numalet.core.model.pod_standing import PodStanding
from numalet.core.model.value import Value, replace
from numalet.io.documents.kubelet import kubelet_version
from numalet.io.documents.kubelet.kubelet_version import KubeletAtHand
from numalet.io.documents.pods import pod_document, pod_history, pod_templates
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.pods.pod_history import Moment, RecordedRejection
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.documents.text import kube_objects, yaml_source
from numalet.io.documents.text.kube_objects import KubeObject
from numalet.io.documents.text.typed import Place
from numalet.io.documents.text.yaml_source import YamlDocument

_NODE: Final = "Node"
_MANY: Final = 50
"""With this many objects the quick check pays: 15 ms to prepare, 0.1 ms saved per pod."""


class Ignored(Enum):
    """Why a valid object yields no pod."""

    FINISHED = PodStanding.FINISHED.value
    OTHER_NODE = PodStanding.OTHER_NODE.value
    NOT_SCHEDULED = PodStanding.NOT_SCHEDULED.value
    WITHOUT_PODS = "without-pods"
    HAS_ITS_OWN_PODS = "has-its-own-pods"
    ASKED_ABOUT = "asked-about"


class PodOptions(Value, kw_only=True):
    """Which pods to read. Without a node name, all pods of the input must be on one node.

    ``about`` is the index of the input that the question is about: its rejected pods are read as
    new, and pods with the same name in other inputs are dropped. Without it, a rejected pod is read
    unless it is a list item, and an unscheduled pod if no pod of the input has a node. ``source``:
    whether the pods are from an API server or from files of the node. ``run`` selects the pods that
    a kubelet sees at its start, by creation time, without rejected ones; a mirror pod stands for
    its static pod.
    """

    node_name: str | None = None
    about: int | None = None
    source: PodSource = PodSource.API
    run: bool = False


class LoadedPods(Value, kw_only=True):
    """The pods in the order of the input, with notes and the number of skipped objects.

    By uid: ``rejected`` has the recorded rejections of pods that are read as new, ``waiting`` are
    unscheduled pods, ``finished`` are ended ones; ``places`` has the object or template of each
    pod. ``kubelets`` are those of the Node objects in the input.
    """

    pods: tuple[Pod, ...] = ()
    rejected: Mapping[str, RecordedRejection] = MappingProxyType({})
    waiting: frozenset[str] = frozenset()
    finished: frozenset[str] = frozenset()
    places: Mapping[str, Place] = MappingProxyType({})
    ignored: Mapping[Ignored, int] = MappingProxyType({})
    notes: tuple[Finding, ...] = ()
    kubelets: tuple[KubeletAtHand, ...] = ()

    @property
    def on_claims(self) -> tuple[Finding, ...]:
        """A note, for code that ignores claims, if pods have any."""
        names = [str(pod) for pod in self.pods if pod.claims]
        return (
            (
                input_error.Assumed(
                    f"pods with device claims: {len(names)}, such as {names[0]}; the scheduler "
                    "allocates claims, so numalet decides on the requests alone (give claims and "
                    "slices to 'numalet check')"
                ),
            )
            if names
            else ()
        )


def load_pods(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], options: PodOptions = PodOptions()
) -> LoadedPods:
    """Read the pods of one file or several, in order.

    Raises:
        BadInput: with all errors.
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
    """Read the pods of a text.

    Raises:
        BadInput: with all errors.
    """
    return pods_of([(document, yaml_source.load_documents(text, document))], options)


def pods_of(
    inputs: Sequence[tuple[str, Sequence[YamlDocument]]], options: PodOptions = PodOptions()
) -> LoadedPods:
    """The pods in pairs of name and documents. Raises ``BadInput`` with all errors."""
    findings = Findings()
    objects = [
        each
        for place, (name, documents) in enumerate(inputs)
        for each in _objects(documents, name, findings, place)
    ]
    return _load(objects, options, findings)


def node_of(name: str, inputs: Sequence[tuple[str, Sequence[YamlDocument]]]) -> str | None:
    """The node of the pod with this name, ``namespace/name`` or uid, if it is unambiguous."""
    objects = [
        each for document, read in inputs for each in _objects(read, document, Findings(), 0)
    ]
    nodes = {
        str(each.member("spec", "nodeName") or "")
        for each in objects
        if each.kind == "Pod"
        and name in (each.key[2], "/".join(each.key[1:]), each.member("metadata", "uid"))
    }
    return (nodes.pop() or None) if len(nodes) == 1 else None


def decode_pod(value: object, place: Place) -> Pod:
    """The pod in a step of a scenario. Raises ``BadInput`` with all errors."""
    findings = Findings()
    identity = PodIdentity(source=PodSource.RECORDING)
    pod = pod_document.decode_pod(value, place, identity, findings)
    if pod is None:
        raise BadInput(findings.all)
    return pod


def _objects(
    documents: Sequence[YamlDocument], document: str, findings: Findings, number: int
) -> list[KubeObject]:
    objects = kube_objects.of_documents(documents, document, findings, number)
    return _in_order(objects, pod_history.came)


def _in_order(
    objects: Sequence[KubeObject], time_of: Callable[[Mapping[Any, Any]], Moment | None]
) -> list[KubeObject]:
    """The objects with the pods of known time sorted; all others keep their positions."""
    moments = {
        place: moment
        for place, each in enumerate(objects)
        if each.kind == "Pod" and (moment := time_of(each.value)) is not None
    }
    ordered = list(objects)
    for place, other in zip(moments, sorted(moments, key=moments.__getitem__), strict=True):
        ordered[place] = objects[other]
    return ordered


def _load(objects: Sequence[KubeObject], options: PodOptions, findings: Findings) -> LoadedPods:
    if options.run:
        objects = _in_order(objects, pod_history.created)
    owners = {owner for each in objects for owner in each.owners()}
    asked_about = {each.key for each in objects if each.input == options.about}
    standings = [pod_history.standing(each.value, options.node_name) for each in objects]
    is_of_a_node = not {PodStanding.ON_NODE, PodStanding.OTHER_NODE}.isdisjoint(standings)
    finished = set[str]()
    waiting = set[str]()
    ignored: Counter[Ignored] = Counter()
    pods: list[Pod] = []
    rejected: dict[str, RecordedRejection] = {}
    places: dict[str, Place] = {}
    # Pods may share a name in a manifest; the position makes their generated uids differ.
    positions: Counter[tuple[str, str, str]] = Counter()
    for each, standing in zip(objects, standings, strict=True):
        if standing is PodStanding.FINISHED:
            finished.add(str(each.member("metadata", "uid")))
        kube_objects.stop_after_many(findings, each.place)
        cause = _cause_to_ignore(each, owners, options, standing, is_of_a_node=is_of_a_node)
        if cause is None and options.about not in (None, each.input) and each.key in asked_about:
            cause = Ignored.ASKED_ABOUT
        if cause is not None:
            ignored[cause] += 1
        elif pod_templates.is_workload(each.kind):
            expanded = pod_templates.expand(each.kind, each.value, each.place, findings)
            pods.extend(expanded)
            of_template = pod_templates.template_place(each.kind, each.place)
            places |= {pod.uid: of_template for pod in expanded}
        else:
            identity = PodIdentity(
                position=positions[each.key],
                source=options.source,
                among_many=len(objects) >= _MANY,
            )
            positions[each.key] += 1
            pod = _decoded(each, identity, options, findings)
            reason = pod_history.rejection(each.value)
            if pod is not None and reason is not None:
                rejected[pod.uid] = reason
                pod = replace(pod, phase="Pending")
            if pod is not None and standing is PodStanding.NOT_SCHEDULED:
                waiting.add(pod.uid)
            if pod is not None:
                places[pod.uid] = each.place
                pods.append(pod)
    _check_one_node(pods, options, findings)
    _check_uids_differ(pods, findings)
    findings.raise_errors()
    _note_equal_names(pods, findings)
    counts = {cause: ignored[cause] for cause in Ignored if ignored[cause]}
    return LoadedPods(
        pods=tuple(pods),
        rejected=rejected,
        waiting=frozenset(waiting),
        finished=frozenset(finished),
        places=places,
        ignored=counts,
        notes=findings.all,
        kubelets=tuple(_kubelets(objects)),
    )


def _decoded(
    each: KubeObject, identity: PodIdentity, options: PodOptions, findings: Findings
) -> Pod | None:
    pod = pod_document.decode_pod(each.value, each.place, identity, findings)
    static_uid = pod_history.static_uid(each.value)
    if pod is not None and options.run and static_uid is not None:
        # The kubelet and its state files know the static pod, not its mirror.
        return replace(pod, uid=static_uid)
    return pod


def _kubelets(objects: Iterable[KubeObject]) -> Iterator[KubeletAtHand]:
    for each in objects:
        kubelet = kubelet_version.of_node(each.value, each.place) if each.kind == _NODE else None
        if kubelet is not None:
            yield kubelet


def _cause_to_ignore(
    each: KubeObject,
    owners: set[tuple[str, str, str]],
    options: PodOptions,
    standing: PodStanding,
    *,
    is_of_a_node: bool,
) -> Ignored | None:
    if each.kind in kube_objects.WITHOUT_PODS:
        return Ignored.WITHOUT_PODS
    if pod_templates.is_workload(each.kind):
        # Its pods are in the input too, under names that Kubernetes has given them.
        if each.key in owners:
            return Ignored.HAS_ITS_OWN_PODS
        node_name = each.member("spec", "template", "spec", "nodeName")
        standing = pod_standing.standing(None, node_name, options.node_name)
    is_asked = not each.listed if options.about is None else each.input == options.about
    is_asked = is_asked and not options.run
    if standing is PodStanding.FINISHED:
        # A rejected pod in question is read as new; in a listing it holds nothing.
        if not is_asked or pod_history.rejection(each.value) is None:
            return Ignored.FINISHED
        standing = pod_standing.standing(None, each.member("spec", "nodeName"), options.node_name)
    if standing is PodStanding.OTHER_NODE:
        return Ignored.OTHER_NODE
    is_alone = is_asked and (options.about is not None or not is_of_a_node)
    return Ignored.NOT_SCHEDULED if standing is PodStanding.NOT_SCHEDULED and not is_alone else None


def _check_one_node(pods: Sequence[Pod], options: PodOptions, findings: Findings) -> None:
    names = sorted({pod.node_name for pod in pods if pod.node_name})
    if options.node_name is None and len(names) > 1:
        findings.add(
            input_error.Conflict(
                f"the pods are on several nodes ({', '.join(names)}); choose one with --node-name"
            )
        )


def _check_uids_differ(pods: Sequence[Pod], findings: Findings) -> None:
    first: dict[str, Pod] = {}
    for pod in pods:
        other = first.setdefault(pod.uid, pod)
        if other is not pod:
            findings.add(
                input_error.Duplicate(
                    f"{pod} and {other} have the same uid {pod.uid!r}",
                    expected="a unique uid for each pod",
                )
            )


def _note_equal_names(pods: Sequence[Pod], findings: Findings) -> None:
    for name, count in Counter(map(str, pods)).items():
        if count > 1:
            findings.add(
                input_error.Assumed(
                    f"{count} pods have the name {name}; numalet treats them as different pods, "
                    "but a cluster has only one of a name: remove the others if they are there by "
                    "mistake",
                    severity=Severity.WARNING,
                )
            )
