"""A cluster for Python programs: opened from dumps or live, asked by methods."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numalet.core.cluster.cluster import Cluster
from numalet.insight.python_api import clusters
from numalet.insight.python_api.arguments import checked
from numalet.insight.usecases.clusters import ClusterSources, listed_cluster


class Fleet(Cluster):
    """The nodes and pods of a cluster, and the answers of ``numalet fleet`` about them."""

    @classmethod
    def from_dump(
        cls, paths: clusters.Paths, *, class_file: str | PathLike[str] | None = None
    ) -> Fleet:
        """Read a cluster from a dump (one path or several) or from a fleet file.

        ``class_file`` describes nodes that publish nothing, as ``--class`` of ``numalet fleet``.

        Raises:
            BadInput: a file cannot be read, or contains no nodes.
        """
        return _fleet(clusters.open_cluster(paths, class_file=class_file))

    @classmethod
    def from_kubeconfig(
        cls,
        kubeconfig: str | PathLike[str] | None = None,
        *,
        context: str | None = None,
        class_file: str | PathLike[str] | None = None,
    ) -> Fleet:
        """Read the current objects of a live cluster.

        Without ``kubeconfig``, it is found as kubectl does. Needs the extra ``cluster``.

        Raises:
            BadInput: there is no such cluster, it does not answer, or the class file is unusable.
        """
        return _listed(kubeconfig, context, class_file)

    fit = clusters.fit
    traps = clusters.traps
    free = clusters.free
    why = clusters.why
    rejected = clusters.rejected

    if TYPE_CHECKING:

        def to_rows(self) -> list[dict[str, Any]]:
            """Rows for a data frame, one for each node."""
            return []

        def _repr_html_(self) -> str:
            return ""


def _fleet(cluster: Cluster) -> Fleet:
    return Fleet(**{each.name: getattr(cluster, each.name) for each in fields(Cluster)})


@checked
def _listed(
    kubeconfig: str | PathLike[str] | None,
    context: str | None,
    class_file: str | PathLike[str] | None,
) -> Fleet:
    # The client of the API server is imported late: a dump needs none.
    from numalet.io.kube_api import access, api_objects

    server = access.of(None if kubeconfig is None else Path(kubeconfig), context)
    # A notebook has a running event loop, in which no other can run.
    with ThreadPoolExecutor(1) as thread:
        objects = thread.submit(asyncio.run, api_objects.listed(server)).result()
    described = None if class_file is None else fspath(class_file)
    sources = ClusterSources(paths=[server.server], class_file=described)
    return _fleet(listed_cluster(objects, sources).cluster)
