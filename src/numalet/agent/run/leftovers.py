"""Removes the remains of runs that have ended or were killed."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from numalet.agent.controller.holders import RunHolder
from numalet.agent.controller.shared_state import Content
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.runtime.attempts import RUNS, Attempts, AttemptState
from numalet.agent.host.runtime.shim import process_tree
from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Location, Severity
from numalet.wording import numbers

NO_SESSION: Final = -1
_PATIENCE_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 0.01


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
            time.sleep(_PAUSE_SECONDS)
    except OSError:
        # It remains; an agent or the next run removes it.
        return


def kill_descendants() -> None:
    """Kill the command's remaining processes; as subreaper, this process is their ancestor."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            # A killed process may have forked, so repeat until no child remains.
            process_tree.kill(process_tree.descendants(os.getpid()))
            time.sleep(_PAUSE_SECONDS)
