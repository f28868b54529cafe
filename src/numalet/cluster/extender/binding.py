"""The bind gate: binds a pod as soon as its node cannot reject it.

When the scheduler binds, the filter's answer is old. Therefore the scheduler may leave the binding
to the extender (``bindVerb``), which decides again. Most pods are bound at once: their node admits
them and all pods sent there before, in whatever order its kubelet decides on them
(``core.cluster.any_order``).

Any other pod waits at the gate until its node has published its decision on every pod bound to it
that its managers handle. Then the gate decides on the node's own ledgers, minus pods that ended
since. Safe pods pass one that waits; the gate decides on a waiting pod again after each change.

A pod that ends in between, before its node has published the decisions on others, counts as still
there for them: these may have been decided before its end, and lie elsewhere than they would now.

One error remains: a pod that ends between the decisions on two others leaves more room than
assumed, and the first one may be placed where the second one needs it. This is invisible from
outside of the node.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from numalet.cluster.extender.state import ExtenderState, StateListener
from numalet.cluster.extender.wire import BindingArguments
from numalet.core.cluster import holding, verdicts
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.holding import awaited, expected
from numalet.insight.scheduling import expected_nodes
from numalet.insight.scheduling.expected_nodes import Promise
from numalet.insight.scheduling.filtering import LEFT_ALONE, NOT_KNOWN
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient

PATIENCE_SECONDS: Final = 10.0
"""How long a node may take to publish a decision."""
WAITING_SHARE: Final = 0.6
"""A pod waits for the node for at most this share of the scheduler's time-out."""
SENDING_SHARE: Final = 0.9
"""The API server's answer is awaited for at most this share of the scheduler's time-out."""
KNOWN_SECONDS: Final = 1.0
"""The scheduler may see a pod this much earlier than we do."""
_AGAIN_SECONDS: Final = 0.25
_TURN_SECONDS: Final = 0.005

STILL_DECIDES: Final = "numalet: the node still decides on other pods"
NO_NEWS: Final = "numalet: the API server is out of reach, so that the node's state may be old"
NOT_SEEN: Final = "numalet: this pod is unknown or was deleted"
NO_ANSWER: Final = "numalet: the API server did not answer in time"
_DISTRUSTED: Final = "its state"


