"""Runs a credential plugin, which prints a token or a client certificate."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.io.kube_api.values import CredentialPlugin
from numalet.io.tasks import together

TIMEOUT_SECONDS: Final = 60.0
_LARGEST_BYTES: Final = 1 << 20
_LONGEST_SHOWN: Final = 400


@dataclass(frozen=True, slots=True)
class PluginCredential:
    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    expires: datetime | None = None


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _Printed(msgspec.Struct, rename="camel"):
    status: _Status
    kind: str = "ExecCredential"
    api_version: str = ""


async def run(
    plugin: CredentialPlugin, timeout_seconds: float = TIMEOUT_SECONDS
) -> PluginCredential:
    """Raises ``BadInput`` if it does not start, fails, prints something else, or takes too long."""
    code, out, err = await _output(plugin, timeout_seconds)
    if code != 0:
        raise _failed(plugin, f"ended with {_ending(code)}{_shown(err)}")
    try:
        printed = msgspec.json.decode(out, type=_Printed)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _failed(plugin, f"did not print an ExecCredential ({error})") from None
    status = printed.status
    if printed.kind != "ExecCredential" or printed.api_version not in ("", plugin.api_version):
        got = f"{printed.kind} of {printed.api_version}"
        raise _failed(plugin, f"printed {got} where ExecCredential of {plugin.api_version} is due")
    certificate, key = status.client_certificate_data or "", status.client_key_data or ""
    if bool(certificate) != bool(key):
        raise _failed(plugin, "printed a client certificate without its key, or a key alone")
    if not status.token and not certificate:
        raise _failed(plugin, "printed neither a token nor a client certificate")
    return PluginCredential(
        status.token or "", certificate.encode(), key.encode(), status.expiration_timestamp
    )


async def _output(plugin: CredentialPlugin, timeout_seconds: float) -> tuple[int, bytes, bytes]:
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.arguments,
            # An interactive plugin must fail at once instead of waiting for a terminal that is not
            # there.
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **dict(plugin.environment), **_handed(plugin)},
            # A new process group, so that its children are killed with it.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise _failed(plugin, f"cannot be started ({problem})") from None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(timeout_seconds):
            async with together() as reading:
                out = reading.create_task(_read(process.stdout))
                err = reading.create_task(_read(process.stderr))
            code = await process.wait()
    except TimeoutError:
        raise _failed(plugin, f"was not done within {timeout_seconds:g} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return code, out.result(), err.result()


async def _read(stream: asyncio.StreamReader) -> bytes:
    kept = bytearray()
    while piece := await stream.read(1 << 16):
        # Read on beyond the limit, or the plugin would block on a full pipe.
        kept += piece[: max(0, _LARGEST_BYTES - len(kept))]
    return bytes(kept)


def _handed(plugin: CredentialPlugin) -> dict[str, str]:
    """The environment variable with the request, as client-go sets it."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = json.loads(plugin.cluster)
    request = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return {"KUBERNETES_EXEC_INFO": json.dumps(request)}


def _ending(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {-code}"


def _shown(text: bytes) -> str:
    words = " ".join(text.decode("utf-8", "replace").split())
    return f": {words[:_LONGEST_SHOWN]}" if words else ""


def _failed(plugin: CredentialPlugin, problem: str) -> BadInput:
    hint = f"; {' '.join(plugin.hint.split())}" if plugin.hint else ""
    return BadInput(
        [
            input_error.Unavailable(
                f"credential plugin {plugin.command!r} {problem}{hint}", where=plugin.where
            )
        ]
    )
