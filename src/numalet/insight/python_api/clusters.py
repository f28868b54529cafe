"""The questions of ``numalet fleet`` from Python; an answer is the document of its command."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any, TypeAlias

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model.findings import BadInput
from numalet.core.model.pod import Pod
from numalet.insight.fleet import fit as fitting
from numalet.insight.fleet import free_copies, moves
from numalet.insight.fleet import traps as trapping
from numalet.insight.fleet.free import FreeQuestion
from numalet.insight.output import fleet_fit_document, fleet_free_document, json_schema
from numalet.insight.output.fleet_fit_document import shape_name
from numalet.insight.python_api.arguments import choices
from numalet.insight.usecases import clusters
from numalet.insight.usecases.clusters import ClusterSources
from numalet.io.documents import pod_shapes
from numalet.io.documents.pod_shapes import PodShape
from numalet.io.findings.fleet import FleetNotOneShape

Paths: TypeAlias = str | PathLike[str] | Iterable[str | PathLike[str]]
Shape: TypeAlias = Pod | str | PathLike[str]
"""A pod, the path of a manifest or workload, or amounts such as ``nvidia.com/gpu=4,cpu=16``."""


def open_cluster(paths: Paths, *, class_file: str | PathLike[str] | None = None) -> Cluster:
    """The cluster of a dump (one path or several), or of a description of a fleet.

    ``class_file`` describes nodes that publish nothing, as ``--class`` of ``numalet fleet`` does.

    Raises:
        BadInput: a file cannot be read, or there are no nodes in it.
    """
    listed = [paths] if isinstance(paths, str | PathLike) else paths
    return clusters.open_cluster(
        ClusterSources(
            paths=[fspath(each) for each in listed],
            class_file=None if class_file is None else fspath(class_file),
        )
    )


def fit(cluster: Cluster, pod: Shape, count: int | None = None) -> dict[str, Any]:
    """How many copies of a pod fit now and where, as the document of ``numalet fleet fit``.

    ``count`` is 0 for as many as fit, and by default as many as the workload makes.

    Raises:
        BadInput: the text names no pod.
    """
    shapes = _shapes(pod)
    asked = [(each.pod, each.count if count is None else count or None) for each in shapes]
    answers = fitting.fit_each(cluster, asked)
    names = [each.name for each in shapes]
    return json_schema.plain(fleet_fit_document.of_fits(cluster, names, answers))


def traps(cluster: Cluster, pods: Iterable[Shape] = ()) -> dict[str, Any]:
    """Nodes that seem free and fit none of these pods, as the document of ``numalet fleet traps``.

    By default the pods are those that run or wait in the cluster.

    Raises:
        BadInput: a text names no pod.
    """
    given = [pods] if isinstance(pods, str | PathLike | Pod) else pods
    shapes = [shape for each in given for shape in _shapes(each)]
    answer = trapping.traps(cluster, [each.pod for each in shapes] or None)
    names = [each.name for each in shapes] or [shape_name(each) for each in answer.shapes]
    return json_schema.plain(fleet_fit_document.of_traps(cluster, answer, names))


def free(cluster: Cluster, pod: Shape, *, nodes: Iterable[str] = ()) -> dict[str, Any]:
    """Which pods must go so that this one fits, as the document of ``numalet fleet free --plan``.

    A workload means all its copies; ``nodes`` limits the question to these nodes.

    Raises:
        BadInput: the text names no pod or several, or a node is not there.
    """
    only = frozenset(choices("nodes", nodes, sorted(cluster.nodes)))
    shapes = _shapes(pod)
    if len(shapes) != 1:
        raise BadInput([FleetNotOneShape(value=str(pod), count=len(shapes))])
    (shape,) = shapes
    question = FreeQuestion(only=only)
    answer = free_copies.free_copies(cluster, shape.pod, shape.count, question)
    plans = [moves.plan(each.before, each.answer) for each in answer.copies]
    return json_schema.plain(fleet_free_document.of(cluster, shape.name, answer, plans))


def _shapes(pod: Shape) -> tuple[PodShape, ...]:
    if isinstance(pod, Pod):
        return (PodShape(pod.name, ClusterPod(pod=pod)),)
    return pod_shapes.load([fspath(pod)])
