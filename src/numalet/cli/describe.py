"""``numalet describe``: everything about one pod."""

from __future__ import annotations

from numalet.cli import agent_client
from numalet.cli.agent_client import EXITS, OF_A_KUBELET, POD, AgentChoice
from numalet.cli.options import Options, with_options

EPILOG = f"""Examples:

  numalet describe web
  numalet describe batch/job-1

{EXITS}"""


class DescribeOptions(Options):
    pod: str = POD
    agent: AgentChoice


@with_options
def describe(options: DescribeOptions) -> None:
    """Show one pod: its requests, its allocation, the hints behind it, its events.

    Of a pod of a kubelet that the agent only observes: what its state files promise and the kernel
    says.
    """
    from numalet.cli import describe_view, output
    from numalet.cli.ps_view import left_behind

    with options.agent.client() as client:
        placement = client.get(agent_client.own_path(options.pod, "podplacements"))
        metadata = placement["metadata"]
        selector = f"involvedObject.uid={metadata['uid']}"
        events = client.get(
            f"/api/v1/namespaces/{metadata['namespace']}/events", {"fieldSelector": selector}
        )["items"]
        (state,) = client.get(f"{agent_client.OWN_API}/nodestates")["items"]
        if placement["status"] in OF_A_KUBELET:
            text = describe_view.observed(placement, state["kubelet"], events)
        else:
            described = client.get(agent_client.pods_path(options.pod))
            explanation = client.get(agent_client.own_path(options.pod, "pods") + "/explanation")
            left = left_behind(state, metadata["uid"])
            text = describe_view.text(described, placement, explanation, events, left)
    output.print_hanging(text)
