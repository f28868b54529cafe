"""A container runtime's end of an NRI connection, with framing of its own.

It shares no code with numalet's end, so a mistake in one shows in the other.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from numalet.io.rpc import ttrpc_pb2 as ttrpc

A = TypeVar("A", bound=Message)

PLUGIN: Final = "nri.pkg.api.v1alpha1.Plugin"
GUARANTEED: Final = "/kubepods/pod"
BURSTABLE: Final = "/kubepods/burstable/pod"
_LARGEST: Final = 4096


class FakeRuntime:
    """Calls the plugin at the other end of a socket; the plugin's calls are in ``called``."""

    def __init__(self, end: socket.socket) -> None:
        end.settimeout(60)
        self.end = end
        self.called: list[str] = []
        self.frames: list[int] = []
        """Sizes of the plugin's frames."""
        self._streams: dict[int, bytes] = {1: b"", 2: b""}
        self._next = 1

    def registration(self) -> nri.RegisterPluginRequest:
        """Read the plugin's registration, and leave it unanswered."""
        _, _, payload = self._message(2)
        request = ttrpc.Request.FromString(payload)
        self.called.append(request.method)
        return nri.RegisterPluginRequest.FromString(request.payload)

    def accept(self, error: str = "") -> None:
        status = ttrpc.Status(code=2, message=error) if error else None
        self.send(2, 1, 2, ttrpc.Response(status=status).SerializeToString())

    def ask(self, method: str, request: Message, service: str = PLUGIN) -> ttrpc.Response:
        """Return the plugin's answer to a call."""
        stream, self._next = self._next, self._next + 2
        call = ttrpc.Request(service=service, method=method, payload=request.SerializeToString())
        self.send(1, stream, 1, call.SerializeToString())
        answered, kind, payload = self._message(1)
        assert (answered, kind) == (stream, 2)
        return ttrpc.Response.FromString(payload)

    def answer(self, method: str, request: Message, kind: type[A]) -> A:
        """Return the plugin's answer, which must not be an error."""
        response = self.ask(method, request)
        assert not response.status.code, response.status.message
        return kind.FromString(response.payload)

    def send(self, connection: int, stream: int, kind: int, payload: bytes) -> None:
        message = struct.pack(">IIBB", len(payload), stream, kind, 0) + payload
        self.end.sendall(struct.pack(">II", connection, len(message)) + message)

    def _message(self, connection: int) -> tuple[int, int, bytes]:
        while True:
            had = self._streams[connection]
            if len(had) >= 10:
                size, stream, kind, _ = struct.unpack(">IIBB", had[:10])
                if len(had) >= 10 + size:
                    self._streams[connection] = had[10 + size :]
                    return stream, kind, had[10 : 10 + size]
            number, size = struct.unpack(">II", self._exactly(8))
            assert size <= _LARGEST, f"a runtime closes the connection after {size} bytes"
            self.frames.append(size)
            self._streams[number] += self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            part = self.end.recv(size - len(got))
            assert part, "the plugin closed the connection"
            got += part
        return got


def sandbox(name: str, parent: str = GUARANTEED, **annotations: str) -> nri.PodSandbox:
    """A pod's sandbox; its uid and its id come from its name."""
    return nri.PodSandbox(
        id=f"sandbox-{name}",
        name=name,
        uid=f"uid-{name}",
        namespace="default",
        annotations={_annotation(key): text for key, text in annotations.items()},
        linux=nri.LinuxPodSandbox(cgroup_parent=f"{parent}uid-{name}"),
        pid=1,
    )


def _annotation(argument: str) -> str:
    """Return ``numalet.dev/no-room`` for ``numalet_dev__no_room``."""
    domain, _, name = argument.partition("__")
    return f"{domain.replace('_', '.')}/{name.replace('_', '-')}"


def container(
    of: nri.PodSandbox, name: str = "app", cpu: int = 2, memory_mib: int = 512, **given: Any
) -> nri.Container:
    """A container with whole CPUs and a memory limit, as a kubelet asks for it."""
    fields: Mapping[str, Any] = {"created_at": 0, **given}
    return nri.Container(
        id=f"{of.name}-{name}",
        pod_sandbox_id=of.id,
        name=name,
        linux=nri.LinuxContainer(
            resources=nri.LinuxResources(
                cpu=nri.LinuxCPU(
                    shares=nri.OptionalUInt64(value=cpu * 1024 or 2),
                    quota=nri.OptionalInt64(value=cpu * 100_000),
                    period=nri.OptionalUInt64(value=100_000),
                ),
                memory=nri.LinuxMemory(limit=nri.OptionalInt64(value=memory_mib << 20)),
            )
        ),
        **fields,
    )


def request(
    of: nri.PodSandbox, with_container: nri.Container | None = None
) -> nri.ContainerRequest:
    return nri.ContainerRequest(pod=of, container=with_container)


def event(number: int, of: nri.PodSandbox, with_container: nri.Container | None = None) -> Message:
    return nri.StateChangeEvent(event=number, pod=of, container=with_container)
