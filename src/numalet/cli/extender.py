"""``numalet extender``: answers a scheduler with predicted kubelet decisions."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from numalet.cli import cluster_options, fleet_classes, node_options
from numalet.cli.cluster_options import Context, Kubeconfig
from numalet.cli.fleet_options import ClassFile, PoolLabel
from numalet.cli.scores import ScoreOption
from numalet.wording.log_line import LogFormat

EPILOG: Final = """Examples:

  # beside a kube-scheduler on the same machine
  numalet extender --kubeconfig /etc/kubernetes/scheduler.conf

  # what the scheduler's configuration says of it, as YAML or JSON
  {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
   "clientConnection": {"kubeconfig": "/etc/kubernetes/scheduler.conf"},
   "extenders": [{"urlPrefix": "http://127.0.0.1:8888", "filterVerb": "filter",
                  "prioritizeVerb": "prioritize", "weight": 150,
                  "nodeCacheCapable": true, "httpTimeout": "5s", "ignorable": true}]}

  # over the network: only clients with a certificate of this authority may ask
  numalet extender --listen 0.0.0.0:8888 --tls-cert tls.crt --tls-key tls.key \\
      --client-ca scheduler-ca.crt --metrics 0.0.0.0:8889

  # one of several replicas behind a Service, of which one is ready at a time
  numalet extender --listen 0.0.0.0:8888 --tls-cert tls.crt --tls-key tls.key \\
      --client-ca scheduler-ca.crt --lease numalet/numalet-extender

  # nodes of which nothing is known get no pods, and a scheduler that waits 2 s
  numalet extender --unknown-nodes refuse --timeout 2s

  # nodes that publish nothing are of the machines and configurations of a file
  numalet extender --class pools.yaml --pool-label example.com/pool

  # pods are bound by it, with "bindVerb": "bind" in the scheduler's configuration; it needs the
  # right to create pods/binding
  numalet extender --bind --kubeconfig /etc/kubernetes/scheduler.conf

  # is it ready, and what does it count
  curl http://127.0.0.1:8888/readyz
  curl http://127.0.0.1:8888/metrics

