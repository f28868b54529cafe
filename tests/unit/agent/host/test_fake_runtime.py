"""The runtime that starts nothing keeps nothing of what went, and runs whatever it is given."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from numalet.agent.host.runtime import fake, fake_files
from numalet.agent.host.runtime.fake import Ends, FakeProgram, FakeRuntime, fate_of
from numalet.agent.host.runtime.fake_files import KeptRun
from numalet.agent.host.runtime.port import Started
from numalet.core.enforcement.cgroup_settings import CgroupSettings
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


async def test_what_fails_once_is_done_when_it_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing counts as done before it is in the files."""
    fails = True
    save, forget = fake_files.save, fake_files.forget

    def saved(folder: Path, run: KeptRun) -> None:
        if fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(folder, run)

    def forgotten(folder: Path, pod_uid: str) -> None:
        if fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        forget(folder, pod_uid)

    monkeypatch.setattr(fake_files, "save", saved)
    monkeypatch.setattr(fake_files, "forget", forgotten)
    runtime = FakeRuntime(tmp_path)
    key = ContainerKey("u", "c")
    given = launch("serve", key=key)
    with pytest.raises(OSError, match="space"):
        await runtime.start(given)
    assert not runtime.running()
    fails = False
    assert isinstance(await runtime.start(given), Started)
    asks: list[Callable[[], Awaitable[None]]] = [
        lambda: runtime.stop(key, 0),
        lambda: runtime.forget("u"),
    ]
    for ask in asks:
        fails = True
        with pytest.raises(OSError, match="space"):
            await ask()
        assert runtime.known() == ("u",)
        fails = False
        await ask()
    assert (await anext(aiter(runtime.news()))).key == key
    assert not runtime.known()
    assert fake_files.runs(tmp_path) == []


async def test_an_end_by_itself_that_cannot_be_kept_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake, "_NEXT_TRY", timedelta())
    runtime = FakeRuntime(tmp_path)
    key = ContainerKey("u", "c")
    save, tries = fake_files.save, list[bool]()

    def fails_once(folder: Path, run: KeptRun) -> None:
        tries.append(run.exit is not None)
        if tries == [False, True]:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(folder, run)

    monkeypatch.setattr(fake_files, "save", fails_once)
    await runtime.start(launch("sleep", "0", key=key))
    assert (await anext(aiter(runtime.news()))).key == key
    assert tries == [False, True, True]
