"""Which node is best, as a scheduler is answered, and to which one the pod is promised."""

from __future__ import annotations

from typing import Any

from numalet.cluster.extender.state import ExtenderRules
from numalet.insight.fleet.preference import Preference
from running.extender_parts import AskedExtender, at_work


async def _points(extender: AskedExtender, gpus: int, *names: str, **more: Any) -> dict[str, int]:
    body = {"Pod": extender.pod(gpus, **more), "Nodes": None, "NodeNames": names}
    answer = (await extender.call("prioritize", body)).json()
    return {each["Host"]: each["Score"] for each in answer}


async def _with_half(extender: AskedExtender) -> None:
    """A third node, of which one NUMA node is full and the other one is free."""
    extender.kubelets.node("half")
    extender.kubelets.state("half", 4)
    await extender.until(lambda: "half" in extender.state.nodes.nodes)


async def test_one_node_alone_has_ten_points_and_the_pod_is_promised_to_it() -> None:
    async with at_work() as extender:
        await _with_half(extender)
        answer = await extender.asked(4, "full", "half", "empty")
        assert answer["NodeNames"] == ["half", "empty"]
        assert extender.state.nodes.promises == {}
        points = await _points(extender, 4, "half", "empty", "nowhere")
        assert points == {"half": 10, "empty": 1, "nowhere": 0}
        (promise,) = extender.state.nodes.promises.values()
        assert promise.node_name == "half"
        # The next one of the same shape finds the node as it will be.
        assert await _points(extender, 4, "half", "empty", uid="next") == {"half": 0, "empty": 10}


async def test_a_pod_that_is_asked_about_again_does_not_stand_in_its_own_way() -> None:
    async with at_work() as extender:
        await _with_half(extender)
        for _ in range(2):
            assert await _points(extender, 4, "half", "empty") == {"half": 10, "empty": 1}
        assert len(extender.state.nodes.promises) == 1


async def test_the_preference_is_a_rule() -> None:
    async with at_work(ExtenderRules(preference=Preference.SPREAD)) as extender:
        await _with_half(extender)
        assert await _points(extender, 4, "half", "empty") == {"half": 1, "empty": 10}


async def test_nodes_for_which_there_was_no_time_have_no_points_and_no_promise() -> None:
    async with at_work(ExtenderRules(timeout_seconds=0.0)) as extender:
        assert await _points(extender, 4, "empty") == {"empty": 0}
        assert extender.state.nodes.promises == {}
        assert extender.said("not all nodes were scored in time")


async def test_a_call_that_can_not_be_answered_is_one_that_schedulers_pass_over() -> None:
    async with at_work() as extender:
        answer = await extender.call("prioritize", b"{")
        assert answer.status_code == 500
        assert answer.text.startswith("numalet: cannot read the request")
