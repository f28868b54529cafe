"""The containers of a kubelet as the kernel has them, with the names that its log folder gives.

A cgroup knows a container by its id alone. The kubelet keeps a link for each container's log,
``/var/log/containers/POD_NAMESPACE_NAME-ID.log``, to
``/var/log/pods/NAMESPACE_POD_UID/NAME/RESTARTS.log``: so an id has a name. What has no such link,
as the container that only holds a pod's namespaces, is none that a kubelet promised something to.
Kubelet v1.32: ``legacyLogSymlink``, ``BuildPodLogsDirectory``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from numalet.agent.host.cgroup_v2 import counters, reading
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.core.enforcement import drift, kubepods
from numalet.core.enforcement.reality import Reality
from numalet.core.model.findings import BadInput
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value

CGROUPS: Final = Path("/sys/fs/cgroup")
LOGS: Final = Path("/var/log/containers")

_ID_DIGITS: Final = 64
_DEEPEST: Final = 4
"""Levels from the root of all pods to a container: class, pod, container, and one to spare."""


class NamedContainer(Value):
    """A container by name, and its pod's."""

    key: ContainerKey
    namespace: str
    pod: str


def names(logs: Path = LOGS) -> Mapping[str, NamedContainer]:
    """Containers by their id, as far as there are links to their logs."""
    names = {}
    try:
        links = sorted(logs.iterdir())
    except OSError:
        return {}
    for link in links:
        container_id = link.name.removesuffix(".log")[-_ID_DIGITS:]
        named = _named(link)
        if named is not None and kubepods.container_id(container_id):
            names[container_id] = named
    return names


def _named(link: Path) -> NamedContainer | None:
    try:
        target = link.readlink()
    except OSError:
        return None
    if len(target.parts) < 3:
        return None
    folder, container = target.parts[-3:-1]
    # No name in Kubernetes has an underscore, but a uid may.
    namespace, _, rest = folder.partition("_")
    pod, _, uid = rest.partition("_")
    return NamedContainer(ContainerKey(uid, container), namespace, pod) if uid else None


def trees(cgroups: Path = CGROUPS) -> tuple[CgroupTree, ...]:
    """The trees of all pods that are there."""
    return tuple(CgroupTree(cgroups / each) for each in kubepods.ROOTS if (cgroups / each).is_dir())


def paths(tree: CgroupTree) -> Mapping[str, str]:
    """The cgroups of containers by the containers' ids."""
    return dict(_below(tree, "", 0, in_pod=False))


def _below(tree: CgroupTree, path: str, depth: int, *, in_pod: bool) -> Iterator[tuple[str, str]]:
    for name in tree.children(path) if depth < _DEEPEST else ():
        below = f"{path}/{name}" if path else name
        container_id = kubepods.container_id(name) if in_pod else None
        if container_id is not None:
            yield container_id, below
        else:
            is_pod = in_pod or kubepods.pod_uid(name) is not None
            yield from _below(tree, below, depth + 1, in_pod=is_pod)


def reality(tree: CgroupTree, path: str, page_sizes: Sequence[int]) -> Reality | None:
    """What is in force for a container, and where its pages are; None if it is gone.

    The sets are the cgroup's effective ones; they are empty where there is no cpuset controller.
    """
    try:
        sets = [reading.effective(tree, path, name) for name in (drift.CPUS, drift.MEMS)]
        pages = counters.pages(tree, path, page_sizes)
    except (OSError, BadInput, ValueError):
        return None
    if not tree.exists(path):
        return None
    return Reality(
        pages_bytes=pages,
        allowed_cpus=sets[0],
        allowed_nodes=tuple(sorted(sets[1])),
        cgroup=None,
        processes=0,
    )
