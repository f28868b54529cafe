"""The agent's process: signals, log, sockets, readiness, garbage collection."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from typing import Any, Final, Protocol

from numalet.agent.controller import owners, wiring
from numalet.agent.controller.controller import Controller
from numalet.agent.controller.decisions import TracedDecision
from numalet.agent.controller.owners import Owner
from numalet.agent.controller.plugins import PluginServers, make_plugin_servers
from numalet.agent.controller.settings import (
    AgentSettings,
    OwnerChoice,
    RuntimeKind,
    enforcing,
    observing,
)
from numalet.agent.controller.shortage import Shortage
from numalet.agent.controller.wiring import Hooks
from numalet.agent.host import logs
from numalet.agent.servers.dashboard import DashboardLinks
from numalet.agent.servers.door import AgentView, Door, OwnershipMode
from numalet.agent.telemetry import kubelet_log
from numalet.core.model import input_error
from numalet.core.model.findings import Finding
from numalet.io import tasks
from numalet.io.files import atomic
from numalet.shared.web.http_service import LoopLog
from numalet.wording import log_line
from numalet.wording.log_line import LogFormat, LogLine

_SWITCH_SECONDS: Final = 0.0005
"""Interpreter switch interval; see ``run``."""


class WorkBeside(Protocol):
    """Work that runs next to a ready agent."""

    def __call__(
        self, door: Door, settings: AgentSettings, report: Callable[[Finding], None]
    ) -> AbstractAsyncContextManager[None]:
        """A context that runs with the agent; it reports errors and never ends the agent."""
        ...


def run(settings: AgentSettings, beside: WorkBeside | None = None) -> None:
    """Run until SIGTERM or SIGINT. Raises ``BadInput`` if it cannot start."""
    # The writing thread needs the interpreter after every file. With the default of 5 ms, clients
    # would wait that long several times per write.
    sys.setswitchinterval(_SWITCH_SECONDS)
    _raise_open_files_limit()
    atomic.share_out()
    asyncio.run(_run(settings, beside))


def _raise_open_files_limit() -> None:
    """Raise the soft limit: each container and client needs descriptors.

    Programs get the original limit (``starting``), since ``select`` fails above 1,024.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _run(settings: AgentSettings, beside: WorkBeside | None) -> None:
    log = logs.to_stderr(LogFormat(settings.log_format), settings.verbosity)
    others = _others(settings)
    asked, settings = settings, _standing(settings, others)
    log.write([log_line.of_finding(each) for each in settings.notes if each not in asked.notes])
    for each in others:
        log.write(
            [
                log_line.of_finding(
                    input_error.Conflict(
                        f"{each.who} already pins CPUs or memory, so the agent only observes"
                    )
                )
            ]
        )
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)

    def log_finding(finding: Finding) -> None:
        log.write([log_line.of_finding(finding)])

    def broke(bug: Exception) -> None:
        _log_bug(log, "A request to the API failed", bug)

    def complain(message: str, keys: Mapping[str, Any]) -> None:
        log.write([LogLine(message, keys, is_error=True)])

    shortage = Shortage(log_finding, LoopLog(complain).handle)
    loop.set_exception_handler(shortage.handle)
    hooks = _hooks(log, shortage, loop)
    plugin_servers = _plugin_servers(settings, log)
    async with wiring.opened(settings, hooks, plugin_servers) as controller:
        log.write(_begun(controller.view()))
        async with (
            _plugins_served(plugin_servers, controller, settings),
            _served(controller, settings, broke) as lines,
        ):
            # systemd starts dependent units at READY=1; these may submit pods, so the sources of
            # pods must be complete.
            await _ready(controller)
            log.write(lines)
            # Before readiness, while a long collection delays no client.
            freeze_start_objects()
            notify_systemd("READY=1")
            log.write([LogLine("Agent is ready", {"root": str(settings.root)})])
            async with (
                tasks.beside(collect_garbage_when_quiet(controller.changed)),
                nullcontext() if beside is None else beside(controller, settings, log_finding),
            ):
                await stopped.wait()
            notify_systemd("STOPPING=1")
            # Before the plugins disconnect: a call that fails later would be reported as a refusal.
            await controller.stop()
            log.write([LogLine("Agent stops; programs keep running")])


def _hooks(log: logs.LeveledLog, shortage: Shortage, loop: asyncio.AbstractEventLoop) -> Hooks:
    def write_decision(traced: TracedDecision) -> None:
        log.write(kubelet_log.of_admission(traced.rules, traced.decision, traced.recording))

    def log_decision(traced: TracedDecision) -> None:
        # Answer the client before formatting the log lines.
        loop.call_soon(write_decision, traced)

    def log_findings(findings: Sequence[Finding]) -> None:
        log.write([log_line.of_finding(each) for each in findings])

    def misread(bug: Exception) -> None:
        # Files are read in a thread.
        loop.call_soon_threadsafe(_log_bug, log, "A bug in reading a manifest file", bug)

    return Hooks(
        on_decision=log_decision,
        on_findings=log_findings,
        log=log.write,
        report_bug=misread,
        shortage=shortage,
    )


