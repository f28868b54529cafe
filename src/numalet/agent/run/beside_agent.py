"""A command beside an agent: the agent decides and keeps the state, we run the command.

The agent is asked over its socket. It may be killed and come back at any moment: a question is
asked again for a while, and a command that runs needs no agent until it ends. We may be killed at
any moment too: the agent waits for our process, and releases the place.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from numalet.agent.host.runtime.attempts import RUNS, Attempts
from numalet.agent.host.runtime.watcher import process_tree
from numalet.agent.run import joining, placement_notes
from numalet.agent.run.child import EXIT_REFUSED
from numalet.agent.run.joining import AcceptedOrder
from numalet.agent.run.options import SEARCH_SECONDS, Explained, RunOptions, Voice
from numalet.agent.run.queue import Waiter
from numalet.agent.run.request import CONTAINER
from numalet.agent.run.shared_state import SharedState
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.pod import ContainerKey, Pod
from numalet.insight.output import explanation_types, run_document
from numalet.insight.output.run_document import RunDocument
from numalet.io.agent_client.client import AgentClient, AgentRefused, Query, segment
from numalet.io.agent_client.places import SOCKET_NAME
from numalet.wording import english

PATIENCE_SECONDS: Final = 20.0
"""How long an agent may take to come back."""
_PREPARATION_SECONDS: Final = 60.0
"""How long it may take to prepare a place that it has promised, one restart of its own included;
an agent waits as long for the command to take the place."""
_PAUSE_SECONDS: Final = 0.1
_POLL_SECONDS: Final = 0.25
_LONGEST_WAIT_SECONDS: Final = 20
"""How long one question may be held back: less than a connection is waited for."""
_LONGEST_NAME: Final = 40
_NAMESPACE: Final = "run"
_OWN: Final = f"/apis/numalet.dev/v1alpha1/namespaces/{_NAMESPACE}"
_GONE: Final = 404
_BAD: Final = (400, 413, 422)
_BUSY: Final = (429, 503)
"""It explains others, or it is about to end: another try may find it, or its successor, free."""
_PASSING: Final = ("client/no-agent", "client/broken-off", "client/timeout")

_T = TypeVar("_T")


def run(pod: Pod, root: Path, options: RunOptions, voice: Voice, waiter: Waiter) -> int:
    """Place and run a command; its exit status, or ours. Raises ``BadInput`` and ``AgentGone``."""
    _check(root, options)
    named = replace(pod, name=_name(pod))
    with AgentClient(root / SOCKET_NAME) as client:
        waits_until = waiter.last if waiter.waits else 0.0
        agent = Agent(client, root, named, options.request.command, waits_until)
        try:
            place = _placed(agent, options, waiter)
            if isinstance(place, Finding):
                voice.report(place)
                return EXIT_REFUSED
            return _go_on(agent, place, options, voice)
        except AgentRefused as refused:
            fields = {"root": str(root), "message": refused.message}
            finding = Finding("run/agent-says-no", fields)
            if refused.code in _BAD:
                raise BadInput([finding]) from None
            voice.report(finding)
            return EXIT_REFUSED


def _placed(agent: Agent, options: RunOptions, waiter: Waiter) -> RunDocument | Finding:
    """The agent's answer; a finding if its turn to ask did not come in time."""
    if options.dry_run:
        return agent.preview()
    if not waiter.waits:
        return agent.place()
    place = agent.preview()
    if not place.fits_when_empty:
        return place
    too_late = waiter.turn()
    if too_late is not None:
        return too_late
    place = agent.place_in_time(waiter.last)
    waiter.leave()
    return place


def _go_on(agent: Agent, place: RunDocument, options: RunOptions, voice: Voice) -> int:
    if not place.admitted:
        placement_notes.refused(place, agent.explanation(), voice)
        fields = {"command": options.request.command[0], "root": str(agent.root)}
        voice.report(Finding("run/no-place-beside-agent", fields))
        return EXIT_REFUSED
    if voice.show is not None:
        voice.show(place)
    else:
        for finding in placement_notes.held(
            place, english.of_finding(Finding("run/agent-has-no-tree"))
        ):
            voice.report(finding)
    if options.dry_run:
        return 0
    accepted = agent.accept()
    if isinstance(accepted, Finding):
        voice.report(accepted)
        return EXIT_REFUSED
    outcome = joining.run(accepted, place, options.request.command)
    if outcome.finding is not None:
        voice.report(outcome.finding)
    return outcome.status


class AgentGone(Exception):  # noqa: N818 - it is an answer
    """There was an agent, and none came back: commands run without one now."""


