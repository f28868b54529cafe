"""gRPC client for one device plugin, and the merge of ``Allocate`` responses.

``preferred`` and ``allocate`` belong to a decision and block; the event loop does the rest.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from numalet.core.managers.device.inventory import Device, Health
from numalet.core.managers.device.preference import (
    Accepted,
    AllocateAnswer,
    CallFailed,
    EmptyAnswer,
    PreferenceQuestion,
    Preferred,
)
from numalet.core.model.value import Value
from numalet.io.rpc import device_plugin_v1beta1_pb2 as messages
from numalet.io.rpc import methods
from numalet.io.rpc.methods import A, Method, Q
from numalet.wording import kubelet_rpc

PRE_START_SECONDS: Final = 30.0
# The kubelet keeps one connection per registration as well: later the socket may be removed, or
# another plugin may listen there.
_OPTIONS: Final = (
    *methods.OPTIONS,
    # gRPC would share one connection per path, and with it a plugin that has been replaced.
    ("grpc.use_local_subchannel_pool", 1),
)


class Deadlines(Value, kw_only=True):
    """Timeouts in seconds.

    The kubelet v1.32 waits forever in most calls; a plugin that hangs would block the node.
    """

    connect_seconds: float = 10.0
    call_seconds: float = 10.0


class PluginUnusable(Exception):  # noqa: N818 - the plugin is at fault, not the program
    """The agent cannot reach the plugin, or it does not answer; the text is the kubelet's."""


class Endpoint:
    """Connection to one plugin; ``stopped`` is true once its device list has ended."""

    def __init__(self, resource: str, socket: Path, deadlines: Deadlines = Deadlines()) -> None:
        self.resource = resource
        self.stopped = False
        self._deadlines = deadlines
        self._target = f"unix:{socket}"
        self._options = messages.DevicePluginOptions()
        self._channel: grpc.aio.Channel | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def wants_pre_start(self) -> bool:
        return self._options.pre_start_required

    async def open(self) -> None:
        """Connect and read the plugin's options. Raises ``PluginUnusable``."""
        self._loop = asyncio.get_running_loop()
        self._channel = grpc.aio.insecure_channel(self._target, options=_OPTIONS)
        try:
            async with asyncio.timeout(self._deadlines.connect_seconds):
                await self._channel.channel_ready()
        except TimeoutError:
            await self.close()
            raise PluginUnusable(kubelet_rpc.DIAL_FAILED) from None
        try:
            self._options = await methods.PLUGIN_OPTIONS.call_async(self._channel)(
                messages.Empty(), timeout=self._deadlines.call_seconds
            )
        except grpc.RpcError as error:
            await self.close()
            raise PluginUnusable(kubelet_rpc.options_failed(_text(error))) from None

    async def device_lists(self) -> AsyncIterator[tuple[Device, ...]]:
        """Yield every list that the plugin sends; ends when the stream ends or fails."""
        assert self._channel is not None
        try:
            async for answer in methods.LIST_AND_WATCH.stream_async(self._channel)(
                messages.Empty()
            ):
                yield tuple(_device(each) for each in answer.devices)
        except grpc.RpcError:
            return

    async def pre_start(self, device_ids: Iterable[str]) -> CallFailed | None:
        if self.stopped or self._channel is None:
            return CallFailed(kubelet_rpc.endpoint_stopped(self.resource))
        request = messages.PreStartContainerRequest(devices_ids=sorted(device_ids))
        try:
            await methods.PRE_START.call_async(self._channel)(request, timeout=PRE_START_SECONDS)
        except grpc.RpcError as error:
            return CallFailed(kubelet_rpc.pre_start_failed(_text(error)))
        return None

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """The devices that the plugin prefers. Blocks."""
        if not self._options.get_preferred_allocation_available:
            return Preferred()
        request = messages.PreferredAllocationRequest(
            container_requests=[
                messages.ContainerPreferredAllocationRequest(
                    available_deviceIDs=sorted(question.available),
                    must_include_deviceIDs=sorted(question.must_include),
                    allocation_size=question.size,
                )
            ]
        )
        answer = self._ask(methods.PREFERRED, request)
        if isinstance(answer, CallFailed):
            return answer
        # The kubelet reads only the first response; an empty one means no preference.
        return Preferred(
            frozenset(name for each in answer.container_responses[:1] for name in each.deviceIDs)
        )

    def allocate(self, device_ids: Iterable[str]) -> AllocateAnswer:
        """Call ``Allocate`` for these devices. Blocks."""
        request = messages.AllocateRequest(
            container_requests=[messages.ContainerAllocateRequest(devices_ids=sorted(device_ids))]
        )
        answer = self._ask(methods.ALLOCATE, request)
        if isinstance(answer, CallFailed):
            return answer
        if not answer.container_responses:
            return EmptyAnswer(str(answer).strip())
        return Accepted(answer.container_responses[0].SerializeToString(deterministic=True))

    async def close(self) -> None:
        self.stopped = True
        if self._channel is not None:
            await self._channel.close()

    def _ask(self, method: Method[Q, A], request: Q) -> A | CallFailed:
        if self.stopped or self._channel is None or self._loop is None:
            return CallFailed(kubelet_rpc.endpoint_stopped(self.resource))
        seconds = self._deadlines.call_seconds
        if _is_running_here(self._loop):
            # Blocking this loop would also block its connection, so the call gets a connection
            # here.
            with grpc.insecure_channel(self._target, options=_OPTIONS) as own:
                return _answer(lambda: method.call(own)(request, timeout=seconds))
        channel = self._channel

        async def asked() -> A:
            return await method.call_async(channel)(request, timeout=seconds)

        waiting = asyncio.run_coroutine_threadsafe(asked(), self._loop)
        try:
            return _answer(waiting.result)
        except (concurrent.futures.CancelledError, grpc.aio.UsageError):
            # The plugin disconnected during the call.
            return CallFailed(kubelet_rpc.endpoint_stopped(self.resource))


