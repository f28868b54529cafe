"""The extender at work: the watch and the server, until a signal comes."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from numalet.agent.servers.api import listening
from numalet.cluster.extender.app import application
from numalet.cluster.extender.findings import ExtenderAddressUnusable
from numalet.cluster.extender.state import ExtenderRules, ExtenderState
from numalet.cluster.following import FollowedClasses
from numalet.cluster.signals import until_signal
from numalet.core.model.findings import BadInput
from numalet.io.kube_api import client
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderOptions:
    """What to serve where."""

    access: Access
    host: str
    port: int
    rules: ExtenderRules = field(default_factory=ExtenderRules)
    classes: FollowedClasses = field(default_factory=FollowedClasses)


async def live(options: ExtenderOptions, say: Callable[[str], None]) -> None:
    """Serve until a signal comes.

    Raises:
        BadInput: nothing can listen at the address, or the credentials can not be used.
    """
    state = ExtenderState(options.rules, options.classes)
    listener = _bound(options)
    port = listener.getsockname()[1]

    async def work() -> None:
        async with (
            client.opened(options.access, "numalet-extender") as api,
            listening.serving(application(state), listener),
            together() as group,
        ):
            say(f"serving http://{options.host}:{port}")
            group.create_task(state.live.follow(api))
            group.create_task(state.prewarming.run())
            await state.live.wait_until_ready()
            state.refresh()
            # A cluster has no cycles: what stays for long is not to be walked over again and again.
            gc.freeze()
            state.prewarming.start()
            say(f"ready: {len(state.nodes.nodes)} nodes are known")

    await until_signal(work())


def _bound(options: ExtenderOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = listening.ListeningSocket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, options.port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        problem = getattr(error, "strerror", None) or str(error)
        address = f"{options.host}:{options.port}"
        raise BadInput([ExtenderAddressUnusable(address=address, problem=problem)]) from None
    return listener
