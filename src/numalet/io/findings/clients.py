"""Findings about connections to an agent or a PodResources socket."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class AgentUnanswering(Finding):
    """An agent did not answer a request."""

    path: str
    problem: str


class ClientNoAgent(AgentUnanswering):
    sentence = (
        "no agent answers at {path} ({problem}); start one with 'numalet agent', or name the "
        "socket of another with --socket or its folder with --root"
    )


class ClientNotAllowed(AgentUnanswering):
    sentence = (
        "cannot open the agent's socket {path} ({problem}): an agent serves only its own user and "
        "root"
    )


class ClientTimeout(AgentUnanswering):
    sentence = "the agent at {path} did not answer in time"


class ClientBrokenOff(AgentUnanswering):
    sentence = (
        "the agent at {path} closed the connection before its answer was complete ({problem}); if "
        "it was stopped, start it and repeat the command"
    )
