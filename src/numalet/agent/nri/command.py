"""``numalet nri``: stays connected to the runtime, audits, repairs, and saves the state."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import gc
import os
import queue
import signal
import traceback
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from numalet import __version__
from numalet.agent.controller import recovery
from numalet.agent.controller import settings as agent_settings
from numalet.agent.controller.settings import AgentOptions, AgentSettings, RuntimeKind
from numalet.agent.host import kubelet_containers, logs
from numalet.agent.nri import kubelet_devices, serving
from numalet.agent.nri import reporting as pod_events
from numalet.agent.nri.auditing import AuditChoice, AuditRounds
from numalet.agent.nri.choices import EventReason, PinningChoice
from numalet.agent.nri.connection import RuntimeConnection
from numalet.agent.nri.following import FollowedPods
from numalet.agent.nri.kubelet_devices import DeviceReader, KubeletDevices
from numalet.agent.nri.metrics import PinningMetrics
from numalet.agent.nri.plugin import PinningPlugin, Report
from numalet.agent.nri.reporting import Reports
from numalet.agent.nri.seen import SeenPod
from numalet.agent.nri.serving import PluginDoor
from numalet.agent.publish.in_agent import AgentPublishing
from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.config.rules import CpuPolicy, MemoryPolicy
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import Value, field, replace
from numalet.io import kubelets, os_problem
from numalet.io.files import state_directory
from numalet.io.kube_api import client
from numalet.io.kube_api.access import Access
from numalet.io.machines import MachineChoice
from numalet.io.nri import session
from numalet.io.tasks import together
from numalet.shared.web import metrics_endpoint
from numalet.wording import log_line
from numalet.wording.log_line import LogFormat, LogLine

USER_AGENT: Final = f"numalet-nri/{__version__}"
_LOCK_ALL: Final = 3
"""``MCL_CURRENT | MCL_FUTURE``: pages of today and of tomorrow."""
_PODS_WITHIN_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 1.0


class NriOptions(Value, kw_only=True):
    """``access`` is the cluster of the Pod objects, if there is one."""

    root: Path
    choice: PinningChoice = PinningChoice()
    socket: Path = session.SOCKET
    index: str = "10"
    config_file: Path | None = None
    machine: MachineChoice = field(default_factory=MachineChoice)
    node_name: str = ""
    access: Access | None = None
    kubelet_root: Path = kubelets.ROOT
    audit_seconds: float = 5.0
    metrics: str = ""
    publish: AgentPublishing | None = None
    proc: Path = kubelets.PROC
    cgroups: Path = kubelet_containers.CGROUPS
    log_format: str = "console"
    verbosity: int = 2


def run(options: NriOptions) -> None:
    """Run until SIGTERM or SIGINT; containers keep their settings.

    Raises ``BadInput`` if the configuration is invalid, or the folder is in use.
    """
    given = AgentOptions(
        config_file=options.config_file,
        runtime=RuntimeKind.FAKE,
        machine=options.machine,
        node_name=options.node_name,
        kubelet_root=options.kubelet_root,
    )
    settings = agent_settings.resolve(given)
    with _claimed(options.root):
        asyncio.run(_run(options, settings))


@contextlib.contextmanager
def _claimed(root: Path) -> Iterator[None]:
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = os.open(root / "nri.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        problem = f"cannot use {root}: {os_problem.text(error)}"
        raise input_error.Unavailable(problem, where=Location("--root")).bad_input() from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        problem = f"another numalet nri uses {root}"
        raise input_error.Conflict(problem, where=Location("--root")).bad_input() from None
    finally:
        os.close(lock)


async def _run(options: NriOptions, settings: AgentSettings) -> None:
    log = logs.to_stderr(LogFormat(options.log_format), options.verbosity)
    log.write([log_line.of_finding(each) for each in settings.notes])
    # Handlers put lines here and never wait for a slow reader of the log.
    lines: queue.SimpleQueue[LogLine | None] = queue.SimpleQueue()
    run_before_other_programs(lines.put)
    writing = asyncio.create_task(asyncio.to_thread(_write, log, lines))
    try:
        await _work(options, settings, lines.put)
    finally:
        lines.put(LogLine("Stopped; containers keep their settings"))
        lines.put(None)
        await writing


def _write(log: logs.LeveledLog, lines: queue.SimpleQueue[LogLine | None]) -> None:
    while (line := lines.get()) is not None:
        log.write([line])


async def _work(
    options: NriOptions, settings: AgentSettings, say: Callable[[LogLine], None]
) -> None:
    pods = FollowedPods()
    loop = asyncio.get_running_loop()
    reports: Reports = asyncio.Queue()

    def report(pod: SeenPod, text: str, reason: EventReason) -> None:
        loop.call_soon_threadsafe(door.report, pod, text, reason)
        loop.call_soon_threadsafe(reports.put_nowait, (pod, text, reason))

    plugin = _plugin(options, settings, pods, say, report)
    door = PluginDoor(plugin, pods, settings)
    devices = DeviceReader(settings.kubelet_root, settings.premises.machine, say)
    plugin.devices = lambda: devices.latest
    plugin.announced = lambda pod: loop.call_soon_threadsafe(
        devices.announce, pod.namespace, pod.name
    )

    def devices_changed(found: KubeletDevices) -> None:
        if found.manager:
            plugin.observe_only(found.manager)

    runtime = RuntimeConnection(options.socket, options.index, plugin, say)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    _keep_in_memory(say)
    async with contextlib.AsyncExitStack() as stack:
        if options.metrics:
            metrics = PinningMetrics(plugin, door.view)
            await stack.enter_async_context(metrics_endpoint.served(metrics, options.metrics))
        await stack.enter_async_context(serving.served(door, options.root, partial(_say_bug, say)))
        stack.callback(runtime.close)
        group = await stack.enter_async_context(together())
        tasks = [group.create_task(kept(plugin, "view", door.stay_current))]
        if options.access is not None:
            api = await stack.enter_async_context(client.opened(options.access, USER_AGENT))
            tasks.append(group.create_task(pods.follow(api, settings.node_name, say)))
            tasks.append(group.create_task(pod_events.write(reports, api, settings.node_name, say)))
            # Without the Pod objects, each running container would be decided alone.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PODS_WITHIN_SECONDS):
                    await pods.are_known.wait()
        # The containers that already run are decided on with their devices.
        await devices.read()
        reading = partial(devices.follow, options.audit_seconds, devices_changed)
        tasks.append(group.create_task(kept(plugin, "devices", reading)))
        devices_changed(devices.latest)
        if options.publish is not None:
            publishing = options.publish(
                door, settings, lambda each: say(log_line.of_finding(each))
            )
            await stack.enter_async_context(publishing)
        tasks.append(group.create_task(runtime.stay_connected()))
        choice = AuditChoice(options.root, options.audit_seconds, options.proc, options.cgroups)
        rounds = AuditRounds(choice, settings.premises, plugin, pods, runtime)
        tasks.append(group.create_task(kept(plugin, "audit", rounds.follow)))
        await stopped.wait()
        runtime.close()
        for each in tasks:
            each.cancel()


async def kept(plugin: PinningPlugin, name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Run what never ends, and begin it again if it fails."""
    while True:
        try:
            await work()
        except Exception as bug:
            plugin.note_failure(name, bug)
            await asyncio.sleep(_AGAIN_SECONDS)