class Agent:
    """The agent, asked about one command; until when it waits anyway, if it does."""

    def __init__(
        self,
        client: AgentClient,
        root: Path,
        pod: Pod,
        command: tuple[str, ...],
        waits_until: float = 0.0,
    ) -> None:
        self.root = root
        self._waits_until = waits_until
        self._client = client
        self._pod = pod
        self._manifest = manifest(pod, command)

    def preview(self, wait_seconds: float = 0.0) -> RunDocument:
        """Where it would go, now or as soon as there is a place in this time."""
        return self._asked({"dryRun": "All", "waitMilliseconds": math.ceil(wait_seconds * 1000)})

    def place(self) -> RunDocument:
        """Where it goes: allocated from now on, as long as this process lives."""
        own = process_tree.process(os.getpid())
        assert own is not None
        return self._asked(
            {
                "pid": own.pid,
                "ticks": own.started,
                "boot": process_tree.boot_id(),
                "pidNamespace": process_tree.pid_namespace(),
            }
        )

    def place_in_time(self, last: float) -> RunDocument:
        """The same, as soon as there is a place, until the monotonic clock says ``last``."""
        while True:
            left = last - time.monotonic()
            place = self.preview(max(0.0, min(left, _LONGEST_WAIT_SECONDS)))
            if place.admitted:
                # Who does not wait may have been quicker.
                place = self.place()
            if place.admitted or not place.fits_when_empty or time.monotonic() >= last:
                return place

    def accept(self) -> AcceptedOrder | Finding:
        """What the agent has prepared, as soon as it has; or why it has not."""
        key = ContainerKey(self._pod.uid, CONTAINER)
        folder = Attempts(self.root / RUNS).of(key, 1).folder
        last = time.monotonic() + _PREPARATION_SECONDS
        poll_at = time.monotonic() + _POLL_SECONDS
        while time.monotonic() < last:
            accepted = joining.accept(folder)
            if accepted is not None:
                return accepted
            if time.monotonic() >= poll_at:
                poll_at = time.monotonic() + _POLL_SECONDS
                if self._is_gone():
                    break
            time.sleep(joining.PAUSE_SECONDS)
        fields = {"root": str(self.root), "message": self._warning()}
        return Finding("run/withdrawn", fields)

    def explanation(self) -> Explained | None:
        """Why there is no place; None if the agent gives none, or none that we can decode."""
        try:
            explanation = self._posted(
                "explanations", {"budgetSeconds": SEARCH_SECONDS, "foreground": True}
            )
            explanation_types.of(explanation)
        except (AgentGone, AgentRefused, BadInput, msgspec.ValidationError):
            return None
        return explanation

    def _asked(self, query: Query) -> RunDocument:
        return run_document.decode(self._posted("runs", query))

    def _posted(self, resource: str, query: Query) -> Explained:
        return self._patiently(
            lambda: self._client.post(f"{_OWN}/{resource}", self._manifest, query)
        )

    def _patiently(self, ask: Callable[[], _T]) -> _T:
        """The answer, also of an agent that is away for a while. A question may be asked twice."""
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
        """Return if the agent may come back yet. Raises ``BadInput`` and ``AgentGone``."""
        finding = bad.findings[0]
        if finding.code == "client/not-allowed":
            raise _not_allowed(self.root) from None
        if finding.code not in _PASSING:
            raise bad
        if not _is_over(away_since):
            return
        if not _agent_holds_lock(self.root):
            raise AgentGone from None
        # It is about to start, or it hangs; who waits anyway waits for that too.
        if time.monotonic() >= self._waits_until:
            fields = {"root": str(self.root), "problem": english.of_finding(finding)}
            where = Location(str(self.root))
            raise BadInput([Finding("run/agent-silent", fields, where)]) from None

    def _is_gone(self) -> bool:
        """Whether the agent has forgotten the pod; one that does not answer has not."""
        try:
            self._client.get(f"/api/v1/namespaces/{_NAMESPACE}/pods/{segment(self._pod.name)}")
        except AgentRefused as refused:
            return refused.code == _GONE
        except BadInput:
            return False
        return False

    def _warning(self) -> str:
        """The last warning among the pod's events."""
        with suppress(AgentRefused, BadInput):
            events = self._client.get(f"/api/v1/namespaces/{_NAMESPACE}/events")
            for event in reversed(events["items"]):
                about = event.get("involvedObject", {}).get("uid")
                if about == self._pod.uid and event.get("type") == "Warning":
                    return str(event.get("message", ""))
        return english.of_finding(Finding("run/withdrawn-in-silence"))


def _earlier(away_since: float | None) -> float:
    """Since when the agent is away; since now, if it was there a moment ago."""
    return time.monotonic() if away_since is None else away_since


def _is_over(away_since: float) -> bool:
    """Whether the agent had its time to come back."""
    return time.monotonic() - away_since >= PATIENCE_SECONDS


def manifest(pod: Pod, command: tuple[str, ...]) -> Mapping[str, Any]:
    """The Pod object of a command, for the agent to decide on and to show."""
    (container,) = pod.containers()
    amounts = {name: str(amount) for name, amount in container.requests.items()}
    words = [word.encode("utf-8", "replace").decode() for word in command]
    described = {
        "name": container.name,
        "command": words,
        "resources": {"requests": amounts, "limits": amounts},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod.name, "namespace": _NAMESPACE, "uid": pod.uid},
        "spec": {"restartPolicy": "Never", "containers": [described]},
    }


def _name(pod: Pod) -> str:
    """The command's name as that of an object, which has to be the only one of its name."""
    plain = re.sub(r"[^a-z0-9]+", "-", pod.name.lower())[:_LONGEST_NAME].strip("-")
    return f"{plain or 'command'}-{pod.uid[:8]}"


def _check(root: Path, options: RunOptions) -> None:
    """What can not be had beside this agent. Raises ``BadInput``."""
    owner = root.stat().st_uid
    if owner != os.geteuid():
        fields = {"root": str(root), "owner": owner, "user": os.geteuid()}
        raise BadInput([Finding("run/other-users-agent", fields, Location(str(root)))])
    findings = Findings()
    given = {
        "--config": options.config_file,
        "--policy": options.policy,
        "--devices": options.devices_file,
    }
    for flag, value in given.items():
        if value is not None:
            findings.add("run/agent-decides", Location(flag), root=str(root))
    findings.raise_errors()


def _agent_holds_lock(root: Path) -> bool:
    """Whether an agent holds the root folder, though it does not answer."""
    state = SharedState(root)
    try:
        return not state.open()
    finally:
        state.close()


def _not_allowed(root: Path) -> BadInput:
    fields = {"root": str(root), "owner": root.stat().st_uid}
    return BadInput([Finding("run/not-allowed", fields, Location(str(root)))])