Exit status: 0 ended by a signal, 2 unusable input or an API server that refuses, 3 a bug.
"""


class UndecidedAnswer(StrEnum):
    ACCEPT = "pass"
    REFUSE = "refuse"


_SERVING: Final = "Where it is asked"
_ANSWERING: Final = "How it answers"

Listen = Annotated[
    str,
    typer.Option(
        "--listen", metavar="HOST:PORT", help="Where the scheduler asks.", rich_help_panel=_SERVING
    ),
]
TlsCert = Annotated[
    Path | None,
    typer.Option(
        "--tls-cert",
        metavar="FILE",
        help="Serve TLS with this certificate and its chain; renewed files are used at once.",
        rich_help_panel=_SERVING,
        show_default=False,
    ),
]
TlsKey = Annotated[
    Path | None,
    typer.Option(
        "--tls-key",
        metavar="FILE",
        help="The key of the certificate.",
        rich_help_panel=_SERVING,
        show_default=False,
    ),
]
ClientCa = Annotated[
    Path | None,
    typer.Option(
        "--client-ca",
        metavar="FILE",
        help="Only clients with a certificate of this authority may connect.",
        rich_help_panel=_SERVING,
        show_default=False,
    ),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure-listen",
        help="Listen where others than this machine can connect, without --client-ca.",
        rich_help_panel=_SERVING,
    ),
]
Metrics = Annotated[
    str,
    typer.Option(
        "--metrics",
        metavar="[HOST:]PORT",
        help="Serve metrics and probes here too, without TLS; without a host on the loopback"
        " address.",
        rich_help_panel=_SERVING,
        show_default=False,
    ),
]
Lease = Annotated[
    str,
    typer.Option(
        "--lease",
        metavar="NAMESPACE/NAME",
        help="Of several replicas the holder answers; the others know the cluster, and their"
        " /readyz says no.",
        rich_help_panel=_SERVING,
        show_default=False,
    ),
]
UnknownNodes = Annotated[
    UndecidedAnswer,
    typer.Option(
        "--unknown-nodes",
        help="Nodes of which too little is known.",
        rich_help_panel=_ANSWERING,
    ),
]
NotExamined = Annotated[
    UndecidedAnswer,
    typer.Option(
        "--not-examined",
        help="Nodes for which there was no time.",
        rich_help_panel=_ANSWERING,
    ),
]
Score = Annotated[
    ScoreOption,
    typer.Option(
        "--score",
        help="What prioritize prefers: NUMA nodes that stay whole for large pods, the most room"
        " left around a pod, or a pod on the fewest and nearest NUMA nodes.",
        rich_help_panel=_ANSWERING,
    ),
]
Timeout = Annotated[
    str,
    typer.Option(
        "--timeout",
        metavar="TIME",
        help="The scheduler's httpTimeout, of which 80 % is used for deciding.",
        rich_help_panel=_ANSWERING,
    ),
]
PromiseSeconds = Annotated[
    float,
    typer.Option(
        "--promise-seconds",
        min=1.0,
        metavar="SECONDS",
        help="So long a pod counts on the node that was named for it, if nothing is seen of it.",
        rich_help_panel=_ANSWERING,
    ),
]
OldestView = Annotated[
    str,
    typer.Option(
        "--oldest-view",
        metavar="TIME",
        help="So long without news of the cluster /readyz says yes; calls are answered for ever.",
        rich_help_panel=_ANSWERING,
    ),
]

Bind = Annotated[
    bool,
    typer.Option(
        "--bind",
        help="Bind pods too (bindVerb), each once its node has decided on those before it.",
        rich_help_panel=_ANSWERING,
    ),
]


def extender(
    *,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    listen: Listen = "127.0.0.1:8888",
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    client_ca: ClientCa = None,
    insecure_listen: Insecure = False,
    metrics: Metrics = "",
    lease: Lease = "",
    unknown_nodes: UnknownNodes = UndecidedAnswer.ACCEPT,
    not_examined: NotExamined = UndecidedAnswer.REFUSE,
    score: Score = ScoreOption.PACK,
    timeout: Timeout = "5s",
    promise_seconds: PromiseSeconds = 30.0,
    oldest_view: OldestView = "5m",
    bind: Bind = False,
    class_file: ClassFile = None,
    pool_label: PoolLabel = None,
    log_format: node_options.Form = LogFormat.CONSOLE,
    verbosity: node_options.Verbosity = 2,
) -> None:
    """Answer a scheduler: which nodes admit a pod, as each of their kubelets would."""
    import asyncio

    from numalet.agent.host import logs
    from numalet.cluster import addresses
    from numalet.cluster.extender import command, durations
    from numalet.cluster.extender.command import ExtenderOptions
    from numalet.cluster.extender.state import ExtenderRules
    from numalet.insight.fleet.preference import Preference
    from numalet.insight.scheduling.filtering import FilterRules
    from numalet.io.kube_api import access

    rules = ExtenderRules(
        filtering=FilterRules(
            passes_unknown=unknown_nodes is UndecidedAnswer.ACCEPT,
            passes_unexamined=not_examined is UndecidedAnswer.ACCEPT,
        ),
        preference=Preference(score.value),
        timeout_seconds=durations.seconds("--timeout", timeout),
        promise_seconds=promise_seconds,
        oldest_view_seconds=durations.seconds("--oldest-view", oldest_view),
    )
    options = ExtenderOptions(
        access=access.of(kubeconfig, context),
        listen=addresses.parse("--listen", listen),
        metrics=addresses.parse("--metrics", metrics, "127.0.0.1") if metrics else None,
        tls=command.tls_files(tls_cert, tls_key, client_ca),
        is_open=insecure_listen,
        binds=bind,
        lease=cluster_options.lease_name(lease) if lease else None,
        rules=rules,
        classes=fleet_classes.followed(class_file, pool_label),
    )
    asyncio.run(command.live(options, logs.to_stderr(log_format, verbosity).write))
