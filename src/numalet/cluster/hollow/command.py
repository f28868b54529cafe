"""``numalet hollow``: reads and checks the input, then runs a fleet."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from numalet.cluster.hollow import kinds
from numalet.cluster.hollow.fleet import HollowFleet
from numalet.cluster.hollow.fleet_members import (
    Fault,
    FleetOptions,
    Member,
    StateFolder,
    begun_again,
    members_of,
    planned_faults,
)
from numalet.cluster.hollow.kinds import KindInputs
from numalet.cluster.hollow.node_document import NodeNaming
from numalet.cluster.hollow.publishing import HollowPublisher
from numalet.core.model import go_text, grammar, input_error, node_constraints
from numalet.core.model.findings import Finding, Findings, Location
from numalet.core.model.value import Value
from numalet.core.workload.records import EventKind
from numalet.io.documents.cluster import node_labels
from numalet.io.kube_api import access, client
from numalet.io.kube_api.access import Access
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.tasks import beside, together

MOST_NODES: Final = 10_000
_PREFIX: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_LONGEST_PREFIX: Final = 57
"""The name has to be a valid label with a number appended."""
_EVENTS: Final = {
    "all": frozenset(EventKind),
    "warnings": frozenset({EventKind.WARNING}),
    "none": frozenset[EventKind](),
}


class HollowInputs(Value, kw_only=True):
    """The arguments of the user, as texts if they are not parsed yet."""

    nodes: int
    kinds: KindInputs
    kubeconfig: Path | None = None
    context: str | None = None
    pool: str = ""
    prefix: str = "hollow"
    labels: str | None = None
    untaints: bool = False
    events: str = "all"
    publishes: bool = True
    has_topology: bool = False
    has_placement: bool = False
    has_kai: bool = False
    state: Path | None = None
    faults: Sequence[tuple[Fault, str]] = ()
    reboot_lasts: str = "10s"
    lasts: str | None = None
    removes: bool = False


class PreparedFleet(Value, kw_only=True):
    """A fleet that is ready to start; without ``lasts_seconds`` it runs forever."""

    members: dict[str, Member]
    options: FleetOptions
    access: Access
    publishes: bool
    has_topology: bool
    has_placement: bool
    has_kai: bool
    lasts_seconds: float | None
    removes: bool
    notes: tuple[Finding, ...] = ()


def prepare(inputs: HollowInputs) -> PreparedFleet:
    """Return the fleet for these inputs.

    Raises ``BadInput`` with everything that is wrong in them.
    """
    findings = Findings()
    _check_options(inputs, findings)
    own = findings.collect(lambda: node_labels.of_pods(None, inputs.labels or "", ()))
    reboot_seconds = _seconds("--reboot-lasts", inputs.reboot_lasts, findings)
    lasts = None if inputs.lasts is None else _seconds("--for", inputs.lasts, findings)
    made = findings.collect(lambda: kinds.kinds_of(inputs.kinds))
    to = findings.collect(lambda: access.of(inputs.kubeconfig, inputs.context))
    names = [f"{inputs.prefix}-{at}" for at in range(min(inputs.nodes, MOST_NODES))]
    planned = findings.collect(lambda: planned_faults(inputs.faults, names or [inputs.prefix]))
    findings.raise_errors()
    assert made is not None
    assert to is not None
    assert own is not None
    all_kinds, notes = made
    namings = [
        NodeNaming(
            name=name,
            prefix=inputs.prefix,
            kind=all_kinds[at % len(all_kinds)].name,
            pool=inputs.pool,
            labels=own.labels,
        )
        for at, name in enumerate(names)
    ]
    options = FleetOptions(
        untaints=inputs.untaints,
        events=_EVENTS[inputs.events],
        faults=planned or (),
        reboot_seconds=reboot_seconds,
        state=None if inputs.state is None else StateFolder(inputs.state),
    )
    members = members_of(namings, all_kinds)
    if options.state is not None:
        begun_again(members, options.state)
    return PreparedFleet(
        members=members,
        options=options,
        access=to,
        publishes=inputs.publishes,
        has_topology=inputs.has_topology,
        has_placement=inputs.has_placement,
        has_kai=inputs.has_kai,
        lasts_seconds=lasts,
        removes=inputs.removes,
        notes=notes,
    )


async def live(
    prepared: PreparedFleet, say: Callable[[str], None], advance: Callable[[], None]
) -> None:
    """Register the nodes and run until a signal or the end of the time.

    Raises ``BadInput`` if the API server refuses, is unreachable, or has a node with one of the
    names.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    try:
        async with client.opened(prepared.access, "numalet-hollow") as api:
            make_publisher = None
            if prepared.publishes or prepared.has_topology or prepared.has_kai:
                make_publisher = partial(
                    HollowPublisher,
                    has_numa_node=prepared.publishes,
                    has_topology=prepared.has_topology,
                    has_placement=prepared.has_placement,
                    has_kai=prepared.has_kai,
                )
            fleet = HollowFleet(api, prepared.members, prepared.options, say, make_publisher)
            await _until(ended, fleet, prepared, say, advance)
            if prepared.removes:
                await fleet.remove()
                say(grammar.singular(f"{len(prepared.members)} nodes are removed"))
    except (ApiRefused, ApiUnreachable) as error:
        raise input_error.Unavailable(
            f"the API server refuses or does not answer: {error!s}"
        ).bad_input() from error
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _until(
    ended: asyncio.Event,
    fleet: HollowFleet,
    prepared: PreparedFleet,
    say: Callable[[str], None],
    advance: Callable[[], None],
) -> None:
    async def register() -> None:
        await fleet.register(advance)
        say(f"{len(fleet.members)} hollow nodes are registered at {prepared.access.server}")

    async def live() -> None:
        # Registered nodes start while others still wait.
        async with together() as group:
            group.create_task(fleet.run())
            group.create_task(register())

    async with beside(live()) as living, beside(ended.wait()) as ending:
        await asyncio.wait(
            (living, ending),
            timeout=prepared.lasts_seconds,
            return_when=asyncio.FIRST_COMPLETED,
        )


