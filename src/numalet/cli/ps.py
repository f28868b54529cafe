"""``numalet ps``: the pods of an agent, and their places."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from numalet.cli import output, streams
from numalet.cli.agent_client import EXITS, OWN_API, AgentChoice
from numalet.cli.options import Options, option, with_options
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location

if TYPE_CHECKING:
    from numalet.io.agent_client.client import AgentClient

EPILOG = f"""Examples:

  numalet ps
  numalet ps -w
  numalet ps -o json

NUMA lists the NUMA nodes of the pod's memory, CPUS its exclusive CPUs. ALIGNED compares them with
the kernel: 'yes', 'no' with the misplaced part, '-' if not checked. If a kubelet owns the node, the
pods are those of its state files, and READY counts the containers that were found. Without an
agent, the table lists the commands of 'numalet run', with -o json also by process and command.

{EXITS}"""


_NO_PODS: Final = "No pods. Give one to the agent with 'numalet apply -f FILE'."
_NO_PODS_OF_KUBELET: Final = (
    "No pods. They come from the kubelet of this node, after 'kubectl apply -f FILE' for example."
)


class Form(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


class PsOptions(Options):
    watch: bool = option("Print every change as it happens.", name="-w")
    output: Form = option("How they are listed.", name="-o", default=Form.TABLE)
    agent: AgentChoice


@with_options
def ps(options: PsOptions) -> None:
    """List the pods of an agent, or commands without one: NUMA nodes, CPUs, memory, alignment."""
    from numalet.cli.output import show_findings

    if options.watch and options.output is Form.YAML:
        raise input_error.Conflict(
            "changes are lines of JSON; use -o json", where=Location("--watch")
        ).bad_input()
    with options.agent.client() as client:
        try:
            listed = client.get(f"{OWN_API}/podplacements")
        except BadInput as bad:
            if options.watch:
                raise
            commands = options.agent.commands_without_agent(bad)
            _print_commands(commands.placements, options.output)
            show_findings(commands.notes)
            return
        if options.output in (Form.JSON, Form.YAML) and not options.watch:
            output.print_document(listed, options.output)
        elif options.output is Form.JSON:
            _print_changes(client, listed)
        else:
            _print_table(client, listed, options.watch, is_wide=options.output is Form.WIDE)


def _print_commands(items: Sequence[Mapping[str, Any]], form: Form) -> None:
    """Print the commands of ``numalet run`` in a root folder without an agent."""
    from datetime import UTC, datetime

    from numalet.cli.ps_view import PodTable

    if form in (Form.JSON, Form.YAML):
        listed = {
            "kind": "PodPlacementList",
            "apiVersion": OWN_API.removeprefix("/apis/"),
            "items": list(items),
        }
        output.print_document(listed, form)
    elif items:
        table = PodTable(items, datetime.now(UTC), is_wide=form is Form.WIDE)
        output.print_drawn(table.text(items))
    else:
        output.say("No agent answers, and no commands run without one.")


def _print_changes(client: AgentClient, listed: Mapping[str, Any]) -> None:
    for item in listed["items"]:
        output.print_json({"type": "ADDED", "object": item})
    for change in _changes(client, listed):
        output.print_json(change)
        streams.flush()


def _print_table(
    client: AgentClient, listed: Mapping[str, Any], watch: bool, *, is_wide: bool
) -> None:
    from datetime import UTC, datetime

    from numalet.cli.ps_view import PodTable

    left = ""
    if not watch:
        (state,) = client.get(f"{OWN_API}/nodestates")["items"]
        left = _left_behind(state)
        if not listed["items"]:
            output.say(_NO_PODS if state["standing"] == "enforcing" else _NO_PODS_OF_KUBELET)
    table = PodTable(listed["items"], datetime.now(UTC), is_wide=is_wide)
    if listed["items"]:
        output.print_drawn(table.text(listed["items"]))
    output.print_drawn(left)
    streams.flush()
    for change in _changes(client, listed) if watch else ():
        if change["type"] in ("ADDED", "MODIFIED", "DELETED"):
            gone = change["type"] == "DELETED"
            output.print_drawn(table.line(change["object"], datetime.now(UTC), gone=gone))
            streams.flush()


def _left_behind(state: Mapping[str, Any]) -> str:
    """Describe allocations of deleted or rejected pods.

    They exist only in exact mode, as in a kubelet.
    """
    from numalet.cli.ps_view import left_behind

    lines = left_behind(state)
    if state["standing"] == "observing" or not lines:
        return ""
    head = "Still held for deleted or rejected pods, until the next admission:"
    return "".join(f"{line}\n" for line in ("", head, *(f"  {each}" for each in lines)))


def _changes(client: AgentClient, listed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    version = listed["metadata"]["resourceVersion"]
    query = {"watch": True, "resourceVersion": version}
    for line in client.stream(f"{OWN_API}/podplacements", query):
        yield json.loads(line)
