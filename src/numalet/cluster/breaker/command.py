"""The running breaker: watches, lease and pages, until a signal ends it.

Taints stay when it ends: each has an end, and the next breaker removes it earlier if there is room.
``undoing`` removes all of them at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from numalet.cluster.breaker import breaker_metrics
from numalet.cluster.breaker.breaker import Breaker, BreakerSettings
from numalet.cluster.leading import LeaseCandidate, LeaseName
from numalet.cluster.programs import until_signal
from numalet.core.model.value import Value, field, replace
from numalet.io.kube_api import client
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together
from numalet.shared.web import addresses, http_service
from numalet.shared.web.addresses import ListenAddress
from numalet.shared.web.http_service import LoopLog, serving


class BreakerOptions(Value, kw_only=True):
    """``metrics`` is the listen address, if there are pages; without a lease it always acts."""

    access: Access
    settings: BreakerSettings = field(default_factory=BreakerSettings)
    lease: LeaseName | None = None
    audit_file: Path | None = None
    metrics: ListenAddress | None = None


async def live(options: BreakerOptions, say: Callable[[str], None]) -> None:
    """Run until a signal ends it.

    Raises ``BadInput`` if the credentials or the address cannot be used, or the audit cannot be
    written.
    """
    asyncio.get_running_loop().set_exception_handler(
        LoopLog(lambda message, keys: say(http_service.loop_error_text(message, keys))).handle
    )
    with breaker_metrics.opened(options.audit_file) as audit_file:

        async def work() -> None:
            async with client.opened(options.access, "numalet-breaker") as api:
                candidate = None
                if options.lease is not None:
                    candidate = LeaseCandidate(api, options.lease, say)
                leads = (lambda: True) if candidate is None else (lambda: candidate.is_leader)
                breaker = Breaker(api, options.settings, audit_file, say, may_act=leads)
                async with _pages(options, breaker, say), together() as group:
                    group.create_task(breaker.follow())
                    acting = breaker.act() if candidate is None else candidate.lead(breaker.act)
                    group.create_task(acting)

        await until_signal(work())


@contextlib.asynccontextmanager
async def _pages(
    options: BreakerOptions, breaker: Breaker, say: Callable[[str], None]
) -> AsyncIterator[None]:
    if options.metrics is None:
        yield
        return
    app = breaker_metrics.application(
        breaker.meter, breaker.refresh_metrics, lambda: breaker.not_ready
    )
    listener = addresses.bound(options.metrics)
    address = replace(options.metrics, port=listener.getsockname()[1])
    async with serving(app, listener):
        say(f"serving http://{address}/metrics")
        yield
