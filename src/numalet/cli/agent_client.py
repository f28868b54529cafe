"""Shared by the commands that call an agent: its address, its refusals, names of pods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

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
WHICH: Final = "Which agent"
EXITS: Final = """Exit status: 0 fine, 1 the answer is no, 2 unusable input (also where no agent
answers), 3 a bug.
"""

Socket = Annotated[
    Path | None,
    typer.Option(
        "--socket",
        metavar="PATH",
        help="The agent's socket; default: agent.sock in its root folder.",
        show_default=False,
        rich_help_panel=WHICH,
    ),
]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="DIR",
        help="The agent's root folder; default: /var/lib/numalet, or the user's own.",
        show_default=False,
        rich_help_panel=WHICH,
    ),
]
PodName = Annotated[
    str,
    typer.Argument(metavar="POD", help="A pod: its name, or namespace/name.", show_default=False),
]


@contextlib.contextmanager
def agent(socket: Path | None, root: Path | None) -> Iterator[AgentClient]:
    """Connect to the chosen agent; a refusal of the agent ends the command."""
    from numalet.cli.output import complain
    from numalet.io.agent_client import places
    from numalet.io.agent_client.client import AgentClient, AgentRefused

    with AgentClient(places.socket_path(socket, root)) as client:
        try:
            yield client
        except AgentRefused as refused:
            complain(Severity.ERROR, f"{refused.reason}: {refused.message}")
            raise typer.Exit(EXIT_REFUSED) from None


def commands_without_agent(bad: BadInput, socket: Path | None, root: Path | None) -> Listing:
    """Return the commands of ``numalet run`` in a root folder without an agent.

    Raises ``bad``, that the agent is missing, if there are not even commands.
    """
    from numalet.agent.run import listing
    from numalet.io.agent_client import places

    if socket is not None or bad.findings[0].code != "client/no-agent":
        raise bad
    commands = listing.listing(root or places.default_root())
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
