"""Shared by the commands that call an agent: its address, its refusals, names of pods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from numalet.cli.options import REQUIRED, Options, argument, option
from numalet.core.model.findings import BadInput, Severity

if TYPE_CHECKING:
    from numalet.agent.run.listing import Listing
    from numalet.io.agent_client.client import AgentClient

EXIT_REFUSED: Final = 1
OWN_API: Final = "/apis/numalet.dev/v1alpha1"
OBSERVED: Final = "Observed"
"""The status of a pod that a kubelet manages."""
OF_A_KUBELET: Final = (OBSERVED, "Stale")
"""The above, and the status of a pod that the kubelet has forgotten."""
_WHICH: Final = "Which agent"
EXITS: Final = """Exit status: 0 success, 1 the answer is no, 2 invalid input or no agent answers,
3 a bug.
"""

POD: Final = argument("A pod: its name, or namespace/name.", "POD", default=REQUIRED)


class AgentChoice(Options):
    """Options that select an agent."""

    socket: Path | None = option(
        "The agent's socket; default: agent.sock in its root folder.", "PATH", panel=_WHICH
    )
    root: Path | None = option(
        "The agent's root folder; default: /var/lib/numalet, or the user's own.",
        "DIR",
        panel=_WHICH,
    )

    @property
    def is_named(self) -> bool:
        """Whether the command line names one."""
        return self.socket is not None or self.root is not None

    @contextlib.contextmanager
    def client(self) -> Iterator[AgentClient]:
        """Connect to the agent; a refusal of the agent ends the command."""
        from numalet.cli.output import complain
        from numalet.io.agent_client import places
        from numalet.io.agent_client.client import AgentClient, AgentRefused

        with AgentClient(places.socket_path(self.socket, self.root)) as client:
            try:
                yield client
            except AgentRefused as refused:
                complain(Severity.ERROR, f"{refused.reason}: {refused.message}")
                raise typer.Exit(EXIT_REFUSED) from None

    def commands_without_agent(self, bad: BadInput) -> Listing:
        """Return the commands of ``numalet run`` in a root folder without an agent.

        Raises ``bad``, that the agent is missing, if there are not even commands.
        """
        from numalet.agent.run import listing
        from numalet.io.agent_client import places

        if self.socket is not None or bad.findings[0].code != "client/no-agent":
            raise bad
        commands = listing.listing(self.root or places.default_root())
        if commands is None:
            raise bad
        return commands


def pods_path(name: str) -> str:
    """Return the path of a pod, given as ``name`` or ``namespace/name``."""
    return f"/api/v1/{_in_namespace(name, 'pods')}"


def own_path(name: str, kind: str) -> str:
    """Return the path of a numalet object with the name of a pod."""
    return f"{OWN_API}/{_in_namespace(name, kind)}"


def _in_namespace(name: str, kind: str) -> str:
    from numalet.io.agent_client.client import segment

    namespace, slash, rest = name.partition("/")
    if not slash:
        namespace, rest = "default", name
    return f"namespaces/{segment(namespace)}/{kind}/{segment(rest)}"
