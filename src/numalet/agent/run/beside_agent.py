"""``numalet run`` with an agent: the agent decides and keeps the state.

The agent may restart at any time, so requests are repeated for a while. The command may be killed
at any time; the agent monitors its process and frees the place.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from numalet.agent.controller import shared_state
from numalet.agent.controller.run_holders import CONTAINER
from numalet.agent.controller.shared_state import SharedState
from numalet.agent.findings.run import RunNoPlaceBesideAgent
from numalet.agent.host.runtime.attempts import RUNS, Attempts
from numalet.agent.run import direct, foreground, request
from numalet.agent.run.direct import NAMESPACE
from numalet.agent.run.foreground import AcceptedOrder, ReadyPlace
from numalet.agent.run.program import Answer
from numalet.agent.run.queue import Waiter
from numalet.agent.run.request import SEARCH_SECONDS, RunOptions
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import replace
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output import explanation_document, run_document
from numalet.insight.output.run_document import RunDocument
from numalet.io import os_problem
from numalet.io.agent_client.client import AgentClient, AgentRefused, Query, segment
from numalet.io.agent_client.places import SOCKET_NAME
from numalet.shared.findings.runtime import RuntimeStorage

PATIENCE_SECONDS: Final = 20.0
"""How long an agent may take to restart."""
_PREPARATION_SECONDS: Final = 60.0
"""How long the agent may take to prepare a place, including one restart.

It waits equally long for the command to accept.
"""
_PAUSE_SECONDS: Final = 0.1
_POLL_SECONDS: Final = 0.25
_LONGEST_WAIT_SECONDS: Final = 20
"""Shorter than the client's timeout for one request."""
_GONE: Final = 404
_BAD: Final = (400, 413, 422)
_BUSY: Final = (429, 503)
"""The agent is busy with another explanation, or is shutting down; a retry may succeed."""
_TRANSIENT: Final = ("client/no-agent", "client/broken-off", "client/timeout")

_T = TypeVar("_T")


@contextmanager
def opened(pod: Pod, root: Path, options: RunOptions, waiter: Waiter) -> Iterator[Agent]:
    """Raises ``BadInput``."""
    _check(root, options)
    # Two commands with one program would collide in the agent, where names are unique.
    named = replace(pod, name=direct.object_name(pod.name, pod.uid))
    waits_until = waiter.last if waiter.waits else 0.0
    with AgentClient(root / SOCKET_NAME) as client:
        yield Agent(client, root, named, options.request.command, waits_until)


class AgentGone(Exception):  # noqa: N818 - it is an answer
    """The agent ended and did not return; commands now run without it."""


