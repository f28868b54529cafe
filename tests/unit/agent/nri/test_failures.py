"""Mistakes of numalet: in a call of the runtime, and in the tasks beside the calls."""

import asyncio
import contextlib

import pytest

from numalet.agent.nri import command
from numalet.agent.nri.choices import Mode, NriEvent, PinningChoice
from numalet.agent.nri.pod_annotations import NoRoom
from numalet.io.nri import session
from numalet.io.nri.session import CallError
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from running.fake_runtime import event, request
from running.plugin_runtime import PluginRuntime


def failing(runtime: PluginRuntime) -> None:
    """Let every decision of the plugin fail."""

    def manifests() -> dict[str, object]:
        raise RuntimeError("a mistake")

    runtime.plugin._manifests = manifests  # type: ignore[assignment]


def test_a_creation_that_fails_in_the_plugin_is_refused_and_the_plan_stays() -> None:
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE))
    db = runtime.create(runtime.sandbox("db"))
    before = runtime.plugin.plan
    failing(runtime)
    with pytest.raises(CallError, match="numalet: CreateContainer failed: a mistake") as raised:
        runtime.create(runtime.sandbox("other"))
    assert raised.value.code == session.INTERNAL
    assert runtime.plugin.counts.failures == {"CreateContainer": 1}
    (line,) = (each for each in runtime.lines if each.message == "Failed, and goes on")
    assert (line.keys["in"], line.keys["why"]) == ("CreateContainer", "RuntimeError: a mistake")
    assert str(line.keys["at"]).startswith(__file__)
    assert runtime.plugin.plan.node is before.node
    # It goes on: other calls are answered.
    runtime.stop(db)
    assert not runtime.plugin.plan.members


@pytest.mark.parametrize(
    "choice",
    [
        PinningChoice(Mode.AUDIT),
        PinningChoice(Mode.SHARED_ONLY),
        PinningChoice(Mode.ENFORCE, NoRoom.UNPINNED),
    ],
)
def test_a_plugin_that_refuses_nothing_lets_the_container_start(choice: PinningChoice) -> None:
    runtime = PluginRuntime(choice)
    failing(runtime)
    assert runtime.sets(runtime.create(runtime.sandbox("db"))) == ("", "")
    assert runtime.plugin.counts.failures["CreateContainer"] == 1


def test_an_event_that_fails_does_not_stop_the_runtime() -> None:
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE))
    failing(runtime)
    pod = runtime.sandbox("db")
    started = nri.Container(id="new", name="app", pid=7)
    number = NriEvent.POST_START_CONTAINER.value
    asked = event(number, pod, started).SerializeToString()
    assert runtime.handlers["StateChange"](asked) == b""
    asked = request(pod, started).SerializeToString()
    assert runtime.handlers["PostStartContainer"](asked) == b""
    assert runtime.plugin.counts.failures == {"StateChange": 1, "PostStartContainer": 1}


def test_a_connection_that_fails_to_begin_ends() -> None:
    runtime = PluginRuntime(PinningChoice(Mode.AUDIT))
    failing(runtime)
    with pytest.raises(CallError, match="numalet: Synchronize failed: a mistake"):
        runtime.synchronize()
    assert not runtime.plugin.is_synchronized


def test_a_task_that_fails_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_AGAIN_SECONDS", 0.0)
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE))
    begun = asyncio.Event()

    async def work() -> None:
        if not runtime.plugin.counts.failures["audit"]:
            raise OSError("no space left on device")
        begun.set()
        await asyncio.Event().wait()

    async def scene() -> None:
        task = asyncio.create_task(command.kept(runtime.plugin, "audit", work))
        await begun.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(scene())
    assert runtime.plugin.counts.failures == {"audit": 1}
