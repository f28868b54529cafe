"""kubectl cordon and uncordon: a patch of the node, and what comes to it afterwards."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.controller.wiring import Hooks
from numalet.agent.servers.door import RequestRefusal, RequestRefused
from numalet.core.workload.records import PodRecord
from running import faults
from running.agents import manifest, running, settings, workload
from running.faults import Moment
from servers.asking import asked
from servers.served import Api

NODE = "/api/v1/nodes/node7"
PATIENCE_SECONDS = 200.0
HOOKS = Hooks(resync_seconds=3600)
KINDS = ("application/strategic-merge-patch+json", "application/merge-patch+json")


def _patched(api: Api, patch: Any, kind: str = KINDS[0], query: str = "") -> tuple[int, Any]:
    return asked(api.path, "PATCH", f"{NODE}{query}", patch, content_type=kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_is_cordoned_and_uncordoned(api: Api, kind: str) -> None:
    before = asked(api.path, "GET", NODE)[1]
    code, dry = _patched(api, {"spec": {"unschedulable": True}}, kind, "?dryRun=All")
    assert (code, dry["spec"]["unschedulable"]) == (200, True)
    assert asked(api.path, "GET", NODE)[1] == before
    code, node = _patched(api, {"spec": {"unschedulable": True}}, kind)
    assert (code, node["spec"]["unschedulable"]) == (200, True)
    assert int(node["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    assert api.door.view().unschedulable
    code, node = _patched(api, {"spec": {"unschedulable": None}}, kind)
    assert (code, node["spec"]) == (200, {})


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({"metadata": {"labels": {"a": "b"}}}, 422),
        ({"spec": {"podCIDR": "10.0.0.0/8"}}, 422),
        ({"spec": None}, 200),
        ({"spec": 5}, 422),
        ({}, 200),
    ],
)
def test_nothing_else_of_a_node_changes(api: Api, patch: Any, code: int) -> None:
    assert _patched(api, patch, KINDS[1])[0] == code
    assert not api.door.view().unschedulable
    assert asked(api.path, "PATCH", f"{NODE}x", patch, content_type=KINDS[1])[0] == 404


def _tolerating(name: str, **toleration: Any) -> Any:
    return workload(manifest(name, tolerations=[toleration]))


async def test_a_cordon_holds_over_restarts(tmp_path: Path) -> None:
    async with running(settings(tmp_path)) as agent:
        assert await agent.controller.cordon(unschedulable=True) is None
    async with running(settings(tmp_path)) as agent:
        controller = agent.controller
        assert controller.view().unschedulable
        for refused in (
            await controller.create(workload(manifest("a"))),
            controller.foresee_create(workload(manifest("a"))),
            await controller.create(_tolerating("a", key="other", operator="Exists")),
        ):
            assert isinstance(refused, RequestRefused)
            assert refused.why is RequestRefusal.CORDONED
        key = "node.kubernetes.io/unschedulable"
        for name, toleration in (("b", {"key": key}), ("c", {})):
            given = {**toleration, "operator": "Exists"}
            assert isinstance(await controller.create(_tolerating(name, **given)), PodRecord)
        assert await controller.cordon(unschedulable=False) is None
        assert isinstance(await controller.create(workload(manifest("a"))), PodRecord)


async def test_a_cordon_that_can_not_be_kept_holds_up_nobody_who_waits(tmp_path: Path) -> None:
    is_writing, may_fail = threading.Event(), threading.Event()

    def full(name: str, moment: Moment) -> None:
        is_writing.set()
        assert may_fail.wait(PATIENCE_SECONDS)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with (
        running(settings(tmp_path), hooks=HOOKS) as agent,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        await agent.controller.settled()
        before = faults.install(full)
        try:
            cordoned = asyncio.create_task(agent.controller.cordon(unschedulable=True))
            await asyncio.to_thread(is_writing.wait, PATIENCE_SECONDS)
            settled = asyncio.create_task(agent.controller.settled())
            # Nothing else waits: now it can only be waiting for what is being written.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not settled.done()
            may_fail.set()
            refused = await cordoned
            await settled
        finally:
            may_fail.set()
            faults.install(before)
        assert isinstance(refused, RequestRefused)
        assert refused.why is RequestRefusal.STORAGE
