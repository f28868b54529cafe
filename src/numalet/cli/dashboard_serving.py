"""Serves a dashboard on this machine until Ctrl-C, and prints the link to it."""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime

from numalet.cli import dashboard_links
from numalet.cli.dashboard_links import LinkFormat, PrintedLink
from numalet.cli.output import say
from numalet.cluster.programs import until_signal
from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.dashboard import application
from numalet.dashboard.remembering import remembering
from numalet.dashboard.sources import FleetSource, NodeSource
from numalet.shared.web import addresses, http_service
from numalet.shared.web.addresses import ListenAddress
from numalet.shared.web.http_service import LoopLog
from numalet.shared.web.http_service import serving as served_on

_LISTEN = "--listen"


def address(text: str) -> ListenAddress:
    """Parse the listen address. Raises ``BadInput`` unless it is a loopback address."""
    parsed = addresses.listen_address(_LISTEN, text, "127.0.0.1")
    if not parsed.is_loopback:
        raise input_error.Forbidden(
            "without a certificate, pages are served on loopback only, not on "
            f"{parsed.host!r}; leave the host out and use ssh -L PORT:127.0.0.1:PORT, or "
            "serve them by an agent with --kube-api",
            where=Location(_LISTEN),
        ).bad_input()
    return ListenAddress("127.0.0.1", parsed.port) if parsed.host == "localhost" else parsed


def serve(
    node: AbstractAsyncContextManager[NodeSource] | None,
    wanted: ListenAddress,
    *,
    is_opened: bool,
    fleet: FleetSource | None = None,
    output: LinkFormat = LinkFormat.TEXT,
) -> None:
    """Serve pages of these sources until a signal; open the node, and close it at the end.

    Raises ``BadInput`` if listening or opening the node fails.
    """
    work = serving(node, wanted, is_opened=is_opened, fleet=fleet, output=output)
    asyncio.run(until_signal(work))


async def serving(
    node: AbstractAsyncContextManager[NodeSource] | None,
    wanted: ListenAddress,
    *,
    is_opened: bool,
    fleet: FleetSource | None = None,
    output: LinkFormat = LinkFormat.TEXT,
) -> None:
    """Serve pages of these sources forever."""
    asyncio.get_running_loop().set_exception_handler(
        LoopLog(lambda message, keys: say(http_service.loop_error_text(message, keys))).handle
    )
    listener = addresses.bound(wanted)
    at = ListenAddress(wanted.host, listener.getsockname()[1])
    async with contextlib.AsyncExitStack() as stack:
        remembered = None
        if node is not None:
            source = await stack.enter_async_context(node)
            remembered = await stack.enter_async_context(
                remembering(source, None, lambda: datetime.now(UTC), report_bug=complain)
            )
        shown = application.served(remembered, fleet, report_bug=complain)
        await stack.enter_async_context(served_on(shown.app, listener))
        link = shown.link(f"http://{at}")
        dashboard_links.say(PrintedLink(link.url, link.seconds), output, is_opened=is_opened)
        say("Ctrl-C ends it.")
        await asyncio.Event().wait()


def complain(bug: Exception) -> None:
    """Print a bug of a page, or of the history, and continue."""
    say("".join(traceback.format_exception(bug)).rstrip())
