"""Rules of the static CPU policy that only some releases have."""

from __future__ import annotations

import pytest

from numalet.core.hints.provider import ZERO_HINT, Refused
from numalet.core.managers.cpu import take_distributed
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.take_distributed import Sockets
from numalet.core.model.value import replace
from values import cpu_builders
from values.cpu_builders import discovered, mask, text

PREFERRED = Sockets(cuts_given_shares=True, are_preferred=True)
"""With align-by-socket."""
CUT = Sockets(cuts_given_shares=True)
"""Without it."""


@pytest.mark.parametrize(
    ("sockets", "taken"),
    [
        (take_distributed.AS_BEFORE, "9-12,20-23"),
        (CUT, "9-12,20-23"),
        (PREFERRED, "7,9-15"),
    ],
)
def test_nodes_in_one_socket_win(sockets: Sockets, taken: str) -> None:
    # As recorded: four nodes with eight CPUs, of which 1, 7, 4 and 4 are free.
    of = discovered(2, 4, 8, 1)
    free = mask("7,9-15,20-23,28-31")

    assert text(take_distributed.take(of, free, 8, sockets=sockets)) == taken


def test_one_node_with_room_wins_over_a_socket() -> None:
    of = discovered(2, 4, 8, 1)
    free = mask("0-3,8-15,16-19")

    assert text(take_distributed.take(of, free, 8, sockets=PREFERRED)) == "8-15"


def test_cpus_that_a_container_has_may_break_cores() -> None:
    before = cpu_builders.policy(cpu_builders.shape(1, 1, 4, 2), "0", "full-pcpus-only")
    after = replace(
        before,
        picker=replace(before.picker, rules=replace(before.rules, kept_cpus_may_break_cores=True)),
    )
    held = CpuLedger(cpu_builders.cpus("0,4-7"), {"u": {"c0": cpu_builders.cpus("1-3")}})
    pod = cpu_builders.pod("u", cpu_builders.container("c0", "3"))
    (container,) = pod.app_containers

    assert isinstance(before.allocate(held, pod, container, ZERO_HINT), Refused)
    kept = after.allocate(held, pod, container, ZERO_HINT)
    assert isinstance(kept, CpuLedger)
    assert kept.exclusive == held.exclusive
    # A container without CPUs is refused as before.
    assert isinstance(after.allocate(CpuLedger(held.default), pod, container, ZERO_HINT), Refused)
