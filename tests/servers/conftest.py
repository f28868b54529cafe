"""The API of an agent in memory on a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from numalet.io.agent_client.client import AgentClient
from servers.served import Api, served


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root folder, gone after the test."""
    return tmp_path


@pytest.fixture
def api(root: Path) -> Iterator[Api]:
    """The API of a new agent."""
    with served(root / "agent.sock") as found:
        yield found
        assert found.bugs == []


@pytest.fixture
def client(api: Api) -> Iterator[AgentClient]:
    """A client of it."""
    with api.client() as found:
        yield found
