"""A question that is answered late, about a pod that is gone or bound by now, takes no room."""

from __future__ import annotations

import pytest

from numalet.cluster.extender import state
from running.extender_parts import AskedExtender, at_work

PODS = "/api/v1/namespaces/default/pods"


async def known(extender: AskedExtender, uid: str) -> None:
    """Wait until the extender knows the pod."""
    extender.pod(4, uid)
    await extender.until(lambda: uid in extender.state.live.pods)


async def test_no_room_is_kept_for_a_pod_that_is_gone() -> None:
    async with at_work() as extender:
        await known(extender, "late")
        body = {"Pod": extender.pod(4, "late"), "NodeNames": ["empty"]}
        extender.kubelets.remove(f"{PODS}/late")
        await extender.until(lambda: "late" not in extender.state.live.pods)
        answer = (await extender.call("filter", body)).json()
        assert answer["NodeNames"] == ["empty"]
        assert extender.state.nodes.promises == {}


async def test_no_room_is_kept_for_a_pod_that_is_bound_elsewhere() -> None:
    async with at_work() as extender:
        await known(extender, "late")
        body = {"Pod": extender.pod(4, "late"), "NodeNames": ["empty"]}
        extender.kubelets.pod("late", 4, "full")
        await extender.until(lambda: extender.state.live.pods["late"].pod.node_name == "full")
        await extender.call("filter", body)
        assert extender.state.nodes.promises == {}


async def test_room_is_kept_for_a_pod_that_the_scheduler_knows_first() -> None:
    async with at_work() as extender:
        pod = extender.pod(4)
        new = {**pod, "metadata": {**pod["metadata"], "uid": "new"}}
        await extender.call("filter", {"Pod": new, "NodeNames": ["empty"]})
        assert [*extender.state.nodes.promises] == ["new"]


async def test_only_the_last_pods_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_SETTLED", 2)
    async with at_work() as extender:
        for uid in ("a", "b", "c"):
            await known(extender, uid)
            extender.kubelets.remove(f"{PODS}/{uid}")
        await extender.until(lambda: "c" not in extender.state.live.pods)
        assert extender.state.settled == {"b", "c"}
