"""The claim on the machine: only processes of one root folder pin at a time."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from numalet.agent.controller import announcements
from numalet.agent.controller.announcements import Announced
from numalet.agent.findings.run import RunOtherNodeState
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.io import os_problem
from numalet.shared.findings.agent import (
    AgentOtherNodeState,
    AgentOtherUsersNodeState,
    AgentRootUnusable,
    OtherNodeState,
)

_PAUSE_SECONDS: Final = 0.25


@contextmanager
def claimed(root: Path, last: float = 0.0) -> Iterator[tuple[Finding, ...]]:
    """Announce this root folder during the block; yield findings if others are in use.

    Waits for others until ``last`` of the monotonic clock. Raises ``BadInput``.
    """
    with ExitStack() as stack:
        claim = _claim(root)
        while not isinstance(claim, socket.socket) and time.monotonic() < last:
            time.sleep(_PAUSE_SECONDS)
            claim = _claim(root)
        if isinstance(claim, socket.socket):
            stack.enter_context(claim)
            yield ()
        else:
            yield _findings(RunOtherNodeState, root, claim)


@contextmanager
def claimed_by_agent(root: Path) -> Iterator[tuple[Finding, ...]]:
    """Announce an agent's root folder; yield warnings. Raises ``BadInput``.

    Root's agent is not blocked by other users, who could otherwise lock it out: their commands end
    sometime, and no new ones start.
    """
    with announcements.turn():
        others = announcements.others(root)
        equals = [each for each in others if os.geteuid() != 0 or each.user in (0, None)]
        if equals:
            raise BadInput(_findings(AgentOtherNodeState, root, equals))
        announced = _announce(root)
    with announced:
        yield _findings(AgentOtherUsersNodeState, root, others)


def _claim(root: Path) -> socket.socket | tuple[Announced, ...]:
    # List and announce under one mutex, or two processes could both find no other.
    with announcements.turn():
        return announcements.others(root) or _announce(root)


def _announce(root: Path) -> socket.socket:
    try:
        return announcements.announce(root)
    except OSError as error:
        raise BadInput(
            [
                AgentRootUnusable(
                    path=str(root), error=os_problem.text(error), where=Location(str(root))
                )
            ]
        ) from None


def _findings(
    of: type[OtherNodeState], root: Path, others: Sequence[Announced]
) -> tuple[Finding, ...]:
    return tuple(
        of(
            root=str(root),
            other=each.root,
            pid="unknown" if each.pid is None else str(each.pid),
            user="unknown" if each.user is None else str(each.user),
        )
        for each in others
    )
