"""When two pods can not both have a port of the host."""

from __future__ import annotations

import pytest

from numalet.core.model.node_constraints import HostPort

WEB = HostPort(80, address="10.0.0.1")


@pytest.mark.parametrize(
    ("other", "conflicts"),
    [
        (WEB, True),
        (HostPort(80), True),
        (HostPort(80, address="10.0.0.2"), False),
        (HostPort(81, address="10.0.0.1"), False),
        (HostPort(80, "UDP", "10.0.0.1"), False),
    ],
    ids=["same", "every address", "other address", "other number", "other protocol"],
)
def test_ports_conflict_both_ways(other: HostPort, *, conflicts: bool) -> None:
    assert WEB.conflicts_with(other) is conflicts
    assert other.conflicts_with(WEB) is conflicts
