"""Fixtures of tests that run inside a guest.

Of agents nothing is imported before a test wants one: it takes a guest half a minute, and who reads
the machine alone needs none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from lab.guest.groups import Group

if TYPE_CHECKING:
    from running.agent_processes import Forks

# On a busy machine systemd in a guest may answer later than after the usual 25 seconds.
os.environ["SYSTEMD_BUS_TIMEOUT"] = "10min"


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Copies of one interpreter: to load Python's modules takes half a minute in a guest."""
    from lab.guest.node_agent import PATIENCE_SECONDS
    from running import agent_processes

    with agent_processes.forks_of_this_process(PATIENCE_SECONDS) as made:
        yield made


@pytest.fixture
def group() -> Iterator[Group]:
    """A control group of its own, with all controllers; gone afterwards, with what is in it."""
    made = Group.top("test")
    yield made
    made.remove()
