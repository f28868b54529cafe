"""Device plugins over real sockets: sample plugins, slow ones, and ones that lie."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from numalet.agent.servers import device_plugins
from numalet.agent.servers.device_plugins import DevicePlugins, Settings
from numalet.agent.servers.sample_device_plugin import (
    SamplePlugin,
    by_id,
    environment_name,
    parse_device,
)
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.device.preference import (
    Accepted,
    CallFailed,
    EmptyAnswer,
    PreferenceQuestion,
    Preferred,
)
from numalet.io.rpc import device_plugin_v1beta1_pb2 as messages
from numalet.io.tasks import ended
from servers.plugin_bench import GPU, KEY, PATIENT, Liar, registry
from values.device_bench import devices


@asynccontextmanager
async def running(plugin: SamplePlugin) -> AsyncIterator[SamplePlugin]:
    task = asyncio.create_task(plugin.run())
    try:
        yield plugin
    finally:
        await ended(task)


def sample(root: Path, text: str = "gpu0@0 gpu1@1", resource: str = GPU) -> SamplePlugin:
    return SamplePlugin(root / "device-plugins", resource, by_id(devices(text)))


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def question(*available: str, size: int = 1) -> PreferenceQuestion:
    return PreferenceQuestion(KEY, GPU, frozenset(available), frozenset(), size)


def test_a_plugin_registers_reports_prefers_and_allocates(root: Path) -> None:
    async def test() -> None:
        async with registry(root) as (plugins, heard), running(sample(root)) as plugin:
            await heard.until("reported", ["gpu0", "gpu1"])
            asked = asyncio.to_thread(plugins.preferred, question("gpu1", "gpu0"))
            assert Preferred(frozenset({"gpu0"})) == await asked
            answer = await asyncio.to_thread(plugins.allocate, KEY, GPU, ("gpu1", "gpu0"))
            assert isinstance(answer, Accepted)
            given = messages.ContainerAllocateResponse.FromString(answer.response)
            assert dict(given.envs) == {"EXAMPLE_COM_GPU": "gpu0,gpu1"}
            assert await plugins.pre_start(GPU, ["gpu0"]) is None
            await plugin.obey("unhealthy gpu1")
            await heard.until("reported", ["gpu0", "gpu1!"])
            await plugin.obey("healthy gpu1")
            await plugin.obey("remove gpu0")
            await heard.until("reported", ["gpu1"])
            await plugin.obey("add gpu7@0+1")
            await heard.until("reported", ["gpu1", "gpu7"])
        assert (
            plugins.counted().of(
                "kubelet_device_plugin_registration_total", (("resource_name", GPU),)
            )
            == 1
        )

    run(test())


async def test_what_changes_while_a_list_is_being_sent_is_in_the_next_list(root: Path) -> None:
    plugin = sample(root)
    async with asyncio.timeout(100):
        lists = plugin._list_and_watch(None, None)
        await anext(lists)
        await plugin.obey("remove gpu0")
        assert [each.ID for each in (await anext(lists)).devices] == ["gpu1"]


def test_a_plugin_that_ends_stops_and_expires(root: Path) -> None:
    async def test() -> None:
        settings = Settings(deadlines=PATIENT, grace_seconds=0.2)
        async with registry(root, settings) as (plugins, heard):
            async with running(sample(root)):
                await heard.until("reported", ["gpu0", "gpu1"])
            await heard.until("stopped")
            (registered,) = heard.registered
            assert registered[0] == GPU
            gone = CallFailed("endpoint example.com/gpu has been stopped")
            assert gone == plugins.allocate(KEY, GPU, ("gpu0",))
            await heard.until("expired")
            missing = "endpoint not found in cache for a registered resource: example.com/gpu"
            assert CallFailed(missing) == plugins.preferred(question("gpu0"))

    run(test())


def test_a_plugin_that_comes_back_in_time_does_not_expire(root: Path) -> None:
    async def test() -> None:
        settings = Settings(deadlines=PATIENT, grace_seconds=3600.0)
        async with registry(root, settings) as (_, heard):
            for times in (1, 2, 3):
                async with running(sample(root)):
                    await heard.until("reported", ["gpu0", "gpu1"], times)
                await heard.until("stopped", times=times)
            assert "expired" not in {what for what, _, _ in heard.told}

    run(test())


def test_a_second_instance_takes_the_place_of_the_first(root: Path) -> None:
    """What the old stream says afterwards, its end among it, is not heard."""

    async def test() -> None:
        async with registry(root) as (plugins, heard):
            first, second = (Liar(root, name) for name in ("one", "two"))
            await first.start()
            await first.register()
            await heard.until("reported", ["one"])
            await second.start()
            await second.register()
            await heard.until("reported", ["two"])
            await first.stop()
            answer = await asyncio.to_thread(plugins.allocate, KEY, GPU, ("two",))
            assert isinstance(answer, Accepted)
            assert "stopped" not in {what for what, _, _ in heard.told}
            await second.stop()

    run(test())


def test_a_second_instance_on_the_same_socket_is_not_the_first(root: Path) -> None:
    """As in an update that starts the new one first. The socket goes when the old one ends."""

    async def test() -> None:
        async with registry(root) as (plugins, heard):
            first, second = (Liar(root, name, socket="same") for name in ("one", "two"))
            await first.start()
            await first.register()
            await heard.until("reported", ["one"])
            await second.start()
            await second.register()
            await heard.until("reported", ["two"])
            await first.stop()
            (root / "device-plugins" / "same.sock").unlink(missing_ok=True)
            answer = await asyncio.to_thread(plugins.allocate, KEY, GPU, ("two",))
            assert isinstance(answer, Accepted)
            assert (first.allocated, second.allocated) == (0, 1)
            assert "stopped" not in {what for what, _, _ in heard.told}
            await second.stop()
            await heard.until("stopped")

    run(test())


def test_every_list_of_a_plugin_that_sends_many_is_heard_in_order(root: Path) -> None:
    async def test() -> None:
        async with registry(root) as (_, heard):
            liar = Liar(root, more_lists=2000)
            await liar.start()
            await liar.register()
            await heard.until("reported", ["liar", "1999"])
            told = [ids[-1] for _, _, ids in heard.told]
            assert told == ["liar", *map(str, range(2000))]
            await liar.stop()

    run(test())


def test_two_resources_of_one_plugin_are_apart(root: Path) -> None:
    async def test() -> None:
        async with registry(root) as (plugins, heard):
            liar = Liar(root)
            await liar.start()
            await liar.register()
            await liar.register(resource_name="example.com/nic")
            await heard.until("reported", ["liar"], times=2)
            for resource in (GPU, "example.com/nic"):
                answer = await asyncio.to_thread(plugins.allocate, KEY, resource, ("liar",))
                assert isinstance(answer, Accepted)
            await liar.stop()
            await heard.until("stopped", times=2)

    run(test())


def test_plugins_register_again_with_the_next_agent(root: Path) -> None:
    async def test() -> None:
        async with registry(root) as (_, heard):
            task = asyncio.create_task(sample(root).run())
            await heard.until("reported", ["gpu0", "gpu1"])
        async with registry(root, known=[GPU]) as (_, heard):
            await heard.until("reported", ["gpu0", "gpu1"])
        await ended(task)

    run(test())


@pytest.mark.slow
def test_resources_of_the_checkpoint_count_as_stopped_until_they_register(root: Path) -> None:
    async def test() -> None:
        settings = Settings(deadlines=PATIENT, grace_seconds=2.0)
        async with registry(root, settings, [GPU]) as (plugins, heard):
            assert Preferred() == plugins.preferred(question("gpu0"))
            stopped = CallFailed("endpoint example.com/gpu has been stopped")
            assert stopped == plugins.allocate(KEY, GPU, ("gpu0",))
            await heard.until("expired")

    run(test())


@asynccontextmanager
async def lying(root: Path, liar: Liar) -> AsyncIterator[DevicePlugins]:
    settings = Settings(deadlines=replace(PATIENT, call_seconds=2.0))
    async with registry(root, settings) as (plugins, heard):
        await liar.start()
        await liar.register()
        await heard.until("reported", [liar.name])
        yield plugins
        await liar.stop()


async def _never() -> Any:
    await asyncio.Event().wait()


@pytest.mark.slow
def test_a_plugin_that_hangs_is_waited_for_no_longer_than_its_deadline(root: Path) -> None:
    async def test() -> None:
        liar = Liar(root, allocation=_never, preference=_never)
        async with lying(root, liar) as plugins:
            late = CallFailed("rpc error: code = DeadlineExceeded desc = Deadline Exceeded")
            assert late == await asyncio.to_thread(plugins.allocate, KEY, GPU, ("liar",))
            assert late == await asyncio.to_thread(plugins.preferred, question("liar"))

    run(test())


@pytest.mark.slow
def test_a_decision_in_the_event_loop_waits_no_longer_either(root: Path) -> None:
    """The plugin of this test lives in the same loop, so it can not answer while that waits."""

    async def test() -> None:
        async with lying(root, Liar(root)) as plugins:
            late = plugins.allocate(KEY, GPU, ("liar",))
            assert isinstance(late, CallFailed)
            assert late.error.startswith("rpc error: code = DeadlineExceeded")

    run(test())


def test_who_waits_for_a_plugin_that_is_let_go_of_is_notified(root: Path) -> None:
    async def test() -> None:
        asked = asyncio.Event()

        async def hangs() -> messages.AllocateResponse:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

        patient = Settings(deadlines=replace(PATIENT, call_seconds=1000.0))
        liar = Liar(root, allocation=hangs)
        async with registry(root, patient) as (plugins, heard):
            await liar.start()
            await liar.register()
            await heard.until("reported", ["liar"])
            waiting = asyncio.create_task(asyncio.to_thread(plugins.allocate, KEY, GPU, ("liar",)))
            await asyncio.wait_for(asked.wait(), 100)
            await plugins.stop()
            answer = await asyncio.wait_for(waiting, 200)
            assert answer == CallFailed("endpoint example.com/gpu has been stopped")
            await liar.stop()

    run(test())


def test_answers_for_no_container_and_failures_are_reported(root: Path) -> None:
    async def nothing() -> messages.AllocateResponse:
        return messages.AllocateResponse()

    async def test() -> None:
        async with lying(root, Liar(root, allocation=nothing)) as plugins:
            assert EmptyAnswer("") == await asyncio.to_thread(plugins.allocate, KEY, GPU, ("liar",))
            assert Preferred() == await asyncio.to_thread(plugins.preferred, question("liar"))
            refused = await plugins.pre_start(GPU, ["liar"])
            assert refused is not None
            assert refused.error.endswith(
                "rpc failed with err: rpc error: code = Internal desc = device is on fire"
            )

    run(test())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": "v1alpha"}, 'requested API version "v1alpha" is not supported by kubelet.'),
        ({"resource_name": "cpu"}, 'the ResourceName "cpu" is invalid'),
        ({"endpoint": "../../x.sock"}, 'the endpoint "../../x.sock" is not a file name'),
        ({"endpoint": ""}, 'the endpoint "" is not a file name'),
        ({"endpoint": "nobody.sock"}, "failed to dial device plugin: context deadline exceeded"),
    ],
)
def test_a_bad_registration_is_refused(changes: dict[str, str], says: str, root: Path) -> None:
    async def test() -> None:
        settings = Settings(deadlines=replace(PATIENT, connect_seconds=0.5))
        async with registry(root, settings) as (_, heard):
            liar = Liar(root)
            await liar.start()
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await liar.register(**changes)
            await liar.stop()
            assert grpc.StatusCode.UNKNOWN is raised.value.code()
            answer = raised.value.details() or ""
            assert says in answer
            assert heard.told == []
            assert ([], [(changes.get("resource_name", GPU), answer)]) == (
                heard.registered,
                heard.refused,
            )

    run(test())


def test_a_plugin_that_does_not_tell_its_options_is_refused(root: Path) -> None:
    async def test() -> None:
        async with registry(root, Settings(deadlines=replace(PATIENT, call_seconds=0.3))):
            liar = Liar(root, options=_never)
            await liar.start()
            with pytest.raises(grpc.aio.AioRpcError, match="failed to get device plugin options"):
                await liar.register()
            await liar.stop()

    run(test())


def test_only_old_sockets_are_removed_at_the_start(root: Path) -> None:
    import socket

    folder = root / device_plugins.FOLDER
    folder.mkdir()
    (folder / "kubelet_internal_checkpoint").write_text("{}")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "old.sock"))

    async def test() -> None:
        async with registry(root):
            names = sorted(path.name for path in folder.iterdir())
            assert names == ["kubelet.sock", "kubelet_internal_checkpoint"]

    run(test())


@pytest.mark.parametrize("line", ["explode", "unhealthy nobody", "add @1"])
def test_control_lines_that_say_nothing_known_change_nothing(line: str, root: Path) -> None:
    plugin = sample(root)
    with pytest.raises(ValueError, match=re.escape(line[-2:])):
        asyncio.run(plugin.obey(line))
    assert {"gpu0", "gpu1"} == set(plugin.devices)


def test_devices_are_written_with_their_nodes() -> None:
    assert Device("a", (0, 1)) == parse_device("a@0+1")
    assert Device("b") == parse_device("b")
    assert environment_name("example.com/gpu-a") == "EXAMPLE_COM_GPU_A"