def _log_bug(log: logs.LeveledLog, message: str, bug: Exception) -> None:
    trace = "".join(traceback.format_exception(bug))
    log.write([LogLine(message, {"err": trace}, is_error=True)])


def _plugin_servers(settings: AgentSettings, log: logs.LeveledLog) -> PluginServers | None:
    """Plugin servers, unless a kubelet is observed: plugins register with it."""
    if settings.observe:
        return None
    servers = make_plugin_servers(settings.premises.devices, settings.asking)
    servers.relay.log = lambda line: log.write([line])
    return servers


@asynccontextmanager
async def _served(
    controller: Controller, settings: AgentSettings, broke: Callable[[Exception], None]
) -> AsyncIterator[list[LogLine]]:
    """Serve the API on all configured addresses; yield log lines."""
    links = DashboardLinks()
    async with (
        wiring.served(controller, settings, broke, links),
        wiring.reached(controller, settings, broke, links) as serving,
    ):
        if serving is None:
            yield []
            return
        where = {"url": serving.url, "kubeconfig": str(serving.kubeconfig)}
        yield [LogLine("Serving kubectl", where)]


@asynccontextmanager
async def _plugins_served(
    plugin_servers: PluginServers | None, controller: Controller, settings: AgentSettings
) -> AsyncIterator[None]:
    """Next to another owner, plugins and monitors talk to that owner."""
    if plugin_servers is None:
        yield
        return
    async with plugin_servers.served(controller, settings.root):
        yield


async def _ready(controller: Controller) -> None:
    """Wait until every source of pods is ready."""
    while not controller.view().ready:
        await controller.changed()


def _others(settings: AgentSettings) -> tuple[Owner, ...]:
    """Other managers, unless the machine is only described."""
    if settings.runtime is not RuntimeKind.PROCESS:
        return ()
    return owners.find(owners.beside(settings.kubelet_root))


def _standing(settings: AgentSettings, others: Sequence[Owner]) -> AgentSettings:
    match settings.ownership:
        case OwnerChoice.OBSERVE:
            return observing(settings)
        case OwnerChoice.ENFORCE:
            # Even if the administrator chose it: a static kubelet and the agent would undo each
            # other's cpusets at every resync.
            owners.refuse_to_enforce(tuple(others))
            return enforcing(settings)
        case OwnerChoice.AUTO:
            return observing(settings) if others else enforcing(settings)


def _begun(view: AgentView) -> list[LogLine]:
    """Log lines about managers and guarantee."""
    policies = kubelet_log.of_start(view.node.rules)
    if view.standing is OwnershipMode.OBSERVING:
        return policies
    return [*policies, *kubelet_log.of_guarantee(view.level, view.notes)]


_NOTIFY_SOCKET: Final = "NOTIFY_SOCKET"


def notify_systemd(state: str) -> None:
    """Send a state such as ``READY=1``, if systemd set a socket; see ``sd_notify(3)``."""
    address = os.environ.get(_NOTIFY_SOCKET, "")
    if not address.startswith(("/", "@")):
        return
    # "@" stands for an abstract socket, which has a leading zero byte.
    if address.startswith("@"):
        address = "\0" + address[1:]
    with (
        suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender,
    ):
        sender.connect(address)
        sender.sendall(state.encode())


# A full collection takes tens of milliseconds with a thousand pods, and by default Python runs it
# after every growth by a quarter, so during load. Under load, only young objects are collected.
_YOUNG: Final = 10_000
"""New objects per collection."""
_SELDOM: Final = 1_000
"""An automatic collection of older generations needs ten million objects."""
_QUIET_SECONDS: Final = 1.0
"""Longer than the pauses of a sequential client."""
_LONGEST_BUSY_SECONDS: Final = 300.0
"""Collect after this time even without a quiet second."""
_MOST_OFTEN_SECONDS: Final = 60.0
"""Bounds the cost of full collections."""


def freeze_start_objects() -> None:
    """Freeze the objects of the start, so that no collection traverses them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _SELDOM, _SELDOM)


async def collect_garbage_when_quiet(changed: Callable[[], Awaitable[object]]) -> None:
    """Collect after a quiet second, at most once a minute, until cancelled.

    ``changed`` returns after the next change of the agent.
    """
    while True:
        await changed()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_BUSY_SECONDS):
                await _quiet(changed)
        began = time.monotonic()
        gc.collect()
        spent = time.monotonic() - began
        await asyncio.sleep(_MOST_OFTEN_SECONDS - spent)


async def _quiet(changed: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            async with asyncio.timeout(_QUIET_SECONDS):
                await changed()
        except TimeoutError:
            return
