"""The other runs of a root folder: moves them with the shared pool, waits for their end."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Final

from numalet.agent.controller.holders import Holders, RunHolder
from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.runtime import inspection
from numalet.agent.host.runtime.shim import process_tree
from numalet.agent.run import leftovers
from numalet.core.enforcement.settings import CgroupSettings
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.core.node.node import Node

_PAUSE_SECONDS: Final = 0.25
_LONGEST_POLL_SECONDS: Final = 2**31 / 1000 - 1


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
                inspection.move_all(self._processes(each) or (), pool)

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
        return process_tree.strays(leftovers.NO_SESSION, holder.mark) or None


def _pidfd(pid: int | None) -> int | None:
    if pid is not None:
        with suppress(ProcessLookupError):
            return os.pidfd_open(pid)
    return None
