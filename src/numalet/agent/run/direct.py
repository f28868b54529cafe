"""``numalet run`` beside an agent without loading the engine: one request, one order, the command.

The agent decides. Whatever is not plain (no agent, a refusal, an agent that is slow) is left to
``command``, which repeats the request for the same pod and gets the same answer: an agent knows a
pod by its uid and its process.
"""

from __future__ import annotations

# The part of ``socket`` in C: the rest takes a quarter of the time in which Python starts.
import _socket
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from types import SimpleNamespace

from numalet.agent.host.runtime.shim import process_tree
from numalet.agent.host.runtime.shim.attempt_files import CONTAINER, RUNS
from numalet.io.agent_client import root as root_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from numalet.agent.run.foreground import AcceptedOrder, Ended, ReadyPlace

NAMESPACE: Final = "run"
PATH: Final = f"/apis/numalet.dev/v1alpha1/namespaces/{NAMESPACE}"
_LONGEST_NAME: Final = 40
_TIMEOUT_SECONDS: Final = 60.0
_ORDER_SECONDS: Final = 2.0
"""An agent on a busy machine takes longer; then ``command`` goes on."""

_left_to_command: list[str] = []
"""The uid of the pod of this process, if ``run`` did not run it."""


def pod_uid() -> str:
    """A new uid; that of the request of ``run`` if it has sent one."""
    if _left_to_command:
        return _left_to_command.pop()
    with open("/proc/sys/kernel/random/uuid", encoding="utf-8") as file:
        return file.read().strip()


def object_name(program: str, uid: str) -> str:
    """Return a unique object name that contains the program's name."""
    plain = re.sub(r"[^a-z0-9]+", "-", program.lower())[:_LONGEST_NAME].strip("-")
    return f"{plain or 'command'}-{uid[:8]}"


def manifest(
    name: str, uid: str, amounts: Mapping[str, str], command: Sequence[str]
) -> Mapping[str, Any]:
    """Build the Pod object that the agent receives and shows."""
    described = {
        "name": CONTAINER,
        # Arguments may be arbitrary bytes, but JSON needs valid UTF-8.
        "command": [word.encode("utf-8", "replace").decode() for word in command],
        "resources": {"requests": amounts, "limits": amounts},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid},
        "spec": {"restartPolicy": "Never", "containers": [described]},
    }


def own_process() -> Mapping[str, str | int]:
    """Identify this process, for whose lifetime a place is allocated."""
    own = process_tree.process(os.getpid())
    assert own is not None
    return {
        "pid": own.pid,
        "ticks": own.started,
        "boot": process_tree.boot_id(),
        "pidNamespace": process_tree.pid_namespace(),
    }


class Finished(SimpleNamespace):
    ended: Ended
    ready: ReadyPlace
    place: Mapping[str, Any]


def run(
    root: str,
    amounts: Mapping[str, str],
    command: Sequence[str],
    report: Callable[[Mapping[str, Any]], None],
) -> Finished | None:
    """Run a command beside the agent of this folder; None if ``command`` has to do it.

    ``report`` gets the agent's answer before the command starts.
    """
    uid = pod_uid()
    place = None if _may_be_doubled(root) else _place(root, uid, amounts, command)
    if place is None or not place["admitted"] or not place["environment"]:
        return None
    from numalet.agent.run import foreground

    accepted = _order(f"{root}/{RUNS}/{uid}/{CONTAINER}/1", foreground.accept_order)
    if accepted is None:
        return None
    try:
        ready = foreground.ready_place(accepted, place["environment"], command)
        report(place)
        return Finished(ended=foreground.run(ready), ready=ready, place=place)
    finally:
        foreground.hand_back(accepted)


def _may_be_doubled(root: str) -> bool:
    """Whether this is another user's folder, or another agent may run; ``command`` finds out.

    Raises nothing: a folder that cannot be read has no agent for this user.
    """
    with suppress(OSError):
        own = os.stat(root)
        if own.st_uid != os.geteuid():
            return True
        with open("/proc/locks", encoding="utf-8") as file:
            locks = file.read()
        for other in root_folder.usual():
            with suppress(OSError):
                is_other = os.stat(other).st_ino != own.st_ino
                if is_other and f":{os.stat(f'{other}/{root_folder.LOCK}').st_ino} " in locks:
                    return True
        return False
    return True


def _place(
    root: str, uid: str, amounts: Mapping[str, str], command: Sequence[str]
) -> Mapping[str, Any] | None:
    """Return the agent's answer; None if there is no agent, or an answer of another form."""
    name = object_name(command[0].rpartition("/")[2], uid)
    with suppress(OSError, ValueError), closing(_socket.socket(_socket.AF_UNIX)) as client:
        client.settimeout(_TIMEOUT_SECONDS)
        client.connect(f"{root}/{root_folder.SOCKET_NAME}")
        _left_to_command.append(uid)
        client.sendall(_request(manifest(name, uid, amounts, command)))
        # Loaded while the agent decides.
        from numalet.agent.run import child
        from numalet.agent.run import foreground as foreground

        # Cached: later the parent may be another process.
        child.ignored_by_caller()
        return _answer(client)
    return None


def _request(pod: Mapping[str, Any]) -> bytes:
    """An HTTP request; its client in the standard library takes as long to load as all of this."""
    body = json.dumps(pod).encode()
    query = "&".join(f"{name}={value}" for name, value in own_process().items())
    lines = (
        f"POST {PATH}/runs?{query} HTTP/1.1",
        "Host: localhost",
        "Accept: application/json",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


def _answer(client: _socket.socket) -> Mapping[str, Any]:
    """Read the answer to its end. Raises ``OSError``, and ``ValueError`` if it is not a document.

    An error of the API, and an older agent, have no such fields.
    """
    pieces = []
    while piece := client.recv(1 << 16):
        pieces.append(piece)
    document = json.loads(b"".join(pieces).partition(b"\r\n\r\n")[2])
    return {"admitted": False, "environment": None, **document}


def _order(folder: str, accept: Callable[[str], AcceptedOrder | None]) -> AcceptedOrder | None:
    last = time.monotonic() + _ORDER_SECONDS
    while (accepted := accept(folder)) is None and time.monotonic() < last:
        time.sleep(0.001)
    return accepted
