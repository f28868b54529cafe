"""Containers of a running kubelet: cgroups found by container id, names by log links.

``/var/log/containers/POD_NAMESPACE_NAME-ID.log`` links to
``/var/log/pods/NAMESPACE_POD_UID/NAME/RESTARTS.log``. Kubelet v1.32: ``legacyLogSymlink``,
``BuildPodLogsDirectory``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.core.enforcement import cgroup_paths, comparison
from numalet.core.enforcement.comparison import Reality
from numalet.core.model.findings import BadInput
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value

CGROUPS: Final = Path("/sys/fs/cgroup")
LOGS: Final = Path("/var/log/containers")

_ID_DIGITS: Final = 64
_DEEPEST: Final = 4
"""Levels from the root of all pods to a container: class, pod, container, one spare."""


class NamedContainer(Value):
    key: ContainerKey
    namespace: str
    pod: str


def names(logs: Path = LOGS) -> Mapping[str, NamedContainer]:
    """Containers by id. A sandbox has no log link and is left out."""
    names = {}
    try:
        links = sorted(logs.iterdir())
    except OSError:
        return {}
    for link in links:
        # From the end, because pod and container names may contain the separator.
        container_id = link.name.removesuffix(".log")[-_ID_DIGITS:]
        named = _named(link)
        if named is not None and cgroup_paths.container_id(container_id):
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
    # Names in Kubernetes have no underscore, but a uid may.
    namespace, _, rest = folder.partition("_")
    pod, _, uid = rest.partition("_")
    return NamedContainer(ContainerKey(uid, container), namespace, pod) if uid else None


def trees(cgroups: Path = CGROUPS) -> tuple[CgroupTree, ...]:
    return tuple(
        CgroupTree(cgroups / each) for each in cgroup_paths.ROOTS if (cgroups / each).is_dir()
    )


def paths(tree: CgroupTree) -> Mapping[str, str]:
    return dict(_below(tree, "", 0, in_pod=False))


def _below(tree: CgroupTree, path: str, depth: int, *, in_pod: bool) -> Iterator[tuple[str, str]]:
    for name in tree.children(path) if depth < _DEEPEST else ():
        below = f"{path}/{name}" if path else name
        container_id = cgroup_paths.container_id(name) if in_pod else None
        if container_id is not None:
            yield container_id, below
        else:
            is_pod = in_pod or cgroup_paths.pod_uid(name) is not None
            yield from _below(tree, below, depth + 1, in_pod=is_pod)


def reality(tree: CgroupTree, path: str, page_sizes: Sequence[int]) -> Reality | None:
    """Read allowed CPUs, allowed nodes and pages, if the cgroup still exists.

    Both sets are empty without a cpuset controller.
    """
    try:
        sets = [
            interface_files.effective(tree, path, name)
            for name in (comparison.CPUS, comparison.MEMS)
        ]
        pages = interface_files.pages(tree, path, page_sizes)
    except (OSError, BadInput, ValueError):
        return None
    # A cgroup that is removed during the reads yields empty values instead of an error.
    if not tree.exists(path):
        return None
    return Reality(
        pages_bytes=pages,
        allowed_cpus=sets[0],
        allowed_nodes=tuple(sorted(sets[1])),
        cgroup=None,
        processes=0,
    )
