"""A client of the PodResources API, of a numalet node or of a kubelet."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message

from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value
from numalet.io import os_problem
from numalet.io.findings.clients import RpcNoAnswer, RpcNoSocket, RpcNotASocket, SocketUnusable
from numalet.io.rpc import methods
from numalet.io.rpc import pod_resources_v1_pb2 as v1
from numalet.io.rpc import pod_resources_v1alpha1_pb2 as v1alpha1
from numalet.io.rpc.methods import Method

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)

_FAR_END_IS_GONE: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class JsonAnswer(Value):
    """An answer, in the JSON form of protocol buffers."""

    document: Mapping[str, Any]


class CallRefused(Value):
    """The server answered with an error: gRPC's code in Go's words, and its text."""

    code: str
    text: str


class PodResourcesClient(Value):
    """Calls over one socket; each call waits ``timeout_seconds`` at most."""

    socket: Path
    timeout_seconds: float = 10.0

    def list_pods(self) -> JsonAnswer | CallRefused:
        """Every pod and what its containers hold. Raises ``BadInput`` if no server answers."""
        return self._ask(methods.LIST, v1.ListPodResourcesRequest())

    def list_pods_v1alpha1(self) -> JsonAnswer | CallRefused:
        """The same of the older interface: devices only. Raises ``BadInput``, as above."""
        return self._ask(methods.OLD_LIST, v1alpha1.ListPodResourcesRequest())

    def allocatable(self) -> JsonAnswer | CallRefused:
        """What the node has to give. Raises ``BadInput``, as above."""
        return self._ask(methods.GET_ALLOCATABLE, v1.AllocatableResourcesRequest())

    def pod(self, namespace: str, name: str) -> JsonAnswer | CallRefused:
        """What one pod holds. Raises ``BadInput``, as above."""
        asked = v1.GetPodResourcesRequest(pod_name=name, pod_namespace=namespace)
        return self._ask(methods.GET, asked)

    def _ask(self, method: Method[Q, A], request: Q) -> JsonAnswer | CallRefused:
        with self._channel() as channel:
            try:
                answer = method.call(channel)(request, timeout=self.timeout_seconds)
            except grpc.RpcError as error:
                return self._refused(error)
            return JsonAnswer(json_format.MessageToDict(answer))

    @contextmanager
    def _channel(self) -> Iterator[grpc.Channel]:
        try:
            is_socket = stat.S_ISSOCK(self.socket.stat().st_mode)
        except OSError as error:
            raise self._unusable(RpcNoSocket, os_problem.text(error)) from None
        if not is_socket:
            raise self._unusable(RpcNotASocket)
        with grpc.insecure_channel(f"unix:{self.socket}", options=methods.OPTIONS) as channel:
            yield channel

    def _refused(self, error: grpc.RpcError) -> CallRefused:
        # What a channel raises is also a call, which knows the code; the stubs do not say so.
        assert isinstance(error, grpc.Call)
        code, details = error.code(), error.details() or ""
        if code in _FAR_END_IS_GONE:
            raise self._unusable(RpcNoAnswer, details)
        return CallRefused(methods.STATUS_NAMES[code], details)

    def _unusable(self, finding: type[SocketUnusable], error: str = "") -> BadInput:
        where = Location("--socket")
        return BadInput([finding(path=str(self.socket), error=error, where=where)])
