"""The rounds of the audit: compare, repair, notice a dead session, and save the state."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from google.protobuf.message import Message

from numalet.agent.controller.recovery import Premises
from numalet.agent.nri import audit, plan
from numalet.agent.nri.audit import Groups, Misplaced
from numalet.agent.nri.choices import EventReason, NriEvent, UnpinnedCause, mask
from numalet.agent.nri.connection import RuntimeConnection
from numalet.agent.nri.following import FollowedPods
from numalet.agent.nri.plugin import PinningPlugin
from numalet.agent.nri.seen import Parts, SeenContainer, Sets
from numalet.core.enforcement import limits
from numalet.core.model.value import Value
from numalet.io.files import state_directory
from numalet.io.nri.session import Handlers
from numalet.io.rpc import nri_v1alpha1_pb2 as nri

_UNSEEN_AUDITS: Final = 3
"""Audits after which a running container that the runtime never reported means a dead session."""


class AuditChoice(Value):
    root: Path
    seconds: float
    proc: Path
    cgroups: Path


class Repairs:
    """What the audit found, and the handlers that repair it."""

    def __init__(self, plugin: PinningPlugin) -> None:
        self._plugin = plugin
        self._misplaced_since: Mapping[str, float] = {}

    def handlers(self, still_differing: Callable[[], Mapping[str, Sets]]) -> Handlers:
        """Handlers of a second connection that answers Synchronize with all repairs.

        ``still_differing`` returns containers that the kernel allows more than the plan. It is
        called when the runtime asks: by then the runtime has applied all earlier answers.
        """
        plugin = self._plugin

        def configure(request: nri.ConfigureRequest) -> Message:
            return nri.ConfigureResponse(events=mask(NriEvent.REMOVE_POD_SANDBOX))

        def repair(pods: object, containers: Iterable[SeenContainer]) -> Message:
            found = still_differing()
            self._differ(found)
            left = plan.left(plugin.plan)
            in_force = {each.id: each.in_force for each in containers if each.id not in left}
            plugin.plan = plan.observed(plugin.plan, in_force)
            # The runtime gave these what the plan says, so another program set what is in force.
            overridden = found.keys() - plan.updates(plugin.plan).keys()
            plugin.note_overrides({each: found[each] for each in overridden})
            plugin.plan = plan.observed(plugin.plan, found)
            changes = plan.updates(plugin.plan)
            plugin.counts.repaired += len(changes)
            return nri.SynchronizeResponse(update=plugin.updates(changes))

        parts = Parts(plugin.choice.permissions, repair)
        return {
            "Configure": plugin.answering("Configure", nri.ConfigureRequest, configure),
            "Synchronize": plugin.answering("Synchronize", nri.SynchronizeRequest, parts),
            "StateChange": lambda payload: b"",
            "RemovePodSandbox": lambda payload: b"",
            "Shutdown": lambda payload: b"",
        }

    def _differ(self, found: Mapping[str, Sets]) -> None:
        """Count and report containers that the kernel allows more than the plan."""
        plugin = self._plugin
        new = found.keys() - plugin.differing.keys()
        plugin.differing = found
        for each in (new & plugin.plan.members.keys()) - plan.left(plugin.plan):
            plugin.report_unpinned(plugin.plan.members[each].seen, UnpinnedCause.AUDIT)

    def note_groups(self, found: Collection[str]) -> None:
        """Release what sandboxes and containers hold whose cgroup was there and is gone.

        containerd that was started again does not report the end of what ran before.
        """
        if not found:
            return
        plugin = self._plugin
        with plugin.lock:
            known = {*plugin.plan.members, *plugin.plan.sandboxes}
            plugin.groups = known & plugin.groups.union(found)
            gone = plugin.groups.difference(found)
            for each in gone:
                plugin.plan = plan.container_ended(plugin.plan, each)
            used = {each.seen.pod.sandbox_id for each in plugin.plan.members.values()}
            for each in gone - used:
                plugin.plan = plan.sandbox_ended(plugin.plan, each)

    def note_misplaced(self, found: Mapping[str, Misplaced], now: float) -> None:
        """Count and report containers with memory that stays on other NUMA nodes than planned."""
        plugin = self._plugin
        with plugin.lock:
            since = {each: self._misplaced_since.get(each, now) for each in found}
            stays = {each for each in since if now - since[each] >= audit.SETTLED_SECONDS}
            new = (stays - plugin.misplaced.keys()) & plugin.plan.members.keys()
            self._misplaced_since = since
            plugin.misplaced = {each: found[each] for each in stays}
            plugin.counts.misplaced += len(new)
            for each in sorted(new):
                container = plugin.plan.members[each].seen
                text = f"container {container.name} {found[each].text}"
                plugin.warn(container.pod, text, EventReason.MISPLACED)


class AuditRounds:
    """Audits every few seconds and after each registration."""

    def __init__(
        self,
        choice: AuditChoice,
        premises: Premises,
        plugin: PinningPlugin,
        pods: FollowedPods,
        runtime: RuntimeConnection,
    ) -> None:
        self._choice = choice
        self._page_sizes = limits.resolve(premises.config, premises.machine).page_sizes
        self._plugin = plugin
        self._pods = pods
        self._runtime = runtime
        self._repairs = Repairs(plugin)
        self._unseen: dict[str, int] = {}
        self._saved: dict[str, str] = {}

    async def follow(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._choice.seconds):
                    await self._runtime.was_synchronized.wait()
            self._runtime.was_synchronized.clear()
            if self._plugin.is_synchronized:
                groups = await asyncio.to_thread(audit.groups, self._choice.cgroups)
                self._repairs.note_groups(groups.keys())
                await self._repair()
                await self._report_pages(groups)
                self._notice_strangers()
                await self._save()

    async def _repair(self) -> None:
        plugin, proc = self._plugin, self._choice.proc
        members = tuple(plugin.plan.members.values())
        found = await asyncio.to_thread(audit.differing, members, proc)
        repairable = found.keys() - plan.left(plugin.plan)
        if plugin.enforces and (repairable or plan.updates(plugin.plan)):

            def still_differing() -> Mapping[str, Sets]:
                members = plugin.plan.members
                there = (members[each] for each in found if each in members)
                return audit.differing(there, proc)

            await asyncio.to_thread(self._runtime.repair, self._repairs.handlers(still_differing))
        if not (plugin.enforces and repairable):
            plugin.differing = found

    async def _report_pages(self, groups: Groups) -> None:
        members = tuple(self._plugin.plan.members.values())
        places = self._choice.cgroups, groups, self._page_sizes
        found = await asyncio.to_thread(audit.misplaced, members, *places)
        self._repairs.note_misplaced(found, asyncio.get_running_loop().time())

    def _notice_strangers(self) -> None:
        """Connect again if containers run that the runtime never reported."""
        strangers = self._pods.running - self._plugin.plan.members.keys()
        self._unseen = {each: self._unseen.get(each, 0) + 1 for each in strangers}
        if any(count >= _UNSEEN_AUDITS for count in self._unseen.values()):
            self._unseen = {}
            self._runtime.reconnect("the runtime reports no events")

    async def _save(self) -> None:
        files = self._plugin.plan.node.state_files()
        if files != self._saved:
            directory = state_directory.read(self._choice.root)
            await asyncio.to_thread(directory.write, files)
            self._saved = files
