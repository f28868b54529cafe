"""How attempts ended: what their shims wrote, in Kubernetes' words, and what to do without."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any, Final

from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.runtime import cgroups
from numalet.agent.host.runtime.attempts import AttemptFolder, moment
from numalet.agent.host.runtime.shim import attempt_files, process_tree
from numalet.agent.host.runtime.shim.outputs import stamp
from numalet.core.model.findings import Finding
from numalet.core.workload.run import Cause, Exit, ExitReason
from numalet.shared.findings.runtime import RuntimeNodesExhausted, RuntimeShimGone

_KILLED: Final = 128 + signal.SIGKILL


def of(attempt: AttemptFolder) -> Exit:
    """The end of an attempt that ended."""
    document = attempt.document(attempt_files.END)
    end = unknown(attempt) if document is None else document
    finished = moment(end["finished_at"])
    assert finished is not None
    reason, why = _reason(end)
    return Exit(
        code=end["code"],
        reason=reason,
        finished_at=finished,
        started_at=moment(end.get("started_at")),
        signal=end.get("signal"),
        cause=None if why is None else Cause.of(why),
    )


def unknown(attempt: AttemptFolder) -> Mapping[str, Any]:
    """The end of a program whose shim was killed: the kernel killed the program with it."""
    started = attempt.document(attempt_files.STARTED) or {}
    return {
        "code": _KILLED,
        "signal": int(signal.SIGKILL),
        "started_at": started.get("at"),
        "finished_at": stamp(),
        "unseen": True,
    }


def write_unknown(attempt: AttemptFolder) -> None:
    """Write an end that was not observed into the attempt's folder. Raises ``BadInput``."""
    attempt.write_end(unknown(attempt))


def kill(attempt: AttemptFolder, own: CgroupTree | None) -> None:
    """Kill what may be left of an attempt whose shim is gone or does not answer.

    ``own`` is our tree, which is not always that of the attempt.
    """
    started = attempt.document(attempt_files.STARTED) or {}
    order = attempt.document(attempt_files.LAUNCH) or {}
    shim = process_tree.process(int(started.get("shim", 0)))
    if shim is not None and attempt.lock_is_held():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(shim.pid, signal.SIGKILL)
    tree = cgroups.tree_of(order, own)
    if tree is not None and "path" in order:
        with contextlib.suppress(OSError):
            tree.kill(order["path"])
    process_tree.kill(process_tree.strays(int(started.get("pid", -1)), attempt.mark))


def _reason(end: Mapping[str, Any]) -> tuple[ExitReason, Finding | None]:
    if end.get("unseen"):
        return ExitReason.UNKNOWN, RuntimeShimGone()
    # A shell exits with 137 when a program of its own was killed.
    if end.get("oom_kills", 0) > 0 and end["code"] == _KILLED:
        # The limit was not hit: the NUMA nodes it is bound to, or the machine, were exhausted.
        hit = end.get("limit_hits", 0) > 0
        return ExitReason.OOM_KILLED, None if hit else RuntimeNodesExhausted()
    return (ExitReason.COMPLETED if end["code"] == 0 else ExitReason.ERROR), None
