"""``numalet extender``: answers a scheduler with predicted kubelet decisions."""

from __future__ import annotations

import functools
from enum import StrEnum
from pathlib import Path
from typing import Final

from numalet.cli import cluster_options
from numalet.cli.cluster_options import ClassOptions, ClusterOptions, ScoreOption
from numalet.cli.node_options import LogOptions
from numalet.cli.options import Options, option, with_options

EPILOG: Final = """Examples:

  # next to a kube-scheduler on the same machine
  numalet extender --kubeconfig /etc/kubernetes/scheduler.conf

  # its entry in the scheduler's configuration, as YAML or JSON
  {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
   "clientConnection": {"kubeconfig": "/etc/kubernetes/scheduler.conf"},
   "extenders": [{"urlPrefix": "http://127.0.0.1:8888", "filterVerb": "filter",
                  "prioritizeVerb": "prioritize", "weight": 150,
                  "nodeCacheCapable": true, "httpTimeout": "5s", "ignorable": true}]}

  # over the network: only clients with a certificate of this authority may connect
  numalet extender --listen 0.0.0.0:8888 --tls-cert tls.crt --tls-key tls.key \\
      --client-ca scheduler-ca.crt --metrics 0.0.0.0:8889

  # one of several replicas behind a Service; only the leader is ready
  numalet extender --listen 0.0.0.0:8888 --tls-cert tls.crt --tls-key tls.key \\
      --client-ca scheduler-ca.crt --lease numalet/numalet-extender

  # refuse nodes without data; the scheduler waits 2 s
  numalet extender --unknown-nodes refuse --timeout 2s

  # a file describes the machines and configurations of nodes that do not publish them
  numalet extender --class pools.yaml --pool-label example.com/pool

  # bind pods, with "bindVerb": "bind" in the scheduler's configuration and the permission to
  # create pods/binding
  numalet extender --bind --kubeconfig /etc/kubernetes/scheduler.conf

  # readiness and metrics
  curl http://127.0.0.1:8888/readyz
  curl http://127.0.0.1:8888/metrics

Exit status: 0 ended by a signal, 2 invalid input or the API server refuses access, 3 a bug.
"""


class UndecidedAnswer(StrEnum):
    ACCEPT = "pass"
    REFUSE = "refuse"


_serving: Final = functools.partial(option, panel="Server options")
_answering: Final = functools.partial(option, panel="Decision options")


class ExtenderOptions(Options):
    cluster: ClusterOptions
    listen: str = _serving("Where the scheduler asks.", "HOST:PORT", default="127.0.0.1:8888")
    tls_cert: Path | None = _serving(
        "Serve TLS with this certificate and its chain; renewed files are used at once.", "FILE"
    )
    tls_key: Path | None = _serving("The key of the certificate.", "FILE")
    client_ca: Path | None = _serving(
        "Only clients with a certificate of this authority may connect.", "FILE"
    )
    insecure_listen: bool = _serving(
        "Listen where others than this machine can connect, without --client-ca."
    )
    metrics: str = _serving(
        "Serve metrics and probes here too, without TLS; without a host, on the loopback address.",
        "[HOST:]PORT",
        default="",
    )
    lease: str = _serving(
        "Of several replicas the holder answers; the others know the cluster, and their /readyz"
        " says no.",
        "NAMESPACE/NAME",
        default="",
    )
    unknown_nodes: UndecidedAnswer = _answering(
        "Answer for nodes with insufficient data.", default=UndecidedAnswer.ACCEPT
    )
    not_examined: UndecidedAnswer = _answering(
        "Answer for nodes not evaluated in time.", default=UndecidedAnswer.REFUSE
    )
    score: ScoreOption = _answering(
        "What prioritize prefers: NUMA nodes that stay whole for large pods, the most room left"
        " around a pod, or a pod on the fewest and nearest NUMA nodes.",
        default=ScoreOption.PACK,
    )
    timeout: str = _answering(
        "The scheduler's httpTimeout; decisions may use 80 % of it.", "TIME", default="5s"
    )
    promise_seconds: float = _answering(
        "How long to reserve resources for a pod on the chosen node.",
        "SECONDS",
        default=30.0,
        min=1.0,
    )
    oldest_view: str = _answering(
        "/readyz fails after this long without updates; calls are still answered.",
        "TIME",
        default="5m",
    )
    bind: bool = _answering(
        "Bind pods too (bindVerb), each once its node has decided on those before it."
    )
    classes: ClassOptions
    log: LogOptions


@with_options
def extender(options: ExtenderOptions) -> None:
    """Answer a scheduler: which nodes admit a pod, as each of their kubelets would."""
    import asyncio

    from numalet.agent.host import logs
    from numalet.cluster import programs
    from numalet.cluster.extender import command
    from numalet.cluster.extender.state import ExtenderRules
    from numalet.insight.fleet.preference import Preference
    from numalet.insight.scheduling.filtering import FilterRules
    from numalet.shared.web import addresses

    rules = ExtenderRules(
        filtering=FilterRules(
            passes_unknown=options.unknown_nodes is UndecidedAnswer.ACCEPT,
            passes_unexamined=options.not_examined is UndecidedAnswer.ACCEPT,
        ),
        preference=Preference(options.score.value),
        timeout_seconds=programs.duration_seconds("--timeout", options.timeout),
        promise_seconds=options.promise_seconds,
        oldest_view_seconds=programs.duration_seconds("--oldest-view", options.oldest_view),
    )
    running = command.ExtenderOptions(
        access=options.cluster.access(),
        listen=addresses.listen_address("--listen", options.listen),
        metrics=addresses.listen_address("--metrics", options.metrics, "127.0.0.1")
        if options.metrics
        else None,
        tls=command.tls_files(options.tls_cert, options.tls_key, options.client_ca),
        is_open=options.insecure_listen,
        binds=options.bind,
        lease=cluster_options.lease_name(options.lease) if options.lease else None,
        rules=rules,
        classes=options.classes.followed(),
    )
    log = logs.to_stderr(options.log.log_format, options.log.verbosity)
    asyncio.run(command.live(running, log.write))
