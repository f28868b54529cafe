"""Runs the command in its place and cleans up after it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping

from numalet.agent.findings.run import RunNodesExhausted, RunOverItsMemory
from numalet.agent.host.runtime.port import NotStarted
from numalet.agent.host.runtime.shim import begin, process_tree, watch
from numalet.agent.host.runtime.shim.attempt_files import AttemptReport
from numalet.agent.host.runtime.shim.begin import Setup
from numalet.agent.host.runtime.shim.outputs import stamp
from numalet.agent.run import child, leftovers
from numalet.agent.run.child import EXIT_REFUSED, StartProblem
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.insight.output.run_document import RunDocument
from numalet.io import os_problem
from numalet.shared.findings.runtime import RuntimeStorage


class ReadyPlace(Value):
    setup: Setup
    oom_score_adj: int
    memory_max_bytes: int
    """The cgroup's limit, 0 without one; only to explain an OOM kill."""
    numa_nodes: tuple[int, ...]
    """Only to explain an OOM kill."""
    report: AttemptReport


class CommandOutcome(Value):
    """The exit status, and a finding for the user."""

    status: int
    finding: Finding | None = None


def run(ready: ReadyPlace) -> CommandOutcome:
    """Run the command to its end; nothing of it is left."""
    # The command's orphans become children of this process, so it can kill them.
    begin.adopt_orphans()
    with child.signals_held():
        try:
            return _run(ready)
        except OSError as error:
            return CommandOutcome(EXIT_REFUSED, RuntimeStorage(error=os_problem.text(error)))
        finally:
            leftovers.kill_descendants()


def _run(ready: ReadyPlace) -> CommandOutcome:
    cgroup, report = ready.setup.cgroup, ready.report
    before, since = watch.out_of_memory(cgroup), stamp()
    pid = child.start(ready.setup, ready.oom_score_adj)
    if isinstance(pid, StartProblem):
        report.not_started({"stage": pid.stage, "errno": pid.number})
        return _not_started(child.why(pid, ready.setup))
    process = process_tree.process(pid)
    ticks = 0 if process is None else process.started
    report.started({"pid": pid, "ticks": ticks, "at": since, "notes": []})
    status = child.accompany(pid)
    until = stamp()
    # Before the record of the end, after which an agent frees the CPUs.
    leftovers.kill_descendants()
    ended = watch.end_document(status, (since, until), cgroup, before)
    report.ended(ended)
    code = child.exit_status(status)
    if code != 128 + signal.SIGKILL or ended["oom_kills"] <= 0:
        return CommandOutcome(code)
    limit = ready.memory_max_bytes
    return CommandOutcome(code, _killed_for_memory(ended["limit_hits"], limit, ready.numa_nodes))


def _not_started(refused: NotStarted) -> CommandOutcome:
    return CommandOutcome(child.EXITS.get(type(refused.why), EXIT_REFUSED), refused.why)


def _killed_for_memory(limit_hits: int, limit_bytes: int, nodes: Iterable[int]) -> Finding:
    if limit_hits:
        return RunOverItsMemory(limit_bytes=limit_bytes)
    return RunNodesExhausted(nodes=cpu_set.text(nodes))


def environment(
    cpus: str, place: RunDocument, of_devices: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of the command: inherited, from devices, and about its place.

    ``cpus`` is a CPU list; ``of_devices`` has variables of device plugins.
    """
    devices = (f"{name}={','.join(ids)}" for name, ids in place.devices.items())
    return {
        **os.environ,
        **(of_devices or {}),
        "NUMALET_CPUS": cpus,
        "NUMALET_MEMORY_NODES": cpu_set.text(place.numa_nodes),
        "NUMALET_DEVICES": ";".join(devices),
    }
