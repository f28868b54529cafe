"""Victims that a scheduler has chosen are examined, and the answer is one that it can read."""

from __future__ import annotations

from typing import Any

from running.extender_parts import AskedExtender, at_work


async def preempt(
    extender: AskedExtender, *uids: str, node: str = "full", gpus: int = 4
) -> dict[str, Any]:
    """The nodes that stay, for a pod of so many GPUs."""
    pod = {**extender.pod(gpus, f"asks-{gpus}")}
    pod["spec"] = {**pod["spec"], "priority": 10}
    victims = {node: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 1}}
    body = {"Pod": pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": victims}
    answer = (await extender.call("preempt", body)).json()
    assert set(answer) == {"NodeNameToMetaVictims"}
    kept: dict[str, Any] = answer["NodeNameToMetaVictims"]
    return kept


def kept(*uids: str) -> dict[str, Any]:
    return {"full": {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 1}}


async def test_a_node_stays_if_the_going_of_its_victims_helps() -> None:
    async with at_work() as extender:
        assert await preempt(extender, "full-1") == kept("full-1")
        # One more is needed, and is added.
        assert await preempt(extender, "of-no-one") == kept("of-no-one", "full-0")
        assert await preempt(extender, "full-0", gpus=8) == {}
        lines = [dict(each.keys) for each in extender.said("victims were examined")]
        assert [each["enlarged"] for each in lines] == [0, 1, 0]


async def test_a_pod_on_which_no_opinion_is_needed_is_answered_at_once() -> None:
    async with at_work() as extender:
        pod = {
            "metadata": {"name": "p", "namespace": "default", "uid": "p"},
            "spec": {"containers": [{"name": "c", "image": "app:1"}]},
        }
        answer = (await extender.call("filter", {"Pod": pod, "NodeNames": ["full"]})).json()
        assert answer.get("Error") == "", answer
        assert (answer["NodeNames"], answer["FailedNodes"]) == (["full"], {})
        assert extender.state.nodes.promises == {}
        victims = {"full": {"Pods": [{"UID": "x"}], "NumPDBViolations": 0}}
        body = {"Pod": pod, "NodeNameToMetaVictims": victims}
        answer = (await extender.call("preempt", body)).json()
        assert answer == {"NodeNameToMetaVictims": victims}


async def test_a_node_of_which_nothing_is_known_stays() -> None:
    async with at_work() as extender:
        assert set(await preempt(extender, "a", node="nowhere")) == {"nowhere"}


async def test_what_can_not_be_read_fails_the_call() -> None:
    async with at_work() as extender:
        answer = await extender.call("preempt", b"{}")
        assert answer.status_code == 500
        assert "cannot read" in answer.text
