"""A cluster from whatever has it: dumps of kubectl, folders, the standard input, a description.

A dump says which nodes there are and which pods run on them. Which machine and configuration a
node has it says only where the node publishes them; otherwise the user says it in a class file.
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
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.value import Value, field, replace
from numalet.insight.usecases import fleets
from numalet.insight.usecases.fleets import Fleet
from numalet.io.documents import cluster_dump, fleet_file, yaml_source


class ClusterNothingToRead(Finding):
    sentence = (
        "there are no nodes in {sources}; a dump is what 'kubectl get nodes,pods,pdb -A -o json' "
        "prints"
    )
    sources: str


class ClusterWithoutNodes(Finding):
    sentence = "the cluster at {server} has no nodes"
    server: str


class ClusterDescribedAndListed(Finding):
    sentence = (
        "{path!r} describes a fleet; it stands alone, or gives classes to the nodes of a dump with"
        " --class"
    )
    path: str


class ClusterSources(Value, kw_only=True):
    """What the user named: files, folders, or ``-``; one description of a fleet, or dumps.

    With ``is_description`` the one path is a description, whatever is in it; otherwise it is one by
    how it begins.
    ``class_file`` is a description whose pools say of which machine and configuration nodes of a
    dump are. ``pool_label`` is the label of nodes that names their pool.
    """

    paths: Sequence[str]
    class_file: str | None = None
    pool_label: str = building.POOL_LABEL
    is_description: bool = False


class OpenedCluster(Value):
    """A cluster, and what is known beside it: the classes of its nodes by name.

    ``published_seconds`` is when nodes changed their objects last, in seconds since 1970.
    """

    cluster: Cluster
    specs: Mapping[str, ClassSpec]
    published_seconds: Mapping[str, float] = field(default_factory=dict)


def open_cluster(sources: ClusterSources) -> Cluster:
    """The cluster, all that it holds in memory.

    Raises:
        BadInput: a file can not be read, or there are no nodes in it.
    """
    return opened(sources).cluster


def opened(sources: ClusterSources) -> OpenedCluster:
    """The cluster with what is known beside it.

    Raises:
        BadInput: a file can not be read, or there are no nodes in it.
    """
    yaml_source.refuse_second_reader((*sources.paths, sources.class_file or ""))
    with _without_collection():
        described = [
            path
            for path in sources.paths
            if sources.is_description or fleet_file.is_fleet_file(path)
        ]
        if described and len(sources.paths) > 1:
            raise BadInput([ClusterDescribedAndListed(path=described[0])])
        if described:
            fleet = fleets.load(described[0])
            return OpenedCluster(fleet.cluster(sources.pool_label), specs_of(fleet.rules()))
        listed = cluster_dump.load(sources.paths)
        if not listed.nodes:
            named = ", ".join(sources.paths)
            raise BadInput([ClusterNothingToRead(sources=named), *listed.notes])
        return listed_cluster(listed, sources)


def listed_cluster(listed: ClusterObjects, sources: ClusterSources) -> OpenedCluster:
    """The cluster of objects that were listed or read; ``paths`` say where.

    Raises:
        BadInput: the class file can not be read, or there are no nodes.
    """
    given = classes_of(sources)
    rules = given.rules()
    if not listed.nodes:
        raise BadInput([ClusterWithoutNodes(server=", ".join(sources.paths)), *listed.notes])
    return OpenedCluster(
        building.build(
            replace(listed, notes=(*given.notes, *listed.notes)), rules, sources.pool_label
        ),
        {**specs_of(rules), **listed.classes},
        {
            name: each.published_seconds
            for name, each in listed.states.items()
            if each.published_seconds is not None
        },
    )


def classes_of(sources: ClusterSources) -> Fleet:
    """What the class file describes; nothing if there is none.

    Raises:
        BadInput: it can not be read.
    """
    if sources.class_file is None:
        return Fleet(())
    return fleets.load(sources.class_file)


def specs_of(rules: Iterable[ClassRule]) -> dict[str, ClassSpec]:
    """The classes that rules can give nodes, by name: one for each release."""
    every = (
        replace(rule.spec, behaviour=replace(rule.spec.behaviour, release=release))
        for rule in rules
        for release in ((rule.release,) if rule.release is not None else RELEASES)
    )
    return {classes.class_name(each): each for each in every}


@contextmanager
def _without_collection() -> Iterator[None]:
    """Make many values that stay, and have none of them visited again and again meanwhile.

    A cluster has no cycles and lives as long as its command. The garbage collector would walk over
    a million objects several times while they are made, and once at each full collection after.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
