"""Read a cluster from dumps of kubectl, folders, the standard input, or a fleet file.

A dump contains the machine and configuration of a node only if the node publishes them; otherwise a
class file describes them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from numalet.core.cluster import building, classes
from numalet.core.cluster.building import ClassRule
from numalet.core.cluster.classes import ClassSpec
from numalet.core.cluster.cluster import Cluster
from numalet.core.cluster.objects import ClusterObjects
from numalet.core.config.releases.table import RELEASES
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value, field, replace
from numalet.insight.usecases import fleets
from numalet.insight.usecases.fleets import Fleet
from numalet.io.documents.cluster import cluster_dump, fleet_file
from numalet.io.documents.text import yaml_source


class ClusterSources(Value, kw_only=True):
    """The paths of the user: files, folders, or ``-``; one fleet file, or dumps.

    With ``is_description`` the one path is a fleet file; otherwise its first lines decide.
    ``class_file`` is a fleet file whose pools describe the machine and configuration of nodes of a
    dump. ``pool_label`` is the node label with the name of the pool.
    """

    paths: Sequence[str]
    class_file: str | None = None
    pool_label: str = building.POOL_LABEL
    is_description: bool = False


class OpenedCluster(Value):
    """A cluster and the classes of its nodes by name.

    ``published_seconds`` is when nodes last changed their objects, in seconds since 1970.
    """

    cluster: Cluster
    specs: Mapping[str, ClassSpec]
    published_seconds: Mapping[str, float] = field(default_factory=dict)


def open_cluster(sources: ClusterSources) -> Cluster:
    """Read a cluster into memory.

    Raises:
        BadInput: a file cannot be read, or contains no nodes.
    """
    return opened(sources).cluster


def opened(sources: ClusterSources) -> OpenedCluster:
    """Read a cluster with the classes of its nodes.

    Raises:
        BadInput: A file cannot be read, or contains no nodes.
    """
    yaml_source.refuse_second_reader((*sources.paths, sources.class_file or ""))
    with _without_collection():
        described = [
            path
            for path in sources.paths
            if sources.is_description or fleet_file.is_fleet_file(path)
        ]
        if described and len(sources.paths) > 1:
            raise input_error.Conflict(
                f"{described[0]!r} is a fleet file and cannot be combined with dumps; name it "
                "alone, or use it with --class to describe the nodes of a dump"
            ).bad_input()
        if described:
            fleet = fleets.load(described[0])
            return OpenedCluster(fleet.cluster(sources.pool_label), specs_of(fleet.rules()))
        listed = cluster_dump.load(sources.paths)
        if not listed.nodes:
            none = input_error.NotFound(
                f"no nodes in {', '.join(sources.paths)}; write a dump with "
                "'kubectl get nodes,pods,pdb -A -o json'"
            )
            raise BadInput([none, *listed.notes])
        return listed_cluster(listed, sources)


def listed_cluster(listed: ClusterObjects, sources: ClusterSources) -> OpenedCluster:
    """Build the cluster from objects that were listed or read; ``paths`` are their sources.

    Raises:
        BadInput: The class file cannot be read, or the cluster has no nodes.
    """
    given = classes_of(sources)
    rules = given.rules()
    if not listed.nodes:
        none = input_error.NotFound(f"the cluster at {', '.join(sources.paths)} has no nodes")
        raise BadInput([none, *listed.notes])
    return OpenedCluster(
        building.build(
            replace(listed, notes=(*given.notes, *listed.notes)), rules, sources.pool_label
        ),
        # Published classes override those of the class file.
        {**specs_of(rules), **listed.classes},
        {
            name: each.published_seconds
            for name, each in listed.states.items()
            if each.published_seconds is not None
        },
    )


def classes_of(sources: ClusterSources) -> Fleet:
    """Read the class file; without a class file the fleet is empty.

    Raises:
        BadInput: It cannot be read.
    """
    if sources.class_file is None:
        return Fleet(())
    return fleets.load(sources.class_file)


def specs_of(rules: Iterable[ClassRule]) -> dict[str, ClassSpec]:
    """Return the classes of these rules by name: one for each release."""
    every = (
        replace(rule.spec, behaviour=replace(rule.spec.behaviour, release=release))
        for rule in rules
        if rule.spec is not None
        for release in ((rule.release,) if rule.release is not None else RELEASES)
    )
    return {classes.class_name(each): each for each in every}


@contextmanager
def _without_collection() -> Iterator[None]:
    """Disable the garbage collector while many long-lived values are created."""
    # A cluster has no cycles and lives as long as its command. The collector would walk over a
    # million objects several times, and, without the freeze, again in each full collection.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
