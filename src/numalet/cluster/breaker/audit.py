"""The audit: one line of JSON for each action, whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

import msgspec

from numalet.cluster.breaker.findings import BreakerAuditUnwritable
from numalet.core.model import moments
from numalet.core.model.findings import BadInput
from numalet.insight.rejections import audit
from numalet.insight.rejections.actions import Action
from numalet.io import os_problem


class ActionOutcome(Enum):
    """What became of an action."""

    DONE = "done"
    DRY_RUN = "dry-run"
    """It was only said."""
    NOT_NEEDED = "not-needed"
    """The object is gone or another one by now, or is as it should be."""
    REFUSED = "refused"
    """The server does not allow it."""
    INTERRUPTED = "interrupted"
    """The breaker was ended, or lost its lease, while the server was asked: perhaps it is done."""
    FAILED = "failed"
    """The server could not be asked; it is planned again."""


class AuditFile:
    """Appends lines to a file, each by one write, so that lines of several writers stay whole."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name

    def write(self, action: Action, outcome: ActionOutcome, problem: str = "") -> None:
        """Append the line of an action.

        Raises:
            BadInput: it can not be written. Nothing is done without an audit.
        """
        at = moments.microseconds(datetime.now(UTC))
        line = {"at": at, **audit.line(action).document, "outcome": outcome.value}
        if problem:
            line["problem"] = problem
        try:
            self._append(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            problem = os_problem.text(error)
            raise BadInput([BreakerAuditUnwritable(file=self._name, problem=problem)]) from None

    def _append(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._descriptor, line) :]


@contextmanager
def opened(path: Path | None) -> Iterator[AuditFile]:
    """The audit in this file, or on the standard output, until the end of the block.

    Raises:
        BadInput: the file can not be opened.
    """
    if path is None:
        sys.stdout.flush()
        yield AuditFile(1, "the standard output")
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except OSError as error:
        problem = os_problem.text(error)
        raise BadInput([BreakerAuditUnwritable(file=str(path), problem=problem)]) from None
    try:
        yield AuditFile(descriptor, str(path))
    finally:
        os.close(descriptor)
