"""A client of the PodResources API of a kubelet or a numalet node."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value
from numalet.io import os_problem
from numalet.io.rpc import methods
from numalet.io.rpc import pod_resources_v1_pb2 as v1
from numalet.io.rpc import pod_resources_v1alpha1_pb2 as v1alpha1
from numalet.io.rpc.methods import Method

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)

_FLAG: Final = Location("--socket")
_FAR_END_IS_GONE: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class JsonAnswer(Value):
    """An answer in the JSON format of protocol buffers."""

    document: Mapping[str, Any]


class CallRefused(Value):
    """The server's error: the gRPC code as Go names it, and the text."""

    code: str
    text: str


class PodResourcesClient(Value):
    """Calls over one socket, each with a timeout; they raise ``BadInput`` if no server answers."""

    socket: Path
    timeout_seconds: float = 10.0

    def list_pods(self) -> JsonAnswer | CallRefused:
        """All pods with the resources of their containers."""
        return self._ask(methods.LIST, v1.ListPodResourcesRequest())

    def list_pods_v1alpha1(self) -> JsonAnswer | CallRefused:
        """All pods with the devices of their containers, by the older interface."""
        return self._ask(methods.OLD_LIST, v1alpha1.ListPodResourcesRequest())

    def allocatable(self) -> JsonAnswer | CallRefused:
        """The allocatable resources of the node."""
        return self._ask(methods.GET_ALLOCATABLE, v1.AllocatableResourcesRequest())

    def pod(self, namespace: str, name: str) -> JsonAnswer | CallRefused:
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
            raise self._unusable(
                f"no server listens at {str(self.socket)!r}: {os_problem.text(error)}; check that "
                "the kubelet or the numalet agent runs and that this is its PodResources socket"
            ) from None
        if not is_socket:
            raise input_error.Invalid(
                f"{str(self.socket)!r} is not a socket; name the PodResources socket of a node",
                where=_FLAG,
            ).bad_input()
        with grpc.insecure_channel(f"unix:{self.socket}", options=methods.OPTIONS) as channel:
            yield channel

    def _refused(self, error: grpc.RpcError) -> CallRefused:
        # Errors of a channel are also calls, which have the code; the type stubs lack that.
        assert isinstance(error, grpc.Call)
        code, details = error.code(), error.details() or ""
        if code in _FAR_END_IS_GONE:
            raise self._unusable(f"no answer from {str(self.socket)!r}: {details}")
        return CallRefused(methods.STATUS_NAMES[code], details)

    def _unusable(self, problem: str) -> BadInput:
        return input_error.Unavailable(problem, where=_FLAG).bad_input()