class Agent:
    """An ``Allocator`` that sends requests to the agent."""

    remarks: Sequence[Finding] = ()

    def __init__(
        self,
        client: AgentClient,
        root: Path,
        pod: Pod,
        command: tuple[str, ...],
        waits_until: float = 0.0,
    ) -> None:
        self._root = root
        self._waits_until = waits_until
        """Deadline by the monotonic clock if the command waits, else 0."""
        self._client = client
        self._pod = pod
        """Its name is unique in the agent."""
        self._command = command
        self._manifest = request.manifest(pod, command)
        self._accepted: AcceptedOrder | None = None

    def preview(self) -> Answer:
        """Raises ``BadInput`` and ``AgentGone``."""
        return self._previewed(0.0)

    def place(self) -> Answer:
        """Allocate for the lifetime of this process, which ticks and boot id identify."""
        return self._asked(direct.own_process())

    def place_or_wait(self, seconds: float) -> Answer:
        """Preview first, with a long poll: an agent would keep the rejected pod."""
        place = self._previewed(min(seconds, _LONGEST_WAIT_SECONDS))
        if isinstance(place, Finding) or not place.admitted:
            return place
        # A command that does not wait may have got the room meanwhile.
        return self.place()

    def prepare(self, place: RunDocument) -> ReadyPlace | Finding:
        accepted = self._order()
        if isinstance(accepted, Finding):
            return accepted
        self._accepted = accepted
        try:
            return foreground.ready_place(accepted, run_document.variables(place), self._command)
        except OSError as error:
            return RuntimeStorage(error=os_problem.text(error))

    def release(self) -> None:
        """Return the order; without an order, the agent withdraws the place itself."""
        if self._accepted is not None:
            foreground.hand_back(self._accepted)
            self._accepted = None

    def explanation(self) -> Explanation | None:
        """The agent's explanation, if it can be decoded."""
        query = {"budgetSeconds": SEARCH_SECONDS, "foreground": True}
        try:
            return explanation_document.of(self._posted("explanations", query))
        except (AgentGone, AgentRefused, BadInput, msgspec.ValidationError):
            return None

    def on_refusal(self) -> Iterator[Finding]:
        yield RunNoPlaceBesideAgent(command=self._command[0], root=str(self._root))

    def _order(self) -> AcceptedOrder | Finding:
        """Wait for the agent's order and accept it."""
        key = ContainerKey(self._pod.uid, CONTAINER)
        folder = Attempts(self._root / RUNS).of(key, 1).folder
        last = time.monotonic() + _PREPARATION_SECONDS
        poll_at = time.monotonic() + _POLL_SECONDS
        while time.monotonic() < last:
            accepted = foreground.accept_order(folder)
            if accepted is not None:
                return accepted
            if time.monotonic() >= poll_at:
                poll_at = time.monotonic() + _POLL_SECONDS
                # The agent removes the pod if it cannot prepare the place; then no order will come.
                if self._is_gone():
                    break
            time.sleep(foreground.PAUSE_SECONDS)
        return input_error.Unavailable(
            f"the agent in {self._root} did not start the command: {self._warning()}"
        )

    def _previewed(self, wait_seconds: float) -> Answer:
        return self._asked({"dryRun": "All", "waitMilliseconds": math.ceil(wait_seconds * 1000)})

    def _asked(self, query: Query) -> Answer:
        """Return the agent's answer; a finding if it refuses the request."""
        try:
            return run_document.decode(self._posted("runs", query))
        except AgentRefused as refused:
            message = f"the agent in {self._root} refuses: {refused.message}"
            if refused.code in _BAD:
                raise input_error.Invalid(message).bad_input() from None
            return input_error.Unavailable(message)

    def _posted(self, resource: str, query: Query) -> Mapping[str, Any]:
        return self._patiently(
            lambda: self._client.post(f"{direct.PATH}/{resource}", self._manifest, query)
        )

    def _patiently(self, ask: Callable[[], _T]) -> _T:
        """Repeat the request while the agent is away; the agent may process it twice."""
        away_since: float | None = None
        while True:
            try:
                return ask()
            except BadInput as bad:
                away_since = _earlier(away_since)
                self._bear(bad, away_since)
            except AgentRefused as refused:
                away_since = _earlier(away_since)
                if refused.code not in _BUSY or _is_over(away_since):
                    raise
            time.sleep(_PAUSE_SECONDS)

    def _bear(self, bad: BadInput, away_since: float) -> None:
        """Return if the agent may still come back. Raises ``BadInput`` and ``AgentGone``."""
        finding = bad.findings[0]
        if finding.code == "client/not-allowed":
            raise BadInput([shared_state.not_allowed(self._root)]) from None
        # An error that no restart of the agent can fix.
        if finding.code not in _TRANSIENT:
            raise bad
        if not _is_over(away_since):
            return
        if not _agent_holds_lock(self._root):
            raise AgentGone from None
        # The agent is starting or hangs. A command that waits anyway waits for this too.
        if time.monotonic() >= self._waits_until:
            raise input_error.Unavailable(
                f"the agent in {self._root} runs but does not answer: {finding}; read its log, or "
                "end it, and commands run without it",
                where=Location(str(self._root)),
            ).bad_input() from None

    def _is_gone(self) -> bool:
        """Whether the agent has removed the pod; False if it does not answer."""
        try:
            self._client.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{segment(self._pod.name)}")
        except AgentRefused as refused:
            return refused.code == _GONE
        except BadInput:
            return False
        return False

    def _warning(self) -> str:
        """The last warning among the pod's events."""
        with suppress(AgentRefused, BadInput):
            events = self._client.get(f"/api/v1/namespaces/{NAMESPACE}/events")
            for event in reversed(events["items"]):
                about = event.get("involvedObject", {}).get("uid")
                if about == self._pod.uid and event.get("type") == "Warning":
                    return str(event.get("message", ""))
        return "it gave no reason; see its log"


def _earlier(away_since: float | None) -> float:
    return time.monotonic() if away_since is None else away_since


def _is_over(away_since: float) -> bool:
    return time.monotonic() - away_since >= PATIENCE_SECONDS


def _check(root: Path, options: RunOptions) -> None:
    """Raises ``BadInput`` for options that only work without an agent."""
    owner = root.stat().st_uid
    if owner != os.geteuid():
        raise input_error.Forbidden(
            f"the agent belongs to user {owner} and cannot end programs of user {os.geteuid()}; "
            f"run the command as user {owner}",
            where=Location(str(root)),
        ).bad_input()
    findings = Findings()
    given = {
        "--config": options.config_file,
        "--policy": options.policy,
        "--release": options.release,
        "--devices": options.devices_file,
        "--per-rank": options.per_rank or None,
    }
    for flag, value in given.items():
        if value is not None:
            findings.add(
                input_error.Conflict(
                    f"the agent in {root} uses its own configuration; leave this option out",
                    where=Location(flag),
                )
            )
    findings.raise_errors()


def _agent_holds_lock(root: Path) -> bool:
    """``prepare`` fails while an agent has the lock."""
    return not SharedState(root).prepare()
