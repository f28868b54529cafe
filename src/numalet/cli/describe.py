"""``numalet describe``: everything about one pod."""

from __future__ import annotations

from numalet.cli import agent_client
from numalet.cli.agent_client import EXITS, PodName

EPILOG = f"""Examples:

  numalet describe web
  numalet describe batch/job-1

{EXITS}"""


def describe(
    pod: PodName, *, socket: agent_client.Socket = None, root: agent_client.Root = None
) -> None:
    """Tell of one pod: what it asks for, where it is, which hints led there, what happened."""
    from numalet.cli import describe_view, output

    with agent_client.agent(socket, root) as client:
        found = client.get(agent_client.pods_path(pod))
        placement = client.get(agent_client.own_path(pod, "podplacements"))
        told = client.get(agent_client.own_path(pod, "pods") + "/explanation")
        metadata = found["metadata"]
        selector = f"involvedObject.uid={metadata['uid']}"
        events = client.get(
            f"/api/v1/namespaces/{metadata['namespace']}/events", {"fieldSelector": selector}
        )
    text = describe_view.text(found, placement, told, events["items"])
    output.print_text(text)
