"""Perform actions: each by one write that the server refuses if the object has changed.

A pod is deleted by uid and version; a Node or Job is patched at the version that was read; a
recreated pod has a unique name, so that a second creation fails. Therefore an action may be late,
repeated, or sent by a breaker that has lost the lease.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from numalet.cluster.breaker.breaker_metrics import ActionOutcome
from numalet.cluster.programs import Refusals
from numalet.core.model import moments
from numalet.core.model.value import Value
from numalet.insight.rejections import patches
from numalet.insight.rejections.actions import (
    Action,
    HoldController,
    Inform,
    LiftTaint,
    Prune,
    RecreatePod,
    ReleaseController,
    ResumeJob,
    SuspendJob,
    TaintNode,
)
from numalet.io.kube_api import paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient

COMPONENT: Final = "numalet-breaker"
HELD: Final = "/api/v1/namespaces/numalet/configmaps/numalet-held"
"""The held controllers, which the admission policy ``numalet-hold`` reads."""
_MOST_ATTEMPTS: Final = 5
_LONGEST_MESSAGE: Final = 1000
"""Limit for an event message; API servers allow 1024 bytes."""

_Object = dict[str, Any]
_MakePatch = Callable[[Mapping[str, Any]], _Object | None]


class Performed(Value):
    """The result of an action; ``problem`` says why it failed."""

    outcome: ActionOutcome
    problem: str = ""


_DONE: Final = Performed(ActionOutcome.DONE)
_NOT_NEEDED: Final = Performed(ActionOutcome.NOT_NEEDED)


class ActionWorker:
    """``say`` is called once for each forbidden or unknown request."""

    def __init__(self, api: ApiClient, say: Callable[[str], None]) -> None:
        self._api = api
        self._say = say
        self._refusals = Refusals(say)

    async def perform(self, action: Action) -> Performed:
        try:
            return await self._done(action)
        except ApiRefused as refused:
            self._refusals.note(refused)
            status = refused.status
            # Another actor was faster; the action is planned again if it is still needed.
            if status.is_absent or status.is_conflict:
                return Performed(ActionOutcome.NOT_NEEDED, str(refused))
            outcome = ActionOutcome.FAILED if status.is_temporary else ActionOutcome.REFUSED
            return Performed(outcome, str(refused))
        except ApiUnreachable as unreachable:
            return Performed(ActionOutcome.FAILED, str(unreachable))

    def _done(self, action: Action) -> Awaitable[Performed]:
        match action:
            case Prune():
                return self._prune(action)
            case Inform():
                return self._inform(action)
            case TaintNode():
                node = paths.node(action.node)
                return self._patch(node, lambda there: patches.tainting(there, action))
            case LiftTaint():
                return self._patch(paths.node(action.node), patches.lifting)
            case SuspendJob():
                job = _job(action.namespace, action.name)
                return self._patch(job, lambda there: patches.suspending(there, action))
            case ResumeJob():
                job = _job(action.namespace, action.name)
                return self._patch(job, lambda there: patches.resuming(there, action))
            case HoldController():
                now = datetime.now(UTC).timestamp()
                return self._held(lambda there: patches.holding(there, action, now))
            case ReleaseController():
                return self._held(lambda there: patches.releasing(there, action))
            case RecreatePod():
                return self._recreate(action)

    async def _held(self, make: _MakePatch) -> Performed:
        try:
            return await self._patch(HELD, make)
        except ApiRefused as refused:
            if not refused.status.is_absent:
                raise
            where = "packaging/kubernetes/breaker-measures/hold.yaml"
            return Performed(ActionOutcome.REFUSED, f"{HELD} does not exist; apply {where}")

    async def _prune(self, action: Prune) -> Performed:
        await self._delete(action.namespace, action.name, action.uid, action.resource_version)
        return _DONE

    async def _delete(self, namespace: str, name: str, uid: str, resource_version: str) -> None:
        # With the version as well: the plan may depend on annotations that have changed since.
        conditions = {"uid": uid, "resourceVersion": resource_version}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        await self._api.delete(f"{_pods(namespace)}/{_quoted(name)}", body)

    async def _recreate(self, action: RecreatePod) -> Performed:
        """Create the new pod before deleting the rejected one, to lose neither if stopped."""
        try:
            await self._api.create(_pods(action.namespace), dict(action.manifest))
        except ApiRefused as refused:
            if not refused.status.is_conflict:
                raise
            path = f"{_pods(action.namespace)}/{_quoted(action.name)}"
            annotations = json.loads(await self._api.get(path))["metadata"].get("annotations") or {}
            # The new pod exists already: from an interrupted earlier attempt, or from another
            # owner.
            if annotations.get(patches.RECREATED_FROM) != action.of_uid:
                return Performed(ActionOutcome.REFUSED, f"{action.target} is another one")
        of = (action.of_name, action.of_uid, action.of_resource_version)
        await self._delete(action.namespace, *of)
        return _DONE

    async def _inform(self, action: Inform) -> Performed:
        event = _event(action)
        events = f"/api/v1/namespaces/{_quoted(event['metadata']['namespace'])}/events"
        try:
            await self._api.create(events, event)
        except ApiRefused as refused:
            if not refused.status.is_conflict:
                raise
            path = f"{events}/{_quoted(event['metadata']['name'])}"
            there = json.loads(await self._api.get(path))
            again = {
                # With the version that was read, so that two breakers cannot both raise one count.
                "metadata": {"resourceVersion": there["metadata"]["resourceVersion"]},
                "count": (there.get("count") or 1) + 1,
                "lastTimestamp": event["lastTimestamp"],
                "message": event["message"],
            }
            await self._api.patch(path, again)
        return _DONE

    async def _patch(self, path: str, make: _MakePatch) -> Performed:
        """Patch the current object; rebuild the patch if another client changed it."""
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            body = make(json.loads(await self._api.get(path)))
            if body is None:
                return _NOT_NEEDED
            try:
                await self._api.patch(path, body)
                return _DONE
            except ApiRefused as refused:
                if not refused.status.is_conflict:
                    raise
                if attempt == _MOST_ATTEMPTS:
                    return Performed(ActionOutcome.FAILED, str(refused))
        raise AssertionError("unreachable")


def _event(action: Inform) -> _Object:
    about, now = action.about, moments.seconds(datetime.now(UTC))
    namespace = about.namespace or "default"
    message = action.why
    if len(message.encode()) > _LONGEST_MESSAGE:
        # The API server's limit is in bytes. A character that is cut in the middle is dropped.
        message = message.encode()[:_LONGEST_MESSAGE].decode("utf-8", "ignore") + "…"
    # One Event per object and shape: a repeated action finds it by this name and raises its count.
    suffix = f"{about.uid[:8]}.{action.shape}".strip(".").lower()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about.name}.{suffix}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace or None,
            "name": about.name,
            "uid": about.uid,
        },
        "type": "Warning",
        "reason": action.reason,
        "message": message,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def _pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{_quoted(namespace)}/pods"


def _job(namespace: str, name: str) -> str:
    return f"/apis/batch/v1/namespaces/{_quoted(namespace)}/jobs/{_quoted(name)}"


def _quoted(name: str) -> str:
    return quote(name, safe="")
