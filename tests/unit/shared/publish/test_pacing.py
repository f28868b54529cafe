"""When objects are written: bounds that hold for every chance."""

from __future__ import annotations

import pytest

from numalet.shared.publish import pacing
from numalet.shared.publish.pacing import WriteInterval

INTERVAL = WriteInterval(at_most_every_seconds=2.0, refresh_seconds=3600.0)
FRACTIONS = (0.0, 0.5, 0.999999)


def test_nothing_is_due_before_there_is_anything() -> None:
    assert pacing.begun().due_at == float("inf")


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_a_change_is_written_within_a_second(fraction: float) -> None:
    first = pacing.changed(pacing.begun(), INTERVAL, 100.0, fraction)
    rested = pacing.written(INTERVAL, 100.0, fraction)
    later = pacing.changed(rested, INTERVAL, 200.0, fraction)

    assert 100.0 <= first.due_at < 101.0
    assert 200.0 <= later.due_at < 201.0


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_two_writes_are_an_interval_apart(fraction: float) -> None:
    written = pacing.written(INTERVAL, 100.0, fraction)
    changed = pacing.changed(written, INTERVAL, 100.1, fraction)

    assert 102.0 <= changed.due_at <= 102.2


def test_further_changes_put_nothing_off() -> None:
    changed = pacing.changed(pacing.begun(), INTERVAL, 100.0, 0.5)

    assert pacing.changed(changed, INTERVAL, 100.2, 0.9) == changed


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_what_does_not_change_is_written_once_an_hour(fraction: float) -> None:
    assert 3340.0 <= pacing.written(INTERVAL, 100.0, fraction).due_at <= 3700.0


def test_a_change_that_was_undone_leaves_the_refresh_alone() -> None:
    written = pacing.written(INTERVAL, 100.0, 0.0)
    changed = pacing.changed(written, INTERVAL, 101.0, 0.0)

    assert pacing.reverted(changed, INTERVAL, 0.0) == written


def test_a_change_that_failed_to_be_written_is_written_even_if_undone() -> None:
    changed = pacing.changed(pacing.written(INTERVAL, 100.0, 0.0), INTERVAL, 101.0, 0.0)
    failed = pacing.refused(changed, 102.0, 0.0)
    never = pacing.changed(pacing.begun(), INTERVAL, 101.0, 0.0)

    assert pacing.reverted(failed, INTERVAL, 0.0) == failed
    assert pacing.reverted(never, INTERVAL, 0.0) == never


def test_failures_are_repeated_later_and_later() -> None:
    times = pacing.changed(pacing.begun(), INTERVAL, 0.0, 0.0)
    waits = []
    for _ in range(9):
        times = pacing.refused(times, 0.0, 0.0)
        waits.append(times.due_at)

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert pacing.refused(times, 0.0, 0.999999).due_at < 90.0


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_a_server_that_was_away_is_asked_within_5_seconds(fraction: float) -> None:
    times = pacing.changed(pacing.begun(), INTERVAL, 0.0, fraction)
    waits = []
    for _ in range(40):
        times = pacing.unreachable(times, 0.0, fraction)
        waits.append(times.due_at)

    assert waits[0] >= 1
    assert 3 <= max(waits) < 5
    # And its first refusals are not for the time when it was away.
    assert pacing.refused(times, 0.0, fraction).due_at < 2


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_the_servers_wish_is_a_minimum(fraction: float) -> None:
    changed = pacing.changed(pacing.begun(), INTERVAL, 0.0, 0.0)
    failed = pacing.refused(changed, 10.0, fraction, retry_after_seconds=120.0)

    assert 130.0 <= failed.due_at <= 190.0
    # A change meanwhile does not ask sooner; nor does one after a refresh that failed.
    assert pacing.changed(failed, INTERVAL, 11.0, fraction) == failed
    refresh = pacing.refused(pacing.written(INTERVAL, 0.0, 0.0), 3600.0, fraction, 120.0)
    assert pacing.changed(refresh, INTERVAL, 3601.0, fraction).due_at == refresh.due_at


def test_thousands_of_nodes_do_not_write_at_one_moment() -> None:
    due = {
        round(pacing.changed(pacing.begun(), INTERVAL, 0.0, each / 5000).due_at, 3)
        for each in range(5000)
    }

    assert len(due) > 200
