"""The methods of the kubelet's gRPC interfaces by full name, with their message types."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from numalet.core.model.value import Value
from numalet.io.rpc import device_plugin_v1beta1_pb2 as plugin
from numalet.io.rpc import plugin_registration_v1_pb2 as registration
from numalet.io.rpc import pod_resources_v1_pb2 as v1
from numalet.io.rpc import pod_resources_v1alpha1_pb2 as v1alpha1

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)

LARGEST_MESSAGE_BYTES: Final = 16 << 20
OPTIONS: Final = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
    # Unix sockets need no proxy, but gRPC would use one from the environment.
    ("grpc.enable_http_proxy", 0),
    # Go servers refuse other authorities of clients on Unix sockets.
    ("grpc.default_authority", "localhost"),
)


class Method(Value, Generic[Q, A]):
    service: str
    name: str
    request: type[Q]
    answer: type[A]

    @property
    def path(self) -> str:
        """The full name, as on the wire."""
        return f"/{self.service}/{self.name}"

    def call(self, channel: grpc.Channel) -> grpc.UnaryUnaryMultiCallable[Q, A]:
        return channel.unary_unary(
            self.path,
            request_serializer=self.request.SerializeToString,
            response_deserializer=self.answer.FromString,
        )

    def call_async(self, channel: grpc.aio.Channel) -> grpc.aio.UnaryUnaryMultiCallable[Q, A]:
        return channel.unary_unary(
            self.path,
            request_serializer=self.request.SerializeToString,
            response_deserializer=self.answer.FromString,
        )

    def stream_async(self, channel: grpc.aio.Channel) -> grpc.aio.UnaryStreamMultiCallable[Q, A]:
        return channel.unary_stream(
            self.path,
            request_serializer=self.request.SerializeToString,
            response_deserializer=self.answer.FromString,
        )


Handler = Callable[[Any, Any], Awaitable[Any]]
"""Answers a request, given the call's context."""


def services(
    handlers: Iterable[tuple[Method[Any, Any], Handler]],
) -> tuple[grpc.GenericRpcHandler, ...]:
    by_service: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = {}
    for method, handler in handlers:
        by_service.setdefault(method.service, {})[method.name] = (
            grpc.unary_unary_rpc_method_handler(
                handler,
                request_deserializer=method.request.FromString,
                response_serializer=method.answer.SerializeToString,
            )
        )
    return tuple(
        grpc.method_handlers_generic_handler(service, methods)
        for service, methods in by_service.items()
    )


_LISTER: Final = "v1.PodResourcesLister"
_OLD_LISTER: Final = "v1alpha1.PodResourcesLister"
_PLUGIN: Final = "v1beta1.DevicePlugin"
_REGISTRATION: Final = "pluginregistration.Registration"

LIST: Final = Method(_LISTER, "List", v1.ListPodResourcesRequest, v1.ListPodResourcesResponse)
GET_ALLOCATABLE: Final = Method(
    _LISTER,
    "GetAllocatableResources",
    v1.AllocatableResourcesRequest,
    v1.AllocatableResourcesResponse,
)
GET: Final = Method(_LISTER, "Get", v1.GetPodResourcesRequest, v1.GetPodResourcesResponse)
OLD_LIST: Final = Method(
    _OLD_LISTER, "List", v1alpha1.ListPodResourcesRequest, v1alpha1.ListPodResourcesResponse
)
REGISTER: Final = Method("v1beta1.Registration", "Register", plugin.RegisterRequest, plugin.Empty)
PLUGIN_OPTIONS: Final = Method(
    _PLUGIN, "GetDevicePluginOptions", plugin.Empty, plugin.DevicePluginOptions
)
LIST_AND_WATCH: Final = Method(_PLUGIN, "ListAndWatch", plugin.Empty, plugin.ListAndWatchResponse)
PREFERRED: Final = Method(
    _PLUGIN,
    "GetPreferredAllocation",
    plugin.PreferredAllocationRequest,
    plugin.PreferredAllocationResponse,
)
ALLOCATE: Final = Method(_PLUGIN, "Allocate", plugin.AllocateRequest, plugin.AllocateResponse)
PRE_START: Final = Method(
    _PLUGIN, "PreStartContainer", plugin.PreStartContainerRequest, plugin.PreStartContainerResponse
)
GET_INFO: Final = Method(
    _REGISTRATION, "GetInfo", registration.InfoRequest, registration.PluginInfo
)
NOTIFY: Final = Method(
    _REGISTRATION,
    "NotifyRegistrationStatus",
    registration.RegistrationStatus,
    registration.RegistrationStatusResponse,
)

STATUS_NAMES: Final[Mapping[grpc.StatusCode, str]] = MappingProxyType(
    {code: code.name.title().replace("_", "") for code in grpc.StatusCode}
)
"""gRPC's status codes as Go names them, such as ``ResourceExhausted``."""
