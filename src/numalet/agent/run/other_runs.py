"""The other runs of a root folder.

``OtherRuns`` moves them with the shared pool and waits for their end. Remains of runs that ended
or were killed are removed. A run may lose part of its allocation, if the machine changed.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from numalet.agent.controller.run_holders import Holders, RunHolder
from numalet.agent.controller.shared_state import Content
from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.runtime import enforcement
from numalet.agent.host.runtime.attempts import RUNS, Attempts, AttemptState
from numalet.agent.host.runtime.shim import process_tree
from numalet.core.checkpoint import cpu_file
from numalet.core.enforcement.cgroup_settings import CgroupSettings
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location, Severity
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.core.workload.run import Cause
from numalet.insight.state import rebase
from numalet.insight.state.rebase import Lost
from numalet.shared.findings import recorded
from numalet.wording import numbers

NO_SESSION: Final = -1
_PATIENCE_SECONDS: Final = 30.0
_KILL_PAUSE_SECONDS: Final = 0.01
_CLASSES: Final = recorded.by_code(vars(rebase).values())
_PAUSE_SECONDS: Final = 0.25
_LONGEST_POLL_SECONDS: Final = 2**31 / 1000 - 1


def agents_programs(root: Path, content: Content) -> int:
    """Count running programs of an agent that has ended; this state has no entry for them."""
    own = {each.uid for each in (*content.live, *content.dead)}
    going_on = (AttemptState.STARTING, AttemptState.RUNNING)
    latest = Attempts(root / RUNS).latest()
    return sum(each.state() in going_on for each in latest if each.key.pod_uid not in own)


def still_running(root: Path, count: int, severity: Severity = Severity.ERROR) -> Finding:
    """The finding for programs of an agent that has stopped."""
    return input_error.Conflict(
        f"a stopped agent left {numbers.counted(count, 'program')} running with CPUs and memory "
        f"of {root}; start the agent again, or end them",
        where=Location(str(root)),
        severity=severity,
    )


def clear(holder: RunHolder, tree: CgroupTree | None, root: Path) -> None:
    """Kill the remains of a dead run; remove its cgroups and files."""
    process_tree.kill(process_tree.strays(NO_SESSION, holder.mark))
    if tree is not None and holder.path:
        remove(tree, holder.path.rpartition("/")[0])
    forget(holder.uid, root)


def forget(uid: str, root: Path) -> None:
    """Remove a run's attempt files."""
    # An agent removes files of unknown pods later, so an error is harmless.
    with suppress(OSError):
        Attempts(root / RUNS).remove(uid)


def remove(tree: CgroupTree, path: str) -> None:
    """Kill everything in a cgroup and remove it."""
    last = time.monotonic() + _PATIENCE_SECONDS
    try:
        tree.kill(path)
        # The kernel keeps a cgroup busy until killed processes are torn down.
        while not tree.remove(path) and time.monotonic() < last:
            time.sleep(_KILL_PAUSE_SECONDS)
    except OSError:
        # It remains; an agent or the next run removes it.
        return


def marked(holder: RunHolder, lost: Sequence[Lost]) -> RunHolder:
    """Mark a run that lost allocations; without its CPUs it uses the shared pool."""
    of_it = [each for each in lost if each.key == holder.key]
    if not of_it:
        return holder
    shares = holder.is_shared or any(each.file == cpu_file.FILE_NAME for each in of_it)
    causes = tuple(Cause.of(each.why) for each in of_it)
    return replace(holder, causes=causes, unpromised="", is_shared=shares)


def lost_allocation(holder: RunHolder) -> str:
    """Why the state does not cover everything that the run uses; empty if it does."""
    return recorded.sentences(_CLASSES, holder.causes) or holder.unpromised


class OtherRuns:
    def __init__(self, holders: Holders, tree: CgroupTree | None) -> None:
        self._holders = holders
        self._tree = tree

    def share(self, node: Node, live: Sequence[RunHolder]) -> None:
        """Set the shared pool for the runs that use it."""
        pool = CgroupSettings(cpus=node.snapshot.cpu.default or None)
        for each in live:
            if not each.is_shared:
                continue
            if self._tree is not None and self._has_cgroup(each):
                interface_files.apply(self._tree, each.path, pool)
            else:
                enforcement.move_all(self._processes(each) or (), pool)

    def refuse_unless_movable(self, before: Node, after: Node, live: Sequence[RunHolder]) -> None:
        """Raise ``BadInput`` if the pool shrinks and a run that uses it cannot be moved."""
        if before.snapshot.cpu.default <= after.snapshot.cpu.default:
            return
        shared = (each for each in live if each.is_shared)
        # Processes in another pid namespace are invisible here.
        unseen = [e for e in shared if not self._has_cgroup(e) and self._processes(e) is None]
        if unseen:
            raise BadInput(
                input_error.Conflict(
                    f"process {each.pid} ({each.command}) uses shared CPUs in another PID "
                    "namespace, and numalet cannot move it off the CPUs for this command; run this "
                    "command in that namespace or in the host's, or wait until the process ends"
                )
                for each in unseen
            )

    def wait(self, live: Sequence[RunHolder], seconds: float) -> None:
        """Sleep until one of these runs ends, at most this long."""
        if not live:
            return
        with ExitStack() as stack:
            poll = select.poll()
            unseen = []
            for each in live:
                descriptor = _pidfd(self._holders.pid_here(each))
                if descriptor is None:
                    unseen.append(each)
                else:
                    stack.callback(os.close, descriptor)
                    # After opening its pidfd: one that ended before would never wake the poll.
                    poll.register(descriptor, select.POLLIN)
                if not self._holders.is_alive(each):
                    return
            last = time.monotonic() + seconds
            # Without a pidfd, liveness has to be polled.
            longest = _PAUSE_SECONDS if unseen else _LONGEST_POLL_SECONDS
            while (left := last - time.monotonic()) > 0:
                if poll.poll(min(left, longest) * 1000):
                    return
                if not all(map(self._holders.is_alive, unseen)):
                    return

    def _has_cgroup(self, holder: RunHolder) -> bool:
        tree = self._tree
        return tree is not None and bool(holder.path) and tree.folder(holder.path).is_dir()

    def _processes(self, holder: RunHolder) -> tuple[int, ...] | None:
        """Pids of a run's processes, if they are visible here."""
        pid = self._holders.pid_here(holder)
        if pid is not None:
            return process_tree.offspring(pid)
        return process_tree.strays(NO_SESSION, holder.mark) or None


def _pidfd(pid: int | None) -> int | None:
    if pid is not None:
        with suppress(ProcessLookupError):
            return os.pidfd_open(pid)
    return None