class BindGate(StateListener):
    """Binds pods; belongs to the event loop of its state. ``work`` has to run in parallel."""

    def __init__(
        self, state: ExtenderState, api: ApiClient, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._state = state
        self._api = api
        self._patience_seconds = patience_seconds
        self._sent: dict[str, Promise] = {}
        """Pods whose objects do not show yet that they were bound, by uid."""
        self._awaited_since: dict[str, dict[str, float]] = {}
        """Since when the publication of a pod is awaited, by node name and uid."""
        self._waiting: dict[str, list[asyncio.Event]] = {}
        """Of awaited nodes, the events of their pods in order, set when the node is renewed."""
        self._unseen: dict[str, asyncio.Event] = {}
        self._has_changed = asyncio.Event()
        state.listeners.append(self)

    async def bind(self, asked: BindingArguments) -> str:
        """Bind the pod to the node; return why it was not bound, or an empty text."""
        timeout = self._state.rules.timeout_seconds
        began = asyncio.get_running_loop().time()
        try:
            # A pod that waits longer than this gets an answer that says so, and the scheduler
            # tries again.
            async with asyncio.timeout_at(began + WAITING_SHARE * timeout):
                await self._until_seen(asked.pod_uid)
                # Pods without allocations do not wait.
                is_safe = self._is_of_interest(asked) and await self._until_decided(asked)
        except TimeoutError:
            # Nothing was sent, so the promise of the filter can end.
            if asked.pod_uid not in self._sent:
                self._state.nodes.release(asked.pod_uid)
            return STILL_DECIDES if self._state.live.is_current else NO_NEWS
        # From here to the sending nothing is awaited, so that no other pod is sent meanwhile.
        pod = self._state.live.pods.get(asked.pod_uid)
        if pod is None:
            return NOT_SEEN
        # An earlier attempt succeeded although its answer was lost.
        if pod.pod.node_name:
            is_there = pod.pod.node_name == asked.node
            return "" if is_there else f"numalet: the pod is on node {pod.pod.node_name}"
        # After PATIENCE_SECONDS without a working publisher this decides on the node's expected
        # state; a rejection by its kubelet then leads to a back-off.
        why_not = self._why_not(pod, asked.node, is_safe=is_safe)
        if why_not:
            self._state.nodes.release(pod.pod.uid)
            return why_not
        return await self._send(pod, asked.node, began + SENDING_SHARE * timeout)

    async def work(self) -> None:
        while True:
            await self._has_changed.wait()
            self._has_changed.clear()
            # Rebuilding nodes costs time. Without a binding that waits for one of them, the next
            # call does it.
            if not self._state.live.changed_nodes.isdisjoint(self._waiting):
                self._state.refresh()
            await asyncio.sleep(_TURN_SECONDS)

    def something_changed(self) -> None:
        self._has_changed.set()

    def node_renewed(self, name: str) -> None:
        for each in self._waiting.get(name, ()):
            each.set()

    def pod_changed(self, before: ClusterPod | None, now: ClusterPod | None) -> None:
        if now is None or now.pod.node_name or now.is_over:
            gone = now or before
            if gone is not None:
                self._sent.pop(gone.pod.uid, None)
        elif now.pod.uid in self._unseen:
            self._unseen[now.pod.uid].set()

    def _is_of_interest(self, asked: BindingArguments) -> bool:
        self._state.refresh()
        pod = self._state.live.pods.get(asked.pod_uid)
        base = self._state.nodes.base(asked.node)
        return pod is not None and base is not None and holding.may_hold(base.node, pod.pod)

    async def _until_seen(self, uid: str) -> None:
        if uid in self._state.live.pods:
            return
        seen = self._unseen.setdefault(uid, asyncio.Event())
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(KNOWN_SECONDS):
                    await seen.wait()
        finally:
            self._unseen.pop(uid, None)

    async def _until_decided(self, asked: BindingArguments) -> bool:
        """Wait until no decision of the node is awaited, or the pod is safe; whether it is."""
        name, changed = asked.node, asyncio.Event()
        self._waiting.setdefault(name, []).append(changed)
        try:
            while True:
                changed.clear()
                self._state.refresh()
                if self._state.live.is_current:
                    if self._is_safe(asked):
                        return True
                    if not self._is_awaited(name):
                        return False
                with contextlib.suppress(TimeoutError):
                    # Some conditions depend only on time.
                    async with asyncio.timeout(_AGAIN_SECONDS):
                        await changed.wait()
        finally:
            self._waiting[name].remove(changed)
            if not self._waiting[name]:
                del self._waiting[name]

    def _is_safe(self, asked: BindingArguments) -> bool:
        pod, base = self._state.live.pods.get(asked.pod_uid), self._state.nodes.base(asked.node)
        if pod is None or base is None or base.is_distrusted:
            return False
        # Without the promises of the filter, as in ``_why_not``.
        sent = [each.pod.pod for each in self._sent_to(asked.node)]
        departed = self._state.nodes.departed(asked.node)
        return self._state.filter.memory.orders.admits(base, sent, pod.pod, departed)

    def _is_awaited(self, name: str) -> bool:
        """Return whether a pod sent to the node is not seen there, or not decided yet."""
        now = self._state.now_seconds()
        known = self._awaited_since.pop(name, {})
        # The wait of each pod counts from its first moment here, over several bindings: a node
        # without a publisher must not delay every one of them again.
        since = {each: known.get(each, now) for each in self._undecided(name)}
        if since:
            self._awaited_since[name] = since
        # A node that stays silent for too long has no publisher.
        is_patient = not since or now - min(since.values()) < self._patience_seconds
        return bool(self._sent_to(name)) or (bool(since) and is_patient)

    def _undecided(self, name: str) -> Sequence[str]:
        base = self._state.nodes.base(name)
        if base is None:
            return ()
        if base.is_distrusted:
            return (_DISTRUSTED,)
        return [pod.uid for pod in awaited(base)]

    def _sent_to(self, name: str) -> Sequence[Promise]:
        now = self._state.now_seconds()
        for uid in [uid for uid, each in self._sent.items() if each.until_seconds <= now]:
            del self._sent[uid]
        return [each for each in self._sent.values() if each.node_name == name]

    def _why_not(self, pod: ClusterPod, name: str, *, is_safe: bool) -> str:
        """Return why the node does not admit the pod; empty if it does."""
        base = self._state.nodes.base(name)
        if base is None:
            return "" if self._state.rules.filtering.passes_unknown else NOT_KNOWN
        if self._state.filter.is_left_alone(pod.pod, name, self._state.now_seconds()):
            return LEFT_ALONE
        if is_safe:
            return ""
        # Without the promises of the filter: pods that are promised but not bound may never come,
        # and a bound pod is decided by the kubelet before them.
        on = expected(base, [each.pod.pod for each in self._sent_to(name)])
        if verdicts.try_out(on.node, pod.pod).rejection is None:
            return ""
        return self._state.filter.reason(pod.pod, on)

    async def _send(self, pod: ClusterPod, name: str, last_at: float) -> str:
        uid = pod.pod.uid
        # Before sending, so that no other call gives the room away meanwhile.
        self._state.promise(pod, name)
        # Only for nodes that were decided: a rejection on an undecided node does not contradict a
        # prediction.
        if name in self._state.nodes.nodes and expected_nodes.needs_decision(pod.pod):
            self._state.say_yes(pod, (name,))
        until = self._state.now_seconds() + self._state.rules.promise_seconds
        self._sent[uid] = Promise(pod, name, until)
        try:
            async with asyncio.timeout_at(last_at):
                await self._api.create(f"{_path(pod)}/binding", _binding(pod, name))
        except TimeoutError:
            # The binding may have succeeded: the pod occupies the node until its object shows a
            # node, or the promise expires.
            return NO_ANSWER
        except ApiUnreachable as unreachable:
            return f"numalet: {unreachable.finding}"
        except ApiRefused as refused:
            # After a temporary error (429, 5xx) the binding may still have been stored, so the pod
            # keeps its room until the watch shows its fate.
            if not refused.status.is_temporary:
                self._sent.pop(uid, None)
                self._state.nodes.release(uid)
            return f"numalet: {refused.finding}"
        return ""


def _path(pod: ClusterPod) -> str:
    return f"/api/v1/namespaces/{quote(pod.pod.namespace, safe='')}/pods/{quote(pod.pod.name)}"


def _binding(pod: ClusterPod, node_name: str) -> dict[str, Any]:
    """Return the Binding of exactly this pod."""
    of = pod.pod
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": of.name, "namespace": of.namespace, "uid": of.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
    }
