"""Plugins that are found by their sockets, over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.host.device_plugins import Deadlines
from numalet.agent.servers.device_plugins import Settings
from numalet.agent.servers.plugin_folder import FOLDER, PluginFolder
from numalet.core.managers.device.preference import Accepted
from numalet.io.rpc import plugin_registration_v1_pb2 as registration
from servers.plugin_bench import GPU, KEY, PATIENT, Heard, Liar, registry

INFO = registration.PluginInfo(type="DevicePlugin", name=GPU, supported_versions=["v1beta1"])


@asynccontextmanager
async def looked_after(
    root: Path, deadlines: Deadlines = PATIENT
) -> AsyncIterator[tuple[PluginFolder, Heard]]:
    settings = Settings(deadlines=deadlines, grace_seconds=3600.0)
    async with registry(root, settings) as (plugins, heard):
        folder = PluginFolder(plugins, PATIENT, poll_seconds=0.02)
        folder.start(root)
        try:
            yield folder, heard
        finally:
            await folder.stop()


def found(root: Path, called: str = "one", **changes: Any) -> Liar:
    info = registration.PluginInfo()
    info.CopyFrom(INFO)
    for member, value in changes.items():
        if member == "supported_versions":
            info.supported_versions[:] = value
        else:
            setattr(info, member, value)
    return Liar(root, called, folder=FOLDER, info=info)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not holds():  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0.01)


async def test_a_plugin_that_is_found_is_connected_and_told(root: Path) -> None:
    async with looked_after(root) as (folder, heard):
        liar = found(root)
        await liar.start()
        await heard.until("reported", ["one"])
        await until(lambda: liar.told == [(True, "")])
        answer = await asyncio.to_thread(folder.plugins.allocate, KEY, GPU, ("one",))
        assert isinstance(answer, Accepted)
        # It is not one of those that came by themselves.
        assert folder.plugins.counted().values == {} or all(
            "registration" not in name for name, _ in folder.plugins.counted().values
        )
        await liar.stop()
        await heard.until("stopped")


async def test_a_plugin_whose_socket_goes_is_let_go_of(root: Path) -> None:
    async with looked_after(root) as (_, heard):
        first = found(root)
        await first.start()
        await heard.until("reported", ["one"])
        (root / FOLDER / "one.sock").unlink()
        await heard.until("stopped")
        # One that comes back at the same place is another one.
        second = found(root)
        await second.start()
        await heard.until("reported", ["one"], times=2)
        await second.stop()
        await heard.until("stopped", times=2)
        await first.stop()


async def test_a_plugin_was_there_before_the_agent(root: Path) -> None:
    (root / FOLDER / "vendor").mkdir(parents=True)
    liar = found(root, "vendor/one", endpoint=str(root / FOLDER / "vendor" / "one.sock"))
    await liar.start()
    for _ in range(2):
        async with looked_after(root) as (_, heard):
            await heard.until("reported", ["vendor/one"])
    await liar.stop()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"type": "CSIPlugin"}, "no handler registered for plugin type: CSIPlugin at socket /"),
        (
            {"supported_versions": ["v1alpha", "v1"]},
            "plugin validation failed with err: manager version, v1beta1, is not among plugin"
            " supported versions [v1alpha v1]",
        ),
        (
            {"name": "cpu"},
            "plugin validation failed with err: invalid name of device plugin socket: the"
            ' ResourceName "cpu" is invalid',
        ),
        (
            {"endpoint": "/nobody.sock"},
            "plugin registration failed with err: failed to dial device plugin: context deadline",
        ),
    ],
)
async def test_a_plugin_that_does_not_fit_is_told_why(
    changes: dict[str, Any], says: str, root: Path
) -> None:
    async with looked_after(root, replace(PATIENT, connect_seconds=0.5)) as (_, heard):
        liar = found(root, **changes)
        await liar.start()
        # It is tried again later: it may become another one.
        await until(lambda: len(liar.told) == 2)
        await liar.stop()
        for registered, error in liar.told:
            assert not registered
            assert error.startswith(f"RegisterPlugin error -- {says}")
        assert heard.told == []
        named = changes.get("name", GPU)
        assert heard.refused[:2] == [(named, error) for _, error in liar.told]


async def test_what_is_hidden_or_deaf_holds_up_nobody(root: Path) -> None:
    async with looked_after(root) as (_, heard):
        hidden = found(root, ".hidden")
        await hidden.start()
        (root / FOLDER / "a-file").touch()
        with socket.socket(socket.AF_UNIX) as deaf:
            deaf.bind(str(root / FOLDER / "a-deaf-one.sock"))
            deaf.listen()
            liar = found(root)
            await liar.start()
            await heard.until("reported", ["one"])
            await liar.stop()
            await heard.until("stopped")
        assert hidden.told == []
        await hidden.stop()


async def test_a_plugin_that_registered_again_elsewhere_stays_when_its_old_socket_is_removed(
    root: Path,
) -> None:
    async with looked_after(root) as (folder, heard):
        old, new = found(root), Liar(root, "two")
        await old.start()
        await heard.until("reported", ["one"])
        await new.start()
        await new.register()
        await heard.until("reported", ["two"])
        await old.stop()
        (root / FOLDER / "one.sock").unlink(missing_ok=True)
        await until(lambda: not folder._sockets_by_path)
        answer = await asyncio.to_thread(folder.plugins.allocate, KEY, GPU, ("two",))
        assert isinstance(answer, Accepted)
        assert "stopped" not in {what for what, _, _ in heard.told}
        await new.stop()
