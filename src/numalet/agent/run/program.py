"""The command under the state that runs share: in cgroups of its own making, to its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numalet.agent.host.cgroup_v2 import counters, writing
from numalet.agent.host.cgroup_v2.writing import SettingRefusal
from numalet.agent.host.runtime import starting
from numalet.agent.host.runtime.host_capabilities import HostCapabilities
from numalet.agent.host.runtime.port import NotStarted
from numalet.agent.host.runtime.watcher import begin, process_tree
from numalet.agent.host.runtime.watcher.begin import Setup
from numalet.agent.run import child, leftovers
from numalet.agent.run.child import EXIT_REFUSED, StartProblem
from numalet.agent.run.placing import Placed
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The exit status, and what is to be said about it."""

    status: int
    finding: Finding | None = None


def run(placed: Placed, command: tuple[str, ...], ground: HostCapabilities) -> CommandOutcome:
    """Run the command in its place, to its end; nothing of it is left."""
    try:
        refused = _enclose(placed, ground)
        if refused is not None:
            return CommandOutcome(EXIT_REFUSED, Finding(refused.code, refused.fields))
        begin.adopt_orphans()
        return _run(_setup(placed, command, ground), placed, ground)
    finally:
        leftovers.reap()
        if ground.tree is not None:
            leftovers.remove(ground.tree, placed.settings.path.rpartition("/")[0])


def _run(setup: Setup, placed: Placed, ground: HostCapabilities) -> CommandOutcome:
    with child.signals_held():
        started = child.start(setup, starting.score(placed.settings.oom_score_adj, ground))
        if isinstance(started, StartProblem):
            return not_started(child.why(started, setup))
        status = child.exit_status(child.accompany(started))
    return CommandOutcome(status, _killed_for_memory(status, placed, ground))


def not_started(why: NotStarted) -> CommandOutcome:
    """The outcome of a command that did not begin."""
    return CommandOutcome(child.EXITS.get(why.code, EXIT_REFUSED), Finding(why.code, why.fields))


def _enclose(placed: Placed, ground: HostCapabilities) -> SettingRefusal | None:
    """Make the cgroups of the pod and its container, with all settings in force."""
    tree, path = ground.tree, placed.settings.path
    if tree is None:
        return None
    try:
        tree.make(path)
    except OSError as error:
        fields = {"cgroup": path, "file": path, "value": "", "error": error.strerror or str(error)}
        return SettingRefusal(writing.REFUSED, fields)
    parent = path.rpartition("/")[0]
    for each, settings in ((parent, placed.above), (path, placed.settings.cgroup)):
        applied = writing.apply(tree, each, settings)
        if isinstance(applied, SettingRefusal):
            return applied
    return None


def _setup(placed: Placed, command: tuple[str, ...], ground: HostCapabilities) -> Setup:
    held, cgroup, tree = placed.placement, placed.settings.cgroup, ground.tree
    nodes = cgroup.memory_nodes if ground.binds_memory else None
    own = command_environment(
        cpu_set.text(cgroup.cpus or ()), cgroup.memory_nodes or held.memory_nodes, held.devices
    )
    return Setup(
        argv=command,
        env={**os.environ, **own, process_tree.MARK: placed.pod.uid},
        cgroup=None if tree is None else str(tree.folder(placed.settings.path)),
        cpus=None if tree is not None or not cgroup.cpus else tuple(sorted(cgroup.cpus)),
        memory_nodes=None if tree is not None or not nodes else nodes,
    )


def command_environment(
    cpus: str, memory_nodes: Iterable[int], devices: Mapping[str, Iterable[str]]
) -> dict[str, str]:
    """What a command finds in its environment of its place."""
    return {
        "NUMALET_CPUS": cpus,
        "NUMALET_MEMORY_NODES": cpu_set.text(memory_nodes),
        "NUMALET_DEVICES": ";".join(f"{name}={','.join(ids)}" for name, ids in devices.items()),
    }


def _killed_for_memory(status: int, placed: Placed, ground: HostCapabilities) -> Finding | None:
    if ground.tree is None or status != 128 + signal.SIGKILL:
        return None
    path = placed.settings.path
    if not counters.memory_events(ground.tree, path).kills:
        return None
    # The pod has the same limit as its only container, and the kernel counts where it was hit.
    pod = counters.memory_events(ground.tree, path.rpartition("/")[0])
    limit = placed.settings.cgroup.memory_max_bytes or 0
    return killed_for_memory(pod.limit_hits, limit, placed.placement.memory_nodes)


def killed_for_memory(limit_hits: int, limit_bytes: int, nodes: Iterable[int]) -> Finding:
    """What the kernel killed a command for."""
    code = "run/over-its-memory" if limit_hits else "run/nodes-exhausted"
    return Finding(code, {"limit_bytes": limit_bytes, "nodes": cpu_set.text(nodes)})
