"""Reports what concerns a pod as events of it, such as a container that runs unpinned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from numalet.agent.nri.choices import EventReason
from numalet.agent.nri.seen import SeenPod
from numalet.core.model import moments
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.wording.log_line import LogLine

COMPONENT: Final = "numalet-nri"

Reports = asyncio.Queue[tuple[SeenPod, str, EventReason]]


async def write(
    reports: Reports, api: ApiClient, node_name: str, say: Callable[[LogLine], None]
) -> None:
    """Create an event for each report, forever. A failed one is logged and dropped."""
    while True:
        pod, text, reason = await reports.get()
        body = event(pod, text, reason, node_name, datetime.now(UTC))
        try:
            await api.create(f"/api/v1/namespaces/{pod.namespace}/events", body)
        except (ApiRefused, ApiUnreachable) as failed:
            say(LogLine("Event not written", {"pod": str(pod), "why": str(failed.finding)}))


def event(
    pod: SeenPod, text: str, reason: EventReason, node_name: str, at: datetime
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{pod.name}.", "namespace": pod.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
        "type": "Warning",
        "reason": reason.value,
        "message": text,
        "count": 1,
        "firstTimestamp": moments.seconds(at),
        "lastTimestamp": moments.seconds(at),
        "source": {"component": COMPONENT, "host": node_name},
        "reportingComponent": COMPONENT,
        "reportingInstance": node_name,
    }
