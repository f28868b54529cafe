"""How attempts ended: the shim's record as a Kubernetes exit, or a substitute for it."""

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
    """The end of a program whose shim was killed; the kernel killed the program with it."""
    started = attempt.document(attempt_files.STARTED) or {}
    return {
        "code": _KILLED,
        "signal": int(signal.SIGKILL),
        "started_at": started.get("at"),
        "finished_at": stamp(),
        "unseen": True,
    }


def write_unknown(attempt: AttemptFolder) -> None:
    """Raises ``BadInput``."""
    attempt.write_end(unknown(attempt))


def kill(attempt: AttemptFolder, own: CgroupTree | None) -> None:
    """Kill the remains of an attempt whose shim has ended or does not answer.

    ``own`` is this agent's tree, which may differ from the attempt's.
    """
    started = attempt.document(attempt_files.STARTED) or {}
    order = attempt.document(attempt_files.LAUNCH) or {}
    shim = process_tree.process(int(started.get("shim", 0)))
    # A shim holds the lock while it lives; without this check its id may be another process's.
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
    # Compare the code, not the signal: a shell exits with 137 when its child was killed.
    if end.get("oom_kills", 0) > 0 and end["code"] == _KILLED:
        # Below its own limit, the program died because its NUMA nodes or the machine had no free
        # memory.
        hit = end.get("limit_hits", 0) > 0
        return ExitReason.OOM_KILLED, None if hit else RuntimeNodesExhausted()
    return (ExitReason.COMPLETED if end["code"] == 0 else ExitReason.ERROR), None
