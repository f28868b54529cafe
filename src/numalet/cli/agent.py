"""``numalet agent``: run the node agent until it is stopped."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

import typer

from numalet.cli import node_options
from numalet.cli.node_options import DeviceOptions, LogOptions, MachineOptions, ReleaseOptions
from numalet.cli.options import Options, option, with_options
from numalet.core.model.findings import BadInput

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

  # next to a kubelet: follow its state files, compare them with the kernel, write nothing
  numalet agent --ownership observe

  # the same, if the kubelet's program does not show its version
  numalet agent --ownership observe --kubelet-version v1.35.6

  # the same, and publish what the kubelet's managers hold in the cluster
  numalet agent --ownership observe --publish

SIGTERM stops the agent; its programs keep running and are adopted at the next start.
Exit status: 0 stopped, 1 the root folder or its cgroups are in use, 2 the agent cannot start,
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


class AgentOptions(Options):
    config: Path | None = option(
        "KubeletConfiguration, and a NumaletConfiguration after it; default: a configuration"
        " fitted to the machine.",
        "FILE",
        "-c",
    )
    root: Path | None = option(
        "Folder of the node state, the journal and the socket; default: /var/lib/numalet, or"
        " XDG_STATE_HOME/numalet for a user other than root.",
        "DIR",
    )
    runtime: RuntimeOption = option(
        "Start real processes, or simulate them.", default=RuntimeOption.PROCESS
    )
    manifests: Path | None = option("A folder of pod manifests to run.", "DIR")
    exact: bool = option("Decide exactly as the kubelet, its limits included.")
    release: ReleaseOptions
    machine: MachineOptions
    devices: DeviceOptions
    node_name: str = option("Default: the host's name.", "NAME", default="")
    ownership: Ownership = option(
        "Enforce even next to another manager, or only observe; auto: observe if there is one.",
        default=Ownership.AUTO,
    )
    kubelet_root: Path = node_options.kubelet_root(
        "Root directory of a kubelet on this machine, whose state files are read."
    )
    on_invalid_state: Invalid = option(
        "If state files cannot be restored: by-mode stops with --exact, and else rebases them if"
        " the machine has changed; rebase keeps allocations that still fit, and drops damaged"
        " files.",
        default=Invalid.BY_MODE,
    )
    podresources_qps: float = option(
        "Requests a second that the PodResources API answers; 0 for no limit.",
        "N",
        default=100.0,
        min=0,
    )
    kube_api: str = option(
        "Serve kubectl here, with TLS and a token, and the dashboard. 0 is any free port. The file"
        " for kubectl is admin.kubeconfig in the root folder; 'numalet dashboard' prints a link."
        " Default: not served.",
        "[HOST:]PORT",
        default="",
    )
    kube_api_cert: Path | None = option(
        "A certificate of yours for --kube-api, PEM; without one only a loopback address is"
        " served.",
        "FILE",
    )
    kube_api_key: Path | None = option("The key of that certificate, PEM.", "FILE")
    publish: bool | None = option(
        "Keep this node's NumaNode and NodeResourceTopology current in a cluster, as numalet"
        " publish does. Default: if a NumaletConfiguration has publish:.",
        name="--publish/--no-publish",
    )
    kubeconfig: Path | None = option(
        "The cluster of --publish; default: $KUBECONFIG, ~/.kube/config, or the one around this"
        " pod.",
        "FILE",
    )
    log: LogOptions


@with_options
def agent(options: AgentOptions) -> None:
    """Admit, start and pin pods on this machine; their allocations survive crashes."""
    from numalet.agent.controller import main, settings
    from numalet.agent.controller.recovery import OnInvalidState
    from numalet.agent.controller.settings import OwnerChoice, RuntimeKind
    from numalet.cli.output import show_findings
    from numalet.io.agent_client import places

    inputs = settings.AgentOptions(
        root=options.root or places.default_root(),
        config_file=options.config,
        manifests=options.manifests,
        runtime=RuntimeKind(options.runtime.value),
        exact=options.exact,
        release=options.release.release,
        kubelet_version=options.release.kubelet_version,
        machine=options.machine.choice(),
        devices_file=options.devices.devices,
        devices=tuple(options.devices.device),
        on_invalid_state=OnInvalidState(options.on_invalid_state.value),
        node_name=options.node_name,
        ownership=OwnerChoice(options.ownership.value),
        verbosity=options.log.verbosity,
        log_format=options.log.log_format.value,
        podresources_qps=options.podresources_qps,
        kube_api=options.kube_api,
        kube_api_certificate=options.kube_api_cert,
        kube_api_key=options.kube_api_key,
        kubelet_root=options.kubelet_root,
    )
    resolved = settings.resolve(inputs)
    show_findings(resolved.notes)
    beside = None
    if resolved.publish is not None if options.publish is None else options.publish:
        from numalet.agent.publish import in_agent
        from numalet.core.config.numalet_config import PublishSettings

        file = options.kubeconfig
        given = PublishSettings(kubeconfig=None if file is None else str(file))
        beside = in_agent.agent_publishing(given, resolved.publish)
    try:
        main.run(resolved, beside)
    except BadInput as bad:
        if not any(each.code in _HELD for each in bad.findings):
            raise
        # The other process will end, and a service that is restarted then takes over.
        show_findings(bad.findings)
        raise typer.Exit(1) from None
