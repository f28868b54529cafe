"""Assembles an agent from its settings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial

from numalet.agent.controller import (
    adoption,
    changes,
    journal,
    kube_api,
    observing,
    recovery,
    root_claim,
    store_files,
)
from numalet.agent.controller.controller import Controller
from numalet.agent.controller.decisions import TracedDecision
from numalet.agent.controller.dependencies import START_PATIENCE_SECONDS, ControllerDependencies
from numalet.agent.controller.desired_settings import DesiredSettings
from numalet.agent.controller.kube_api import Serving
from numalet.agent.controller.manifests import ManifestFolder
from numalet.agent.controller.node_state import EVENTS_KEPT
from numalet.agent.controller.observing import KubeletPlaces, KubeletWatch
from numalet.agent.controller.plugins import PluginServers
from numalet.agent.controller.recovery import Recovered
from numalet.agent.controller.requests import SourcesReady
from numalet.agent.controller.settings import AgentSettings, RuntimeKind, configuration_reader
from numalet.agent.controller.shortage import Shortage
from numalet.agent.controller.store import StorageFailed, Store, StoredState
from numalet.agent.controller.store_files import NodeAge
from numalet.agent.host.cgroup_v2.tree import locked_alone
from numalet.agent.host.procfs import read_kernel_limits
from numalet.agent.host.runtime.attempts import RUNS as RUNS
from numalet.agent.host.runtime.fake import FakeRuntime
from numalet.agent.host.runtime.port import Runtime
from numalet.agent.host.runtime.process import ProcessRuntime
from numalet.agent.servers.api import listening
from numalet.agent.servers.api.application import application
from numalet.agent.servers.dashboard import DashboardLinks
from numalet.agent.servers.door import OwnershipMode
from numalet.core.enforcement import limits
from numalet.core.enforcement.limits import Limits
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Value, field, replace
from numalet.core.workload.records import NodeEvent
from numalet.io.agent_client.places import SOCKET_NAME
from numalet.io.documents.pods import pod_record
from numalet.shared.findings.agent import AgentRootUnusable
from numalet.wording.log_line import LogLine


def utc_now() -> datetime:
    return datetime.now(UTC)


class Hooks(Value, kw_only=True):
    """Replacements for tests, and log outputs."""

    runtime: Runtime | None = None
    clock: Callable[[], datetime] = utc_now
    on_decision: Callable[[TracedDecision], None] = field(default=lambda traced: None)
    on_findings: Callable[[Sequence[Finding]], None] = field(default=lambda findings: None)
    log: Callable[[Sequence[LogLine]], None] = field(default=lambda lines: None)
    report_bug: Callable[[Exception], None] = field(default=lambda bug: None)
    shortage: Shortage = field(default_factory=Shortage)
    resync_seconds: float = 10.0
    start_patience_seconds: float = START_PATIENCE_SECONDS
    kubelet: KubeletPlaces = field(default_factory=KubeletPlaces)


@asynccontextmanager
async def opened(
    settings: AgentSettings, hooks: Hooks = Hooks(), plugin_servers: PluginServers | None = None
) -> AsyncIterator[Controller]:
    """Recover and run a controller during the block. Raises ``BadInput``."""
    if plugin_servers is not None:
        settings = replace(
            settings, premises=replace(settings.premises, plugins=plugin_servers.plugins)
        )
    store = Store(settings.root, pod_record.encode, pod_record.decode)
    try:
        stored = store.open()
        if settings.observe:
            stored = StoredState({}, {})
        adopted = adoption.adopt(settings, stored, hooks.clock())
        stored = adopted.stored
        age = store_files.begin_life(settings.root, hooks.clock())
        runtime = hooks.runtime or _runtime(settings)
        # The tree's lock is released last, after everything that uses it has ended.
        with (
            _claimed(settings, runtime) as remarks,
            locked_alone(runtime.cgroup_root if isinstance(runtime, ProcessRuntime) else None),
        ):
            hooks.on_findings((*stored.unreadable, *remarks, *adopted.findings()))
            try:
                recovered = await _recovered(settings, stored, hooks, store, runtime, age)
                dependencies = _surroundings(settings, hooks, store, runtime, plugin_servers)
                dependencies = replace(
                    dependencies,
                    node_created_at=age.created_at,
                    unschedulable=age.unschedulable,
                    keep_cordon=partial(store_files.keep_cordon, settings.root, age),
                )
                begun = _begun(recovered, settings, hooks, dependencies)
                if plugin_servers is not None:
                    plugin_servers.relay.enqueue = begun.controller.enqueue
                async with _running(begun) as controller:
                    yield controller
            finally:
                await runtime.close()
    except BaseExceptionGroup as several:
        # Callers expect ``BadInput``, not a group with one exception.
        if len(several.exceptions) == 1:
            raise several.exceptions[0] from None
        raise
    finally:
        store.close()


@contextmanager
def _claimed(settings: AgentSettings, runtime: Runtime) -> Iterator[tuple[Finding, ...]]:
    """Announce the root folder if real programs are pinned."""
    if settings.observe or not isinstance(runtime, ProcessRuntime):
        yield ()
        return
    with root_claim.claimed_by_agent(settings.root) as remarks:
        yield remarks


async def _recovered(
    settings: AgentSettings,
    stored: StoredState,
    hooks: Hooks,
    store: Store,
    runtime: Runtime,
    age: NodeAge,
) -> Recovered:
    observed = await runtime.open()
    if isinstance(runtime, FakeRuntime):
        stored = recovery.in_order(stored, runtime.order())
    return recovery.recover(
        settings.premises,
        stored,
        observed,
        await runtime.pods(),
        _events(store),
        hooks.clock(),
        time.perf_counter,
        age.first_version,
    )


class _Begun(Value):
    controller: Controller
    settings: AgentSettings
    hooks: Hooks


def _begun(
    recovered: Recovered,
    settings: AgentSettings,
    hooks: Hooks,
    dependencies: ControllerDependencies,
) -> _Begun:
    """Create the controller; its state is on disk first."""
    state = recovered.state
    if not settings.observe:
        try:
            # Commit before emptying the shared state, so that a crash loses no command.
            dependencies.store.commit(None, state, map(journal.line_of, recovered.events))
            adoption.clear_shared_state(settings)
        except StorageFailed as failed:
            where = Location(str(settings.root))
            raise BadInput(
                [AgentRootUnusable(path=str(settings.root), error=failed.problem, where=where)]
            ) from None
    controller = Controller(state, dependencies)
    controller.begin(recovered.tasks)
    hooks.on_findings(recovered.findings)
    for traced in recovered.traces:
        hooks.on_decision(traced)
    return _Begun(controller, settings, hooks)


@asynccontextmanager
async def _running(begun: _Begun) -> AsyncIterator[Controller]:
    controller = begun.controller
    async with asyncio.TaskGroup() as group:
        life = group.create_task(controller.run())
        source = group.create_task(_sources(controller, begun.settings, begun.hooks))
        try:
            yield controller
        finally:
            # First, so that no further reading arrives while the last write ends.
            source.cancel()
            # Stop first: a write in progress must end before its task is cancelled.
            await controller.stop()
            life.cancel()


@asynccontextmanager
async def served(
    controller: Controller,
    settings: AgentSettings,
    report_bug: Callable[[Exception], None] = lambda bug: None,
    links: DashboardLinks | None = None,
) -> AsyncIterator[None]:
    """Serve the API on its socket during the block. Raises ``BadInput``."""
    app = application(controller, report_bug, links)
    async with listening.on_unix_socket(app, settings.root / SOCKET_NAME):
        yield


@asynccontextmanager
async def reached(
    controller: Controller,
    settings: AgentSettings,
    report_bug: Callable[[Exception], None] = lambda bug: None,
    links: DashboardLinks | None = None,
) -> AsyncIterator[Serving | None]:
    """Serve the API for kubectl, if configured. Raises ``BadInput``."""
    address = settings.kube_api
    if address is None:
        yield None
        return
    root = settings.root
    async with kube_api.served(controller, address, root, utc_now(), report_bug, links) as serving:
        yield serving


async def _sources(controller: Controller, settings: AgentSettings, hooks: Hooks) -> None:
    """Follow the manifest folder, if there is one."""
    if settings.observe:
        await _follow_kubelet(controller, settings, hooks)
        return
    if settings.manifests is None:
        controller.enqueue(SourcesReady())
        return
    folder = ManifestFolder(
        settings.manifests,
        settings.node_name,
        hooks.clock,
        runs_here=settings.runtime is RuntimeKind.PROCESS,
        behaviour=settings.premises.behaviour,
        report_bug=hooks.report_bug,
    )
    is_first = True
    async for read in folder.readings():
        controller.enqueue(read)
        if is_first:
            # After the first reading is queued: sources are ready once its pods are known.
            controller.enqueue(SourcesReady())
            is_first = False


async def _follow_kubelet(controller: Controller, settings: AgentSettings, hooks: Hooks) -> None:
    places = replace(hooks.kubelet, root=settings.kubelet_root)
    watch = KubeletWatch(
        places=places,
        configuration=configuration_reader(settings, places.proc),
        page_sizes=_limits(settings).page_sizes,
        clock=hooks.clock,
        every_seconds=hooks.resync_seconds,
    )
    is_first = True
    async for seen in watch.observations():
        controller.enqueue(seen)
        hooks.on_findings(observing.log_findings(seen.observation))
        if is_first:
            controller.enqueue(SourcesReady())
            is_first = False


def _surroundings(
    settings: AgentSettings,
    hooks: Hooks,
    store: Store,
    runtime: Runtime,
    plugin_servers: PluginServers | None,
) -> ControllerDependencies:
    premises = settings.premises
    dependencies = ControllerDependencies(
        store=store,
        runtime=runtime,
        desired=DesiredSettings(_limits(settings)),
        clock=hooks.clock,
        stopwatch=time.perf_counter,
        node_name=settings.node_name,
        standing=OwnershipMode.OBSERVING if settings.observe else OwnershipMode.ENFORCING,
        notes=runtime.capabilities().shortfalls,
        config=premises.config,
        on_decision=hooks.on_decision,
        log=hooks.log,
        resync_seconds=hooks.resync_seconds,
        start_patience_seconds=hooks.start_patience_seconds,
        also_counted=(hooks.shortage.counted,),
        also_noted=hooks.shortage.notes,
    )
    if plugin_servers is None:
        return dependencies
    counted = (*dependencies.also_counted, plugin_servers.counted)
    return replace(
        dependencies,
        plugins=plugin_servers.plugins,
        devices=plugin_servers.devices,
        also_counted=counted,
    )


def _runtime(settings: AgentSettings) -> Runtime:
    if settings.observe:
        return FakeRuntime()
    match settings.runtime:
        case RuntimeKind.FAKE:
            return FakeRuntime(settings.root / RUNS)
        case RuntimeKind.PROCESS:
            return ProcessRuntime(settings.root, page_sizes=_limits(settings).page_sizes)


def _limits(settings: AgentSettings) -> Limits:
    """Limits of all pods; a described machine has assumed kernel limits."""
    premises = settings.premises
    is_here = settings.runtime is RuntimeKind.PROCESS
    kernel_limits = read_kernel_limits() if is_here else limits.SOME_KERNEL
    return limits.resolve(premises.config, premises.machine, premises.behaviour, kernel_limits)


def _events(store: Store) -> Sequence[NodeEvent]:
    """The latest events of the journal, where a repeated event has several lines."""
    events: dict[tuple[object, ...], NodeEvent] = {}
    for event in map(journal.event_of, store.journal.lines()):
        if event is not None:
            identity = changes.identity(event)
            # Remove first, so that a repeated event moves to the end.
            events.pop(identity, None)
            events[identity] = event
    return [*events.values()][-EVENTS_KEPT:]