def _check_options(inputs: HollowInputs, findings: Findings) -> None:
    if not 1 <= inputs.nodes <= MOST_NODES:
        findings.add(
            input_error.Invalid(
                f"cannot create {inputs.nodes} nodes; for more, run several commands with a "
                "--name-prefix each",
                expected=f"1 to {MOST_NODES}",
                where=Location("--nodes"),
            )
        )
    if len(inputs.prefix) > _LONGEST_PREFIX or not _PREFIX.fullmatch(inputs.prefix):
        findings.add(
            input_error.Invalid(
                f"invalid prefix of node names {inputs.prefix!r}",
                expected="lower-case letters, digits, '-' and '.', such as 'hollow'",
                where=Location("--name-prefix"),
            )
        )
    if inputs.events not in _EVENTS:
        findings.add(
            input_error.Invalid(
                f"invalid value {inputs.events!r}",
                expected="all, warnings or none",
                where=Location("--events"),
            )
        )
    if inputs.pool and not node_constraints.is_label_value(inputs.pool):
        findings.add(
            input_error.Invalid(
                f"invalid label value {inputs.pool!r}",
                expected=(
                    "up to 63 letters, digits, '-', '_' and '.', the first and last a letter or "
                    "digit"
                ),
                where=Location("--pool"),
            )
        )


def _seconds(option: str, text: str, findings: Findings) -> float:
    seconds = go_text.duration_seconds_of(text)
    if seconds is None:
        findings.add(
            input_error.Invalid(
                f"invalid duration {text!r}",
                expected="30s, 5m or 1h30m, for example",
                where=Location(option),
            )
        )
    return seconds or 0.0
