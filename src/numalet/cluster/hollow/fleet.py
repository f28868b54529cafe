"""A fleet of hollow nodes: turns events of the cluster into events of nodes, and back.

One task changes the nodes: ``_apply`` gets all events from watches, timers and faults. All other
tasks write, each for all nodes: leases, status of pods, published state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

from numalet.cluster.hollow import fleet_members, node_document, node_life, pod_reader
from numalet.cluster.hollow.fleet_members import Fault, FleetOptions, MakePublisher, Member
from numalet.cluster.hollow.life import (
    Announce,
    CameUp,
    HeldPod,
    LifeEvent,
    MomentCame,
    PodBound,
    PodGone,
    ReleasePod,
    ReportPod,
    WentDown,
)
from numalet.cluster.hollow.node_document import Leases, Registrar
from numalet.cluster.hollow.pod_reader import PodDecoder, PodGlance, WatchedPod
from numalet.cluster.hollow.pod_writer import PodWriter
from numalet.cluster.programs import Refusals
from numalet.core.model.findings import Finding
from numalet.io.kube_api import follow, listing, paths
from numalet.io.kube_api.answers import ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import Changed, Connected, Deleted, Disconnected, Replaced
from numalet.io.tasks import ended, together

T = TypeVar("T")

_SOONEST_SECONDS: Final = 0.001
_AGAIN_SECONDS: Final = 1.0


class HollowFleet:
    """All hollow nodes of a process. ``say`` gets messages for the user."""

    def __init__(
        self,
        api: ApiClient,
        members: Mapping[str, Member],
        options: FleetOptions,
        say: Callable[[str], None],
        make_publisher: MakePublisher | None = None,
    ) -> None:
        self.members = members
        self.has_pods = asyncio.Event()
        """Set once the pods of the cluster are known for the first time."""
        self._api = api
        self._options = options
        self._say = say
        self._registrar = Registrar(api, options.untaints)
        self._node_of: dict[str, str] = {}
        self._seen_nodes: set[str] = set()
        self._spawned: set[asyncio.Task[None]] = set()
        self._is_living = False
        self._is_registered = asyncio.Event()
        self._refusals = Refusals(say)
        self.writer = PodWriter(api, self._held, self._refusals.note)
        self._decoder = PodDecoder(self.members.keys(), self._complain)
        self.leases = Leases(
            api,
            members,
            self._is_alive,
            lambda name: members[name].uid,
            options.renew_seconds,
            self._refusals.note,
        )
        self.publisher = (
            None if make_publisher is None else make_publisher(api, members, self._refusals.note)
        )

    async def register(self, advance: Callable[[], None] = lambda: None) -> None:
        """Register every node, with its lease.

        Raises ``BadInput`` if a node with one of the names exists and is not hollow, and the
        client's errors.
        """
        waiting = iter(self.members.values())

        async def work() -> None:
            # All workers take from one iterator, so a slow request delays only its own node.
            for member in waiting:
                await self._register(member)
                advance()

        async with together() as group:
            for _ in range(self._options.writers):
                group.create_task(work())
        self._is_registered.set()

    async def _register(self, member: Member) -> None:
        """Register a node; if the server was available before, wait for it."""
        while True:
            try:
                member.uid = await self._registrar.register(member.life.node, member.naming)
                break
            except ApiUnreachable:
                # Nothing is registered yet: the server is probably wrong, and the user should learn
                # that at once.
                if not any(each.uid for each in self.members.values()):
                    raise
                await asyncio.sleep(_AGAIN_SECONDS)
        # A node without a lease would be marked as unknown by the node controller within a minute.
        await self.leases.renew(member.life.name)
        self._publish(member.life.name)

    async def run(self) -> None:
        """Run forever. Start it before all nodes are registered."""
        self._is_living = True
        try:
            async with together() as group:
                for _ in range(self._options.writers):
                    group.create_task(self.writer.work())
                group.create_task(self.leases.keep())
                group.create_task(self._follow_pods())
                group.create_task(self._follow_nodes())
                group.create_task(self._heartbeats())
                group.create_task(self._fail_as_planned())
                if self.publisher is not None:
                    group.create_task(self.publisher.work())
        finally:
            self._is_living = False
            await ended(*self._spawned)

    async def remove(self) -> None:
        waiting = iter(self.members)

        async def work() -> None:
            for name in waiting:
                with self._refusals.noted():
                    await self._registrar.remove(name)

        async with together() as group:
            for _ in range(self._options.writers):
                group.create_task(work())

    def fail(self, name: str, fault: Fault) -> None:
        member = self.members[name]
        self._say(f"{name}: {fault.value}")
        match fault:
            case Fault.LIE:
                member.lies = True
                self._publish(name)
            case Fault.LOSE:
                member.is_lost = True
                self._apply(name, WentDown())
            case Fault.REBOOT:
                self._apply(name, WentDown())
                loop = asyncio.get_running_loop()
                loop.call_later(self._options.reboot_seconds, self._boot, name)

    def recover(self, name: str) -> None:
        member = self.members[name]
        self._say(f"{name}: recovers")
        if member.lies:
            member.lies = False
            self._publish(name)
        if member.is_lost:
            member.is_lost = False
            self._boot(name)

    def _boot(self, name: str) -> None:
        member = self.members[name]
        if member.is_lost or member.life.is_up:
            return
        pods = pod_reader.in_order(iter(member.pods.values()))
        self._apply(name, CameUp(member.kind.restarted, tuple(pods)))
        if not self._has_begun(member):
            return
        member.boots += 1
        if fleet_members.of_annotation(member.asked_fault) is Fault.REBOOT:
            # The annotation is removed, so that the fault can be requested again.
            self._spawn(self._withdraw_fault, name)
        self._publish(name)
        self._spawn(self._beat, member)

    def _has_begun(self, member: Member) -> bool:
        """Return whether its kubelet has started; log why if not."""
        refused = member.life.refused
        if refused is not None:
            causes = "; ".join(map(str, refused.findings))
            self._say(f"{member.life.name}: its kubelet does not start again: {causes}")
        return refused is None

    def _apply(self, name: str, event: LifeEvent) -> None:
        member = self.members[name]
        before = member.life
        life, actions = node_life.after(before, event, datetime.now(UTC))
        # The event changed nothing: write nothing.
        if life is before:
            self._set_timer(member)
            return
        member.life = life
        for action in actions:
            match action:
                case ReportPod(uid) | ReleasePod(uid):
                    self._node_of[uid] = name
                    self.writer.report(uid)
                case Announce(happened):
                    held = life.pods.get(happened.pod_uid)
                    if happened.kind in self._options.events:
                        workload = None if held is None else held.record.workload
                        self.writer.announce(name, happened, workload)
        if life.node is not before.node or life.listed_uids != before.listed_uids:
            self._publish(name)
            self._save(member)
        elif self.publisher is not None and life.pods is not before.pods:
            self.publisher.pods_changed(name)
        self._set_timer(member)

    def _save(self, member: Member) -> None:
        name, state = member.life.name, self._options.state
        if state and (problem := state.write(name, member.life.node.state_files())):
            self._say(f"{name}: {problem}")

    def _publish(self, name: str) -> None:
        member = self.members[name]
        # A restarted node is not empty, although its pods are not known yet.
        if self.publisher is not None and not member.is_lost and member.saved is None:
            self.publisher.changed(name)

    def _set_timer(self, member: Member) -> None:
        if member.timer is not None:
            member.timer.cancel()
            member.timer = None
        due_at = member.life.due_at
        if due_at is not None:
            # A minimum, because a moment in the past would run again and again without any other
            # event.
            wait = max(_SOONEST_SECONDS, (due_at - datetime.now(UTC)).total_seconds())
            loop = asyncio.get_running_loop()
            member.timer = loop.call_later(wait, self._apply, member.life.name, MomentCame())

    def _held(self, uid: str) -> HeldPod | None:
        name = self._node_of.get(uid)
        return None if name is None else self.members[name].life.pods.get(uid)

    def _is_alive(self, name: str) -> bool:
        member = self.members[name]
        return member.uid != "" and member.life.is_up

    def _complain(self, glance: PodGlance, finding: Finding) -> None:
        self._say(f"{glance.namespace}/{glance.name} on {glance.node_name}: {finding}")

    async def _follow_pods(self) -> None:
        news = follow.follow(
            self._api, pod_reader.BOUND_PODS, self._decoder.decode, key=listing.uid
        )
        async for each in news:
            match each:
                case Replaced(pods):
                    self._replace_pods(pods)
                    self._begin_again()
                    self.has_pods.set()
                case Changed(uid, pod):
                    self._pod_changed(uid, pod)
                case Deleted(uid):
                    self._pod_gone(uid)
                case Disconnected(why, wait_seconds):
                    self._say(f"pods: {why}; again in {wait_seconds:.1f} s")
                case Connected():
                    self._say("pods: connected again")

    def _replace_pods(self, pods: Mapping[str, WatchedPod]) -> None:
        # Pods deleted while the watch was interrupted have no event of their own.
        self._decoder.forget_others(pods.keys())
        known = [uid for member in self.members.values() for uid in member.pods]
        for uid in known:
            if uid not in pods:
                self._pod_gone(uid)
        # In the order of their start, as a restarted kubelet admits them.
        for uid, pod in sorted(pods.items(), key=lambda each: each[1].order):
            self._pod_changed(uid, pod)

    def _begin_again(self) -> None:
        """Start kubelets with earlier state files, now that their pods are known."""
        for name, member in self.members.items():
            files, member.saved = member.saved, None
            if files is not None:
                pods = pod_reader.in_order(iter(member.pods.values()))
                self._apply(name, CameUp(partial(member.kind.started_on, files), tuple(pods)))
                self._has_begun(member)

    def _pod_changed(self, uid: str, watched: WatchedPod) -> None:
        member = self.members[watched.node_name]
        before = member.pods.get(uid)
        member.pods[uid] = watched
        self._node_of[uid] = watched.node_name
        # Other changes of a pod are mostly our own writes.
        is_news = before is None or before.glance.grace_seconds != watched.glance.grace_seconds
        if is_news and watched.pod is not None:
            self._apply(watched.node_name, PodBound(watched.pod))

    def _pod_gone(self, uid: str) -> None:
        name = self._node_of.pop(uid, None)
        self._decoder.forget(uid)
        self.writer.forget(uid)
        if name is not None:
            self.members[name].pods.pop(uid, None)
            self._apply(name, PodGone(uid))

    async def _follow_nodes(self) -> None:
        prefixes = sorted({each.naming.prefix for each in self.members.values()})
        chosen = f"{node_document.HOLLOW} in ({','.join(prefixes)})"
        collection = listing.ApiCollection(paths.NODES, label_selector=chosen)
        async for each in follow.follow(self._api, collection, node_document.fault_of):
            match each:
                case Replaced(notes):
                    for name in [each for each in self._seen_nodes if each not in notes]:
                        self._node_gone(name)
                    for name, asked in notes.items():
                        self._node_changed(name, asked)
                case Changed(name, asked):
                    self._node_changed(name, asked)
                case Deleted(name):
                    self._node_gone(name)
                case Disconnected(why, wait_seconds):
                    self._say(f"nodes: {why}; again in {wait_seconds:.1f} s")
                case Connected():
                    self._say("nodes: connected again")

    def _node_changed(self, name: str, asked: str) -> None:
        member = self.members.get(name)
        if member is None:
            return
        self._seen_nodes.add(name)
        # Most changes of a Node are the fleet's own heartbeats.
        if member.asked_fault == asked:
            return
        before, member.asked_fault = member.asked_fault, asked
        if fleet_members.of_annotation(before) in (Fault.LOSE, Fault.LIE):
            self.recover(name)
        fault = fleet_members.of_annotation(asked)
        if fault is not None:
            self.fail(name, fault)

    def _node_gone(self, name: str) -> None:
        self._seen_nodes.discard(name)
        member = self.members.get(name)
        if member is not None and not member.is_lost:
            self._say(f"{name}: its Node was deleted; it is not there any more")
            self.fail(name, Fault.LOSE)

    async def _heartbeats(self) -> None:
        """Write the status of every node regularly, spread over time."""
        # Spread evenly: thousands of writes at one moment would overload a small API server.
        wait = self._options.heartbeat_seconds / len(self.members)
        while True:
            for member in self.members.values():
                await asyncio.sleep(wait)
                if self._is_alive(member.life.name):
                    await self._beat(member)

    async def _beat(self, member: Member) -> None:
        with self._refusals.noted():
            await self._registrar.report(member.life.node, member.naming, member.boots)

    async def _withdraw_fault(self, name: str) -> None:
        body = {"metadata": {"annotations": {node_document.FAULT: None}}}
        with self._refusals.noted():
            await self._api.patch(paths.node(name), body)

    def _spawn(self, work: Callable[[T], Coroutine[Any, Any, None]], about: T) -> None:
        if not self._is_living:
            return
        task = asyncio.create_task(work(about))
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)

    async def _fail_as_planned(self) -> None:
        await self._is_registered.wait()
        began = asyncio.get_running_loop().time()
        for each in self._options.faults:
            wait = began + each.after_seconds - asyncio.get_running_loop().time()
            await asyncio.sleep(max(0.0, wait))
            self.fail(each.node_name, each.fault)