def _plugin(
    options: NriOptions,
    settings: AgentSettings,
    pods: FollowedPods,
    say: Callable[[LogLine], None],
    report: Report,
) -> PinningPlugin:
    # The kubelet has checked these; the Pod objects may not be known.
    behaviour = replace(
        settings.premises.behaviour,
        predicates_are_asked=False,
        constraints_are_asked=False,
        critical_pods_evict=False,
    )
    choice, classes = options.choice, behaviour.memory_node_classes
    if classes is not None and choice.permissions.memory_classes:
        # The engine needs to know the memory of every class that some pod may get.
        choice = replace(choice, memory_nodes=frozenset(classes))
        every = choice.permissions.memory_classes.union(classes)
        behaviour = replace(
            behaviour, memory_node_classes=tuple(each for each in NodeClass if each in every)
        )
    premises = replace(settings.premises, behaviour=behaviour, root=str(options.root))
    began = recovery.start_node(premises, {}).node
    before = recovery.start_node(premises, state_directory.read(options.root).files)
    for each in before.findings:
        say(log_line.of_finding(each))
    plugin = PinningPlugin(began, before.node.snapshot, choice, lambda: pods.by_uid, say, report)
    foreign = _kubelet_manager(settings, options.proc)
    if foreign:
        plugin.observe_only(foreign)
    return plugin


def _kubelet_manager(settings: AgentSettings, proc: Path) -> str:
    """Return which manager of this node's kubelet pins containers, or nothing.

    Its PodResources answers say the same later; here are its configuration and its state files.
    """
    found = set[str | None]()
    if kubelets.process_of(settings.kubelet_root, proc) is not None:
        reader = agent_settings.configuration_reader(replace(settings, config_file=None), proc)
        config = reader.read().premises.config
        found |= {config.cpu_manager_policy, config.memory_manager_policy}
    with contextlib.suppress(BadInput):
        files = state_directory.read(settings.kubelet_root).files
        cpus = cpu_file.read(files.get(cpu_file.FILE_NAME, ""))
        if not isinstance(cpus, Finding):
            found.add(cpus.document.policy_name)
        memory = memory_file.read(files.get(memory_file.FILE_NAME, ""))
        if not isinstance(memory, Finding):
            found.add(memory.policy_name)
    if CpuPolicy.STATIC.value in found:
        return kubelet_devices.STATIC_CPUS
    return kubelet_devices.STATIC_MEMORY if MemoryPolicy.STATIC.value in found else ""


def _say_bug(say: Callable[[LogLine], None], bug: Exception) -> None:
    of = {"why": "".join(traceback.format_exception(bug))}
    say(LogLine("A request to the API failed", of, is_error=True))


def run_before_other_programs(say: Callable[[LogLine], None]) -> None:
    """Give this thread, and all that it will start, the lowest real-time priority.

    With all CPUs busy, an answer waited longer for one than the engine works. Not only the thread
    that answers: any other one may have Python's lock, and keeps it while it waits for a CPU.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError as error:
        why = os_problem.text(error)
        say(LogLine("No real-time priority; answers may wait for busy CPUs", {"why": why}))


def _keep_in_memory(say: Callable[[LogLine], None]) -> None:
    """Handlers do not wait for the garbage collector to walk all modules, or for swapped pages."""
    gc.collect()
    gc.freeze()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_LOCK_ALL):
        why = os.strerror(ctypes.get_errno())
        say(LogLine("The memory is not locked; answers may wait for swapped pages", {"why": why}))
