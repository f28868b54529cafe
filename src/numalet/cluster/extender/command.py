"""The running extender: the watch and the servers, until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from starlette.applications import Starlette

from numalet.cluster.extender.app import application, probes
from numalet.cluster.extender.binding import BindGate
from numalet.cluster.extender.log import ExtenderLog, LogWriter
from numalet.cluster.extender.mismatches import ModelMismatches
from numalet.cluster.extender.state import ExtenderRules, ExtenderState
from numalet.cluster.extender.tls import RenewedTls, TlsFiles
from numalet.cluster.following import FollowedClasses
from numalet.cluster.leading import LeaseCandidate, LeaseName, LeaseTiming
from numalet.cluster.programs import until_signal
from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.core.model.value import Value, field
from numalet.io.kube_api import client
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together
from numalet.shared.web import addresses
from numalet.shared.web.accepting import MOST_CONNECTIONS
from numalet.shared.web.addresses import ListenAddress
from numalet.shared.web.http_service import LoopLog, serving

PATIENCE_SECONDS: Final = 300
"""Go's clients keep a connection for 90 s; closing it while in use would fail a request."""
MOST_PROBING: Final = 512
"""Limit of connections of kubelets and Prometheus, if these have a separate address."""
BETWEEN_SECONDS: Final = 0.5
"""Changes are processed within this time, or with the next request."""
_LEASE: Final = LeaseTiming(duration_seconds=4, deadline_seconds=3.0, retry_seconds=0.5)
"""Shorter than that of controllers: without an active extender the scheduler waits or guesses."""


class ExtenderOptions(Value, kw_only=True):
    access: Access
    listen: ListenAddress
    metrics: ListenAddress | None = None
    tls: TlsFiles | None = None
    is_open: bool = False
    binds: bool = False
    lease: LeaseName | None = None
    rules: ExtenderRules = field(default_factory=ExtenderRules)
    classes: FollowedClasses = field(default_factory=FollowedClasses)


def tls_files(
    certificate: Path | None, key: Path | None, client_ca: Path | None
) -> TlsFiles | None:
    """Return the files of the options, if any. Raises ``BadInput`` if one is missing."""
    if certificate is not None and key is not None:
        return TlsFiles(certificate, key, client_ca)
    if certificate is None and key is None and client_ca is None:
        return None
    given = "--tls-cert" if certificate else "--tls-key" if key else "--client-ca"
    missing = [n for n, file in (("--tls-cert", certificate), ("--tls-key", key)) if file is None]
    raise input_error.Required(
        f"{given} needs {' and '.join(missing)} too", where=Location(given)
    ).bad_input()


def check_open(address: ListenAddress, *, has_client_ca: bool) -> None:
    """Raise ``BadInput`` for a non-loopback address without client certificates."""
    if not address.is_loopback and not has_client_ca:
        raise input_error.Forbidden(
            f"{str(address)!r} is reachable from other machines, and callers learn of the "
            "cluster's pods; give --client-ca, --tls-cert and --tls-key, or "
            "--insecure-listen if only the scheduler can connect",
            where=Location("--listen"),
        ).bad_input()


async def live(options: ExtenderOptions, write: LogWriter) -> None:
    """Serve until a signal ends it.

    Raises ``BadInput`` if an address, the credentials or a TLS file cannot be used, or an address
    is open to others.
    """
    log = ExtenderLog(write)
    asyncio.get_running_loop().set_exception_handler(
        LoopLog(lambda message, keys: log.complain(message, **keys)).handle
    )
    state = ExtenderState(options.rules, options.classes, log=log)
    ModelMismatches(state)

    async def work() -> None:
        async with client.opened(options.access, "numalet-extender") as api, together() as group:
            if options.lease is not None:
                candidate = LeaseCandidate(api, options.lease, log.say, timing=_LEASE)
                # Only the leader answers: two replicas would promise the same room to different
                # pods.
                state.standing.leads = lambda: candidate.is_leader
                group.create_task(candidate.run())
            gate = BindGate(state, api) if options.binds else None
            if gate is not None:
                group.create_task(gate.work())
            group.create_task(state.live.follow(api))
            group.create_task(state.prewarming.run())
            group.create_task(_kept_fresh(state))
            # It ends first, so that open requests are answered while the rest still works.
            async with _served(options, state, gate):
                await asyncio.Event().wait()

    await until_signal(work())
    log.say("ended by a signal")


@contextlib.asynccontextmanager
async def _served(
    options: ExtenderOptions, state: ExtenderState, gate: BindGate | None
) -> AsyncIterator[None]:
    tls = _tls(options, state.log)
    has_client_ca = options.tls is not None and options.tls.client_ca is not None
    check_open(options.listen, has_client_ca=has_client_ca or options.is_open)
    async with contextlib.AsyncExitStack() as stack:
        app = application(state, gate=gate)
        await stack.enter_async_context(_listening(options.listen, app, tls, state))
        if options.metrics is not None:
            probing = _listening(options.metrics, probes(state), None, state, MOST_PROBING)
            await stack.enter_async_context(probing)
        yield


@contextlib.asynccontextmanager
async def _listening(
    address: ListenAddress,
    app: Starlette,
    tls: RenewedTls | None,
    state: ExtenderState,
    most: int = MOST_CONNECTIONS,
) -> AsyncIterator[None]:
    listener = addresses.bound(address)
    bound = ListenAddress(address.host, listener.getsockname()[1])
    context = tls.context if tls is not None else None
    # The scheduler waits no longer for an answer.
    stop_seconds = math.ceil(state.rules.timeout_seconds)
    async with serving(
        app,
        listener,
        context,
        idle_seconds=PATIENCE_SECONDS,
        stop_seconds=stop_seconds,
        most=most,
    ):
        state.log.say(f"serving {'http' if tls is None else 'https'}://{bound}")
        yield


def _tls(options: ExtenderOptions, log: ExtenderLog) -> RenewedTls | None:
    if options.tls is None:
        return None
    return RenewedTls(
        options.tls,
        log.finding,
        lambda: log.say("renewed certificates are used"),
    )


async def _kept_fresh(state: ExtenderState) -> None:
    """Process changes without requests, and log the notes about them."""
    is_known = False
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BETWEEN_SECONDS):
                await state.live.wait_for_change()
        state.log.notes(state.live.notes)
        if not is_known:
            # All nodes are built for the first time; probes are answered meanwhile.
            await state.live.value()
        state.refresh()
        if state.live.is_ready and not is_known:
            is_known = True
            # A cluster has no cycles; freezing keeps the collector from walking its objects.
            gc.freeze()
            state.prewarming.start()
        # A busy cluster changes many times a second; without this pause the rebuilds would delay
        # the scheduler's calls.
        await asyncio.sleep(BETWEEN_SECONDS)
