"""The reports of a breaker: the audit file, its metrics, and its probes.

The audit has one line of JSON for each action, complete or absent.
"""

from __future__ import annotations

import os
import sys
from collections import Counter as Counted
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from starlette.applications import Starlette

from numalet.core.model import input_error, moments
from numalet.core.model.findings import BadInput
from numalet.insight.rejections import patches
from numalet.insight.rejections.actions import Action
from numalet.io import os_problem
from numalet.shared.web import http_service


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
            raise _unwritable(self._name, error) from None

    def _append(self, line: bytes) -> None:
        while line:
            # A write to a pipe or a full disk may be short.
            line = line[os.write(self._descriptor, line) :]


def _unwritable(name: str, error: OSError) -> BadInput:
    return input_error.Unwritable(
        f"cannot write the audit to {name}: {os_problem.text(error)}; name another file with "
        "--audit FILE, or leave it out for the standard output"
    ).bad_input()


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
        raise _unwritable(str(path), error) from None
    try:
        yield AuditFile(descriptor, str(path))
    finally:
        os.close(descriptor)


_PREFIX: Final = "numalet_breaker_"
HELP: Final[Mapping[str, str]] = {
    "up": "Whether the view of the cluster is complete and current.",
    "leader": "Whether this process acts: it holds the lease, or runs without one.",
    "dry_run": "Whether this is a dry run: actions are reported, not performed.",
    "rejections_total": "Pods that kubelets rejected since this process began, by reason.",
    "rejected_pods": "Rejected pods that are there now, by reason.",
    "actions_total": "Actions by verb and result.",
    "tainted_nodes": "Nodes that have the breaker's taint now.",
    "suspended_jobs": "Jobs that are suspended by the breaker now.",
}
"""By name without prefix."""


class BreakerMeter:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.up = self._gauge("up")
        self.leader = self._gauge("leader")
        self.dry_run = self._gauge("dry_run")
        self.tainted_nodes = self._gauge("tainted_nodes")
        self.suspended_jobs = self._gauge("suspended_jobs")
        self._rejected_pods = Gauge(
            f"{_PREFIX}rejected_pods",
            HELP["rejected_pods"],
            ["reason"],
            registry=self.registry,
        )
        self._rejections = self._counter("rejections_total", "reason")
        self._actions = self._counter("actions_total", "action", "outcome")

    def rejection(self, reason: str) -> None:
        self._rejections.labels(reason=reason).inc()

    def action(self, verb: str, outcome: ActionOutcome) -> None:
        self._actions.labels(action=verb, outcome=outcome.value).inc()

    def rejected(self, reasons: Counted[str]) -> None:
        # A reason that no pod has any more must disappear, not stay at its last value.
        self._rejected_pods.clear()
        for reason, count in reasons.items():
            self._rejected_pods.labels(reason=reason).set(count)

    def _gauge(self, name: str) -> Gauge:
        return Gauge(f"{_PREFIX}{name}", HELP[name], registry=self.registry)

    def _counter(self, name: str, *labels: str) -> Counter:
        return Counter(f"{_PREFIX}{name}", HELP[name], labels, registry=self.registry)


def application(
    meter: BreakerMeter, refresh: Callable[[], None], not_ready: Callable[[], str]
) -> Starlette:
    """Serve ``/metrics``, ``/healthz``, ``/readyz``.

    ``refresh`` is called before each scrape; ``not_ready`` returns why it is not ready, or "".
    """

    def page() -> bytes:
        refresh()
        return generate_latest(meter.registry)

    def readiness() -> tuple[bool, str]:
        why_not = not_ready()
        return not why_not, f"{why_not or 'ok'}\n"

    return http_service.pages_application(page, readiness)
