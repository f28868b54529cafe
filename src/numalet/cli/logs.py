"""``numalet logs``: the output of a container."""

from __future__ import annotations

from numalet.cli import agent_client, output, streams
from numalet.cli.agent_client import EXITS, POD, AgentChoice
from numalet.cli.options import Options, option, with_options

EPILOG = f"""Examples:

  numalet logs web
  numalet logs -f web --tail 20

  # of the attempt before the last restart
  numalet logs -p web -c app

{EXITS}"""


class LogsOptions(Options):
    pod: str = POD
    container: str | None = option("The container, if the pod has several.", "NAME", "-c")
    follow: bool = option("Keep printing until it ends.", name="-f")
    previous: bool = option("The previous attempt.", name="-p")
    tail: int | None = option("Only the last lines.", "LINES", min=0)
    agent: AgentChoice


@with_options
def logs(options: LogsOptions) -> None:
    """Print what a container has written to its output."""
    query: dict[str, str | int | bool | None] = {
        "container": options.container,
        "follow": options.follow or None,
        "previous": options.previous or None,
        "tailLines": options.tail,
    }
    with options.agent.client() as client:
        for line in client.stream(f"{agent_client.pods_path(options.pod)}/log", query):
            output.print_log(line)
            streams.flush()
