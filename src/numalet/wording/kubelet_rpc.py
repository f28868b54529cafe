"""The kubelet's own texts in errors of its gRPC interfaces, v1.32."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

RATE_LIMITED: Final = "rejected by rate limit"
POD_RESOURCES_GET_DISABLED: Final = "PodResources API Get method disabled"


def pod_resources_not_found(name: str, namespace: str) -> str:
    """The error of ``Get`` for an unknown pod."""
    return f"pod {name} in namespace {namespace} not found"


DIAL_FAILED: Final = "failed to dial device plugin: context deadline exceeded"


def error_text(code: str, details: str) -> str:
    """Format an error of a call as Go does; ``code`` is Go's word."""
    return f"rpc error: code = {code} desc = {details}"


def options_failed(error: str) -> str:
    """The answer to a plugin whose options could not be read."""
    return f"failed to get device plugin options: {error}"


def endpoint_stopped(resource: str) -> str:
    """The error of a call to a stopped plugin; the kubelet prints internals instead of the name."""
    return f"endpoint {resource} has been stopped"


def endpoint_missing(resource: str) -> str:
    """The error if no plugin of a registered resource was ever connected."""
    return f"endpoint not found in cache for a registered resource: {resource}"


def pre_start_failed(error: str) -> str:
    """Why a container waits whose plugin refused its start."""
    return f"device plugin PreStartContainer rpc failed with err: {error}"


def unsupported_version(version: str) -> str:
    """The answer to a plugin of another API version."""
    return (
        f'requested API version "{version}" is not supported by kubelet.'
        ' Supported version is ["v1beta1"]'
    )


def invalid_resource(name: str) -> str:
    """The answer to a plugin with an invalid name of an extended resource."""
    return f'the ResourceName "{name}" is invalid'


_REGISTER: Final = "RegisterPlugin error -- "


def no_handler(kind: str, path: str) -> str:
    """The answer to a discovered plugin of an unknown kind."""
    return f"{_REGISTER}no handler registered for plugin type: {kind} at socket {path}"


def no_common_version(versions: Iterable[str]) -> str:
    """The answer to a discovered device plugin with other versions."""
    named = " ".join(versions)
    return (
        f"{_REGISTER}plugin validation failed with err: manager version, v1beta1, is not among"
        f" plugin supported versions [{named}]"
    )


def invalid_plugin_name(name: str) -> str:
    """The answer to a discovered device plugin with an invalid resource name."""
    return (
        f"{_REGISTER}plugin validation failed with err: invalid name of device plugin socket:"
        f" {invalid_resource(name)}"
    )


def registration_failed(error: str) -> str:
    """The answer to a discovered device plugin that cannot be connected."""
    return f"{_REGISTER}plugin registration failed with err: {error}"


def invalid_endpoint(name: str) -> str:
    """The answer to a plugin with an endpoint outside the plugins' folder.

    The kubelet does not check this; the text is numalet's.
    """
    return f'the endpoint "{name}" is not a file name in the device plugin directory'
