"""``numalet fleet`` from Python; each function returns the document of its command."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any, TypeAlias

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import input_error
from numalet.core.model.pod import Pod
from numalet.insight.fleet import evicting, moves
from numalet.insight.fleet import fit as fitting
from numalet.insight.fleet import traps as trapping
from numalet.insight.fleet.evicting import FreeQuestion
from numalet.insight.output import fleet_free_document, json_schema
from numalet.insight.python_api.nodes import choices
from numalet.insight.usecases import clusters
from numalet.insight.usecases.clusters import ClusterSources
from numalet.io.documents.pods import pod_shapes
from numalet.io.documents.pods.pod_shapes import PodShape

Paths: TypeAlias = str | PathLike[str] | Iterable[str | PathLike[str]]
Shape: TypeAlias = Pod | str | PathLike[str]
"""A pod, the path of a manifest or workload, or amounts such as ``nvidia.com/gpu=4,cpu=16``."""


def open_cluster(paths: Paths, *, class_file: str | PathLike[str] | None = None) -> Cluster:
    """Read a cluster from a dump (one path or several) or from a fleet file.

    ``class_file`` describes nodes that publish nothing, as ``--class`` of ``numalet fleet`` does.

    Raises:
        BadInput: a file cannot be read, or contains no nodes.
    """
    listed = [paths] if isinstance(paths, str | PathLike) else paths
    return clusters.open_cluster(
        ClusterSources(
            paths=[fspath(each) for each in listed],
            class_file=None if class_file is None else fspath(class_file),
        )
    )


def fit(cluster: Cluster, pod: Shape, count: int | None = None) -> dict[str, Any]:
    """Return how many copies of a pod fit now and where, as ``numalet fleet fit -o json``.

    ``count`` 0 means as many as fit; the default is the number of replicas of the workload.

    Raises:
        BadInput: the text names no pod.
    """
    shapes = _shapes(pod)
    # For the engine, no count means as many as fit.
    asked = [
        (each.name, each.pod, each.count if count is None else count or None) for each in shapes
    ]
    return json_schema.plain(fitting.fit_each(cluster, asked))


def traps(cluster: Cluster, pods: Iterable[Shape] = ()) -> dict[str, Any]:
    """Return nodes that seem free but fit none of these pods, as ``numalet fleet traps -o json``.

    The default pods are those that run or wait in the cluster.

    Raises:
        BadInput: a text names no pod.
    """
    # A text is iterable, and would be taken letter by letter.
    given = [pods] if isinstance(pods, str | PathLike | Pod) else pods
    shapes = [shape for each in given for shape in _shapes(each)]
    names = [each.name for each in shapes]
    answer = trapping.traps(cluster, [each.pod for each in shapes] or None, names=names)
    return json_schema.plain(answer)


def free(cluster: Cluster, pod: Shape, *, nodes: Iterable[str] = ()) -> dict[str, Any]:
    """Return which pods to evict so that this one fits, as ``numalet fleet free --plan -o json``.

    A workload means all its replicas; ``nodes`` limits the search to these nodes.

    Raises:
        BadInput: the text names no pod or several, or a node does not exist.
    """
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
    return json_schema.plain(fleet_free_document.of(cluster, shape.name, answer, plans))


def _shapes(pod: Shape) -> tuple[PodShape, ...]:
    if isinstance(pod, Pod):
        return (PodShape(pod.name, ClusterPod(pod=pod)),)
    return pod_shapes.load([fspath(pod)])
