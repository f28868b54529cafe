"""What the agent tells of a pod's life, as events and as kubectl's columns."""

from __future__ import annotations

from pathlib import Path

from numalet.core.workload.records import NodeEvent
from numalet.shared.kubernetes import pod_object as kube_pod
from numalet.shared.kubernetes import table_columns
from running import agents


def told(agent: agents.Agent) -> list[tuple[str, str]]:
    """Reason and message of every event, oldest first."""
    return [(event.reason, event.message) for event in agent.controller.view().events]


def status(agent: agents.Agent, name: str) -> str:
    """The column STATUS of a pod."""
    return table_columns.columns(kube_pod.pod_object(agent.record(name))).status


async def test_a_container_is_created_started_and_asked_to_end_once(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        assert status(agent, "one") == "Running"
        await agent.controller.delete("default", "one", grace_seconds=30)
        await agent.until(lambda: not agent.names())
        assert told(agent) == [
            ("Created", "Created container: main"),
            ("Started", "Started container main"),
            ("Killing", "Stopping container main"),
        ]
        assert [event.count for event in agent.controller.view().events] == [1, 1, 1]


async def test_a_container_that_ends_again_and_again_backs_off(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        value = agents.manifest("one")
        value["spec"]["containers"][0]["command"] = ["exit", "3"]
        await agent.controller.create(agents.workload(value))
        await agent.until(lambda: status(agent, "one") == "CrashLoopBackOff")
        text = "Back-off restarting failed container main in pod one_default(uid-one)"
        assert ("BackOff", text) in told(agent)
        assert counts(agent.controller.view().events)["Started"] == 2
        await agent.controller.delete("default", "one", grace_seconds=0)
        await agent.until(lambda: not agent.names())
        await agent.controller.settled()
        before = agent.controller.view().events
    # The journal has a line for each time that an event was counted.
    async with agents.running(agents.settings(tmp_path)) as agent:
        assert agent.controller.view().events == before


async def test_a_refused_pod_says_why_in_its_status(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("big", cpu="2", memory="40Gi"))
        [(reason, message)] = told(agent)
        assert status(agent, "big") == reason
        shown = kube_pod.pod_object(agent.record("big"))["status"]
        assert shown["message"] == f"Pod was rejected: {message}"


def counts(events: tuple[NodeEvent, ...]) -> dict[str, int]:
    """How often each reason was told."""
    return {event.reason: event.count for event in events}
