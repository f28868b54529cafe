"""Where a kubelet's configuration comes from, with the kubelets that the rest of the input shows.

So that its release is followed where none is named: a Node object among the documents, or a
kubelet that runs on this machine if that is the machine that is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from numalet.core.model.value import replace
from numalet.io import kubelet_program, kubelets
from numalet.io.documents.kubelet_config import ConfigSources
from numalet.io.documents.kubelet_version import KubeletAtHand, ShownBy
from numalet.io.kubelets import KubeletProcess

_COMMAND_LINE: Final = re.compile(r"/proc/([0-9]+)/cmdline")


def with_kubelets(
    sources: ConfigSources,
    *,
    is_live: bool,
    shown: Iterable[KubeletAtHand] = (),
    node_name: str = "",
    root: Path | None = None,
    proc: Path = kubelets.PROC,
) -> ConfigSources:
    """The sources with every kubelet that the input shows.

    Args:
        sources: what the user named.
        is_live: whether this machine is asked about, on which a kubelet may run.
        shown: the kubelets of Node objects.
        node_name: the name of the node, if it is known; other nodes' kubelets do not count.
        root: what may be the root directory of a kubelet.
        proc: the proc file system.
    """
    nodes = (each for each in shown if node_name in ("", each.node))
    running = map(of_process, _processes(sources, root, proc, is_live=is_live))
    return replace(sources, kubelets=(*sources.kubelets, *nodes, *running))


def of_process(process: KubeletProcess) -> KubeletAtHand:
    """The kubelet that this process is; its program is read, and never executed."""
    version = kubelet_program.version(process.folder / "exe")
    return KubeletAtHand(version, ShownBy.PROCESS, f"the program of {process.who}")


def _processes(
    sources: ConfigSources, root: Path | None, proc: Path, *, is_live: bool
) -> Iterator[KubeletProcess]:
    """The kubelet that the input names by its command line or its directory, or the only one."""
    named = _COMMAND_LINE.fullmatch(str(sources.config_file))
    if named is not None:
        yield from (each for each in kubelets.processes(proc) if each.pid == int(named[1]))
        return
    beside = None if root is None else kubelets.process_of(root, proc)
    if beside is not None:
        yield beside
    elif is_live:
        here = [*kubelets.processes(proc)]
        yield from here if len(here) == 1 else ()
