"""``numalet agent``: run the node agent until it is stopped."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from numalet.cli import machine_options, node_options, release_options
from numalet.cli.option_groups import expanded
from numalet.core.model.findings import BadInput
from numalet.wording.log_line import LogFormat

EPILOG = """Examples:

  # on this machine, with a configuration fitted to it
  numalet agent --manifests /etc/numalet/manifests

  # with a kubelet's configuration, deciding exactly as the kubelet
  numalet agent -c kubelet.yaml --exact

  # deciding exactly as the kubelet v1.34
  numalet agent -c kubelet.yaml --exact --release 1.34

  # try a described machine: admits pods and records allocations, starts nothing
  numalet agent --runtime fake -m 2n16c2t --memory-per-node 128Gi --root /tmp/try

  # the same, and kubectl --kubeconfig /tmp/try/admin.kubeconfig get pods
  numalet agent --runtime fake -m 2n16c2t --memory-per-node 128Gi --root /tmp/try --kube-api 6443

  # beside a kubelet: follow its state files, compare them with the kernel, write nothing
  numalet agent --ownership observe

  # the same, where the kubelet's version can not be read from its program
  numalet agent --ownership observe --kubelet-version v1.35.6

  # the same, and publish what the kubelet's managers hold in the cluster
  numalet agent --ownership observe --publish

SIGTERM stops the agent; its programs keep running and are adopted at the next start.
Exit status: 0 stopped, 1 the root folder or its cgroups are in use, 2 the agent can not start,
3 a bug.
"""


_HELD: Final = frozenset({"agent/node-state-held", "agent/other-node-state", "cgroup/held"})


class RuntimeOption(StrEnum):
    PROCESS = "process"
    FAKE = "fake"


class Invalid(StrEnum):
    """The treatment of state files that cannot be restored."""

    BY_MODE = "by-mode"
    STOP = "stop"
    REBASE = "rebase"


class Ownership(StrEnum):
    AUTO = "auto"
    ENFORCE = "enforce"
    OBSERVE = "observe"


@expanded
def agent(
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            "-c",
            "--config",
            metavar="FILE",
            help="KubeletConfiguration, and a NumaletConfiguration after it; default: a"
            " configuration fitted to the machine.",
        ),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            metavar="DIR",
            help="Folder of the node state, the journal and the socket; default:"
            " /var/lib/numalet, or XDG_STATE_HOME/numalet for a user other than root.",
            show_default=False,
        ),
    ] = None,
    runtime: Annotated[
        RuntimeOption, typer.Option("--runtime", help="Real processes, or none at all.")
    ] = RuntimeOption.PROCESS,
    manifests: Annotated[
        Path | None,
        typer.Option("--manifests", metavar="DIR", help="A folder of pod manifests to run."),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Decide exactly as the kubelet, its limits included."),
    ] = False,
    release: release_options.Release,
    machine: machine_options.Chosen,
    devices: machine_options.Devices,
    node_name: Annotated[
        str, typer.Option("--node-name", metavar="NAME", help="Default: the host's name.")
    ] = "",
    ownership: Annotated[
        Ownership,
        typer.Option(
            "--ownership",
            help="Enforce beside others, or only observe; auto: observe if there are others.",
        ),
    ] = Ownership.AUTO,
    kubelet_root: Annotated[
        Path,
        node_options.kubelet_root(
            "Root directory of a kubelet on this machine, whose state files are read."
        ),
    ] = node_options.KUBELET_ROOT,
    on_invalid_state: Annotated[
        Invalid,
        typer.Option(
            "--on-invalid-state",
            help="State files that can not be restored. by-mode: with --exact stop; else rebase"
            " them if it is the machine that has changed. rebase: keep what still fits, and"
            " nothing of a damaged file.",
        ),
    ] = Invalid.BY_MODE,
    podresources_qps: Annotated[
        float,
        typer.Option(
            "--podresources-qps",
            min=0,
            metavar="N",
            help="Requests a second that the PodResources API answers; 0 for no limit.",
        ),
    ] = 100.0,
    kube_api: Annotated[
        str,
        typer.Option(
            "--kube-api",
            metavar="[HOST:]PORT",
            help="Serve kubectl here, with TLS and a token, and the dashboard. 0 is any free port."
            " The file for kubectl is admin.kubeconfig in the root folder; 'numalet dashboard'"
            " prints a link. Default: not served.",
        ),
    ] = "",
    kube_api_cert: Annotated[
        Path | None,
        typer.Option(
            "--kube-api-cert",
            metavar="FILE",
            help="A certificate of yours for --kube-api, PEM; without one only a loopback address"
            " is served.",
        ),
    ] = None,
    kube_api_key: Annotated[
        Path | None,
        typer.Option("--kube-api-key", metavar="FILE", help="The key of that certificate, PEM."),
    ] = None,
    publish: Annotated[
        bool | None,
        typer.Option(
            "--publish/--no-publish",
            help="Keep this node's NumaNode and NodeResourceTopology current in a cluster, as"
            " numalet publish does. Default: if a NumaletConfiguration has publish:.",
            show_default=False,
        ),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="The cluster of --publish; default: $KUBECONFIG, ~/.kube/config, or the one"
            " around this pod.",
            show_default=False,
        ),
    ] = None,
    log_format: node_options.Form = LogFormat.CONSOLE,
    verbosity: node_options.Verbosity = 2,
) -> None:
    """Admit, start and pin pods on this machine; their allocations survive crashes."""
    from numalet.agent.controller import main, settings
    from numalet.agent.controller.recovery import OnInvalidState
    from numalet.agent.controller.settings import AgentOptions, OwnerChoice, RuntimeKind
    from numalet.cli.output import show_findings
    from numalet.io.agent_client import places

    options = AgentOptions(
        root=root or places.default_root(),
        config_file=config,
        manifests=manifests,
        runtime=RuntimeKind(runtime.value),
        exact=exact,
        release=release.name,
        kubelet_version=release.kubelet_version,
        machine=machine.choice(),
        devices_file=devices.file,
        devices=devices.texts,
        on_invalid_state=OnInvalidState(on_invalid_state.value),
        node_name=node_name,
        ownership=OwnerChoice(ownership.value),
        verbosity=verbosity,
        log_format=log_format.value,
        podresources_qps=podresources_qps,
        kube_api=kube_api,
        kube_api_certificate=kube_api_cert,
        kube_api_key=kube_api_key,
        kubelet_root=kubelet_root,
    )
    resolved = settings.resolve(options)
    show_findings(resolved.notes)
    beside = None
    if resolved.publish is not None if publish is None else publish:
        from numalet.agent.publish import in_agent
        from numalet.core.config.publish_settings import PublishSettings

        given = PublishSettings(kubeconfig=None if kubeconfig is None else str(kubeconfig))
        beside = in_agent.agent_publishing(given, resolved.publish)
    try:
        main.run(resolved, beside)
    except BadInput as bad:
        if not any(each.code in _HELD for each in bad.findings):
            raise
        # The other process will end, and a service that is restarted then takes over.
        show_findings(bad.findings)
        raise typer.Exit(1) from None