def _answer(ask: Callable[[], A]) -> A | CallFailed:
    try:
        return ask()
    except grpc.RpcError as error:
        return CallFailed(_text(error))


def _is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _device(sent: messages.Device) -> Device:
    health = Health.HEALTHY if sent.health == Health.HEALTHY.value else Health.UNHEALTHY
    return Device(sent.ID, tuple(node.ID for node in sent.topology.nodes), health)


def _text(error: grpc.RpcError) -> str:
    # gRPC errors of calls have a code, but the stubs do not declare it on the base class.
    assert isinstance(error, grpc.Call | grpc.aio.AioRpcError)
    return kubelet_rpc.error_text(methods.STATUS_NAMES[error.code()], error.details() or "")


class HandedOut(Value):
    """Environment by name; host paths of mounts and device nodes by path in the container."""

    environment: Mapping[str, str]
    mounts: Mapping[str, str]
    device_nodes: Mapping[str, str]
    annotations: Mapping[str, str]
    cdi_devices: tuple[str, ...]


def merged_responses(responses: Iterable[bytes]) -> HandedOut:
    """Merge all responses; the first value for a name or path wins.

    Skips undecodable responses. Kubelet: ``deviceRunContainerOptions``, v1.32.
    """
    environment: dict[str, str] = {}
    mounts: dict[str, str] = {}
    nodes: dict[str, str] = {}
    annotations: dict[str, str] = {}
    cdi_devices: dict[str, None] = {}
    for response in responses:
        try:
            answer = messages.ContainerAllocateResponse.FromString(response)
        except DecodeError:
            continue
        # The earlier response wins, so the new one is spread first.
        environment = {**answer.envs, **environment}
        annotations = {**answer.annotations, **annotations}
        for mount in answer.mounts:
            mounts.setdefault(mount.container_path, mount.host_path)
        for node in answer.devices:
            nodes.setdefault(node.container_path, node.host_path)
        cdi_devices.update(dict.fromkeys(each.name for each in answer.cdi_devices))
    return HandedOut(environment, mounts, nodes, annotations, tuple(cdi_devices))
