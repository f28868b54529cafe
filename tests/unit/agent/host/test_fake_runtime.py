"""The runtime that starts nothing keeps nothing of what went, and runs whatever it is given."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from numalet.agent.host.runtime.fake import Ends, FakeProgram, FakeRuntime, fate_of
from numalet.agent.host.runtime.port import Started
from numalet.core.enforcement.settings import CgroupSettings
from numalet.core.model.pod import ContainerKey
from running.process_builders import launch


@pytest.mark.parametrize("seconds", ["infinity", "1e300", "nan", "-1", "soon"])
def test_who_sleeps_for_ever_runs(seconds: str) -> None:
    assert fate_of(launch("sleep", seconds)) == FakeProgram()
    assert fate_of(launch("sleep", "2.5")) == Ends(0, 2.5)


def test_nothing_is_kept_of_a_pod_that_went(tmp_path: Path) -> None:
    async def scene() -> None:
        runtime = FakeRuntime(tmp_path)
        await runtime.arrange({"burstable": CgroupSettings(cpu_weight=2)})
        for number in range(3):
            uid = f"u-{number}"
            key = ContainerKey(uid, "c")
            await runtime.arrange({f"burstable/pod{uid}": CgroupSettings(cpu_weight=1)})
            assert isinstance(await runtime.start(launch("sleep", "0", key=key)), Started)
            assert key == (await anext(aiter(runtime.news()))).key
            await runtime.forget(uid)
        assert list(runtime.tree) == ["burstable"]
        assert not runtime._timers
        assert not runtime.known()

    asyncio.run(scene())
    assert not list(tmp_path.iterdir())
