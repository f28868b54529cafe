"""What goes wrong while an agent or a PodResources socket is asked."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class AgentUnanswering(Finding):
    """An agent that was asked and did not answer."""

    path: str
    problem: str


class ClientNoAgent(AgentUnanswering):
    code = "client/no-agent"
    sentence = (
        "no agent answers at {path} ({problem}); start one with 'numalet agent', or name the "
        "socket of another with --socket or its folder with --root"
    )


class ClientNotAllowed(AgentUnanswering):
    code = "client/not-allowed"
    sentence = (
        "the agent's socket {path} is not yours to open ({problem}): an agent serves only its own "
        "user and root"
    )


class ClientTimeout(AgentUnanswering):
    code = "client/timeout"
    sentence = "the agent at {path} did not answer in time"


class ClientBrokenOff(AgentUnanswering):
    code = "client/broken-off"
    sentence = (
        "the agent at {path} broke off before its answer was complete ({problem}); if it was "
        "stopped, ask again when it runs"
    )


class SocketUnusable(Finding):
    """A socket that can not be asked."""

    path: str
    error: str = ""


class RpcNoSocket(SocketUnusable):
    code = "rpc/no-socket"
    sentence = (
        "no server listens at {path!r}: {error}; is the kubelet or the numalet agent running, and "
        "is this its PodResources socket?"
    )


class RpcNotASocket(SocketUnusable):
    code = "rpc/not-a-socket"
    sentence = "{path!r} is no socket; name the PodResources socket of a node"


class RpcNoAnswer(SocketUnusable):
    code = "rpc/no-answer"
    sentence = "no answer at {path!r}: {error}"
