"""What goes wrong while an agent or a PodResources socket is asked."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class AgentUnanswering(Finding):
    """An agent that was asked and did not answer."""

    path: str
    problem: str


class ClientNoAgent(AgentUnanswering):
    sentence = (
        "no agent answers at {path} ({problem}); start one with 'numalet agent', or name the "
        "socket of another with --socket or its folder with --root"
    )


class ClientNotAllowed(AgentUnanswering):
    sentence = (
        "the agent's socket {path} is not yours to open ({problem}): an agent serves only its own "
        "user and root"
    )


class ClientTimeout(AgentUnanswering):
    sentence = "the agent at {path} did not answer in time"


class ClientBrokenOff(AgentUnanswering):
    sentence = (
        "the agent at {path} broke off before its answer was complete ({problem}); if it was "
        "stopped, ask again when it runs"
    )
