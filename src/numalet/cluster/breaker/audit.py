"""The audit: one line of JSON for each action, complete or absent."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

import msgspec

from numalet.core.model import input_error, moments
from numalet.insight.rejections import patches
from numalet.insight.rejections.actions import Action
from numalet.io import os_problem


class ActionOutcome(Enum):
    DONE = "done"
    DRY_RUN = "dry-run"
    """The action was only reported."""
    NOT_NEEDED = "not-needed"
    """The object was deleted or replaced, or is already in the desired state."""
    REFUSED = "refused"
    """The server does not allow it."""
    INTERRUPTED = "interrupted"
    """The breaker ended or lost its lease during the request: the action may be done."""
    FAILED = "failed"
    """The request failed; the action is planned again."""


class AuditFile:
    """Appends lines to a file with one write each, so that lines of several writers stay whole."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name

    def write(self, action: Action, outcome: ActionOutcome, problem: str = "") -> None:
        """Append the line of an action.

        Raises ``BadInput`` if the write fails. Without an audit no action is performed.
        """
        at = moments.microseconds(datetime.now(UTC))
        line = {"at": at, **patches.audit_line(action).document, "outcome": outcome.value}
        if problem:
            line["problem"] = problem
        try:
            self._append(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            problem = os_problem.text(error)
            raise input_error.Unwritable(
                f"cannot write the audit to {self._name}: {problem}; name another file with "
                "--audit FILE, or leave it out for the standard output"
            ).bad_input() from None

    def _append(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._descriptor, line) :]


@contextmanager
def opened(path: Path | None) -> Iterator[AuditFile]:
    """Open the audit in this file, or on the standard output, until the end of the block.

    Raises ``BadInput`` if the file cannot be opened.
    """
    if path is None:
        sys.stdout.flush()
        yield AuditFile(1, "the standard output")
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except OSError as error:
        problem = os_problem.text(error)
        raise input_error.Unwritable(
            f"cannot write the audit to {path!s}: {problem}; name another file with "
            "--audit FILE, or leave it out for the standard output"
        ).bad_input() from None
    try:
        yield AuditFile(descriptor, str(path))
    finally:
        os.close(descriptor)
