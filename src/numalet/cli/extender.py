"""``numalet extender``: answers a scheduler with what each kubelet would say."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from numalet.cli.cluster_options import Context, Kubeconfig
from numalet.cli.findings import FleetPairs
from numalet.core.model.findings import BadInput

EPILOG: Final = """Examples:

  # beside a kube-scheduler, whose configuration names http://127.0.0.1:8888
  numalet extender --kubeconfig /etc/kubernetes/scheduler.conf

Exit status: 0 ended by a signal, 2 unusable input or an API server that refuses, 3 a bug.
"""

Listen = Annotated[
    str, typer.Option("--listen", metavar="HOST:PORT", help="Where the scheduler asks.")
]


def extender(
    *, kubeconfig: Kubeconfig = None, context: Context = None, listen: Listen = "127.0.0.1:8888"
) -> None:
    """Answer a scheduler: which nodes admit a pod, which is best, whom to preempt."""
    import asyncio

    from numalet.cluster.extender import command
    from numalet.cluster.extender.command import ExtenderOptions
    from numalet.io.kube_api import access

    def say(text: str) -> None:
        typer.echo(text, err=True)

    host, _, port = listen.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        raise BadInput([FleetPairs(option="--listen", value=listen, expected="HOST:PORT")])
    options = ExtenderOptions(
        access=access.of(kubeconfig, context), host=host.strip("[]"), port=int(port[:6])
    )
    asyncio.run(command.live(options, say))
