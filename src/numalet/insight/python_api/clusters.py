"""``numalet fleet`` from Python: the document of each command, with rows for a data frame."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import TypeAlias

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.insight.fleet import evicting, moves, named_pod
from numalet.insight.fleet import fit as fitting
from numalet.insight.fleet import rejected as rejecting
from numalet.insight.fleet import traps as trapping
from numalet.insight.fleet.evicting import FreeQuestion
from numalet.insight.output import (
    fleet_free_document,
    fleet_rows,
    fleet_why_document,
    fleet_why_text,
    json_schema,
)
from numalet.insight.python_api import tables
from numalet.insight.python_api.arguments import at_least, checked, require
from numalet.insight.python_api.nodes import choices
from numalet.insight.python_api.pictures import FleetPicture
from numalet.insight.python_api.tables import Answer
from numalet.insight.usecases import clusters
from numalet.insight.usecases.clusters import ClusterSources
from numalet.io.documents.pods import pod_shapes
from numalet.io.documents.pods.pod_shapes import PodShape

Paths: TypeAlias = str | PathLike[str] | Iterable[str | PathLike[str]]
Shape: TypeAlias = Pod | str | PathLike[str]
"""A pod, the path of a manifest or workload, or amounts such as ``nvidia.com/gpu=4,cpu=16``."""


@checked
def open_cluster(paths: Paths, *, class_file: str | PathLike[str] | None = None) -> Cluster:
    """Read a cluster from a dump (one path or several) or from a fleet file.

    ``class_file`` describes nodes that publish nothing, as ``--class`` of ``numalet fleet`` does.

    Raises:
        BadInput: a file cannot be read, or contains no nodes.
    """
    listed = [paths] if isinstance(paths, str | PathLike) else [*paths]
    require(paths=listed)
    return clusters.open_cluster(
        ClusterSources(
            paths=[fspath(each) for each in listed],
            class_file=None if class_file is None else fspath(class_file),
        )
    )


@checked
def fit(cluster: Cluster, pod: Shape, count: int | None = None) -> Answer:
    """Return how many copies of a pod fit now and where, as ``numalet fleet fit -o json``.

    ``count`` 0 means as many as fit; the default is the number of replicas of the workload.

    Raises:
        BadInput: the text names no pod, or the count is negative.
    """
    if count is not None:
        at_least(0, count=count)
    shapes = _shapes(pod)
    # For the engine, no count means as many as fit.
    asked = [
        (each.name, each.pod, each.count if count is None else count or None) for each in shapes
    ]
    answer = fitting.fit_each(cluster, asked)
    rows = tables.of_table(fleet_rows.fits(answer.shapes))
    nodes = frozenset(name for each in answer.shapes for name in each.nodes_that_fit)
    picture = FleetPicture(cluster, tuple(each.pod for each in shapes), nodes)
    return Answer("Fit", json_schema.plain(answer), rows, picture)


@checked
def traps(cluster: Cluster, pods: Shape | Iterable[Shape] = ()) -> Answer:
    """Return nodes that seem free but fit none of these pods, as ``numalet fleet traps -o json``.

    The default pods are those that run or wait in the cluster.

    Raises:
        BadInput: a text names no pod.
    """
    # A text is iterable, and would be taken letter by letter.
    given = [pods] if isinstance(pods, str | PathLike | Pod) else pods
    shapes = [shape for each in given for shape in _shapes(each)]
    names = [each.name for each in shapes]
    asked = tuple(each.pod for each in shapes) or None
    answer = trapping.traps(cluster, asked, names=names)
    rows = tables.of_table(fleet_rows.traps(answer))
    return Answer("Traps", json_schema.plain(answer), rows, FleetPicture(cluster, asked))


@checked
def free(cluster: Cluster, pod: Shape, *, nodes: Iterable[str] = ()) -> Answer:
    """Return which pods to evict so that this one fits, as ``numalet fleet free --plan -o json``.

    A workload means all its replicas; ``nodes`` limits the search to these nodes.

    Raises:
        BadInput: the text names no pod or several, or a node does not exist or is undecided.
    """
    unknown = [cluster.undecided[each] for each in nodes if each in cluster.undecided]
    if unknown:
        raise BadInput(each.why for each in unknown)
    only = frozenset(choices("nodes", nodes, sorted(cluster.nodes)))
    shapes = _shapes(pod)
    if len(shapes) != 1:
        raise input_error.Invalid(
            f"{str(pod)!r} contains {len(shapes)} pod shapes",
            expected="a file with one shape, or a list of amounts",
        ).bad_input()
    (shape,) = shapes
    question = FreeQuestion(only=only)
    answer = evicting.free_copies(cluster, shape.pod, shape.count, question)
    plans = [moves.plan(each.before, each.answer) for each in answer.copies]
    document = fleet_free_document.of(cluster, shape.name, answer, plans)
    rows = tables.of_table(fleet_rows.free(answer))
    best = next((each.answer.best for each in answer.copies if each.answer.best), None)
    picture = FleetPicture(cluster, (shape.pod,)) if best is None else cluster.nodes[best.name].node
    return Answer("Pods to evict", json_schema.plain(document), rows, picture)


@checked
def why(cluster: Cluster, pod: str) -> Answer:
    """Return why a pod was rejected and where it fits now, as ``numalet fleet why -o json``.

    Args:
        cluster: the cluster.
        pod: ``NAMESPACE/NAME``, a name or a uid of a pod of this cluster.

    Raises:
        BadInput: there is no such pod, or several have the name.
    """
    named = named_pod.find(cluster, pod)
    answer = fleet_why_document.of(cluster, named)
    rows = tables.of_table(fleet_rows.fits([] if answer.fit is None else [answer.fit]))
    picture: FleetPicture | Node | None = None
    if answer.fit is not None:
        picture = FleetPicture(cluster, (named,), frozenset(answer.fit.nodes_that_fit))
    elif named.pod.node_name in cluster.nodes:
        picture = cluster.nodes[named.pod.node_name].node
    title = "\n".join(each.text for each in fleet_why_text.sentences(answer))
    return Answer(title, json_schema.plain(answer), rows, picture)


@checked
def rejected(cluster: Cluster) -> Answer:
    """Return the pods that kubelets rejected, as ``numalet fleet rejected -o json``."""
    answer = rejecting.rejected(cluster)
    rows = tables.of_table(fleet_rows.rejected(answer))
    pods = tuple(each for each in cluster.pods.values() if each.was_rejected)
    nodes = frozenset(name for each in answer.groups for name in each.fits_on)
    picture = FleetPicture(cluster, pods, nodes)
    return Answer("Rejected pods", json_schema.plain(answer), rows, picture)


def _shapes(pod: Shape) -> tuple[PodShape, ...]:
    if isinstance(pod, Pod):
        return (PodShape(pod.name, ClusterPod(pod=pod)),)
    return pod_shapes.load([fspath(pod)])
