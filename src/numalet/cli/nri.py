"""``numalet nri``: pin containers through the container runtime, next to a kubelet."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

from numalet.cli import node_options
from numalet.cli.node_options import LogOptions, MachineOptions
from numalet.cli.options import Options, option, with_options
from numalet.io.agent_client import places

EPILOG = """Examples:

  # decide and report, and change nothing
  numalet nri

  # pin containers; a pod that the node has no room for does not start
  numalet nri --mode enforce -c kubelet.yaml --kubeconfig /etc/kubernetes/numalet.conf

  # the same, and a pod without room runs in the shared pool, reported and counted
  numalet nri --mode enforce --no-room unpinned --metrics 9100

  # no exclusive CPUs: each pod on one NUMA node if its limits fit there
  numalet nri --mode shared-only -c kubelet.yaml

The runtime skips a plugin that is late or gone, and starts the container unpinned. Such containers
are found within seconds, counted and pinned; the time before is not protected. The kubelet's own
CPU Manager and Memory Manager must be off, else the command only observes.

Exit status: 0 stopped, 2 invalid input, or another numalet nri uses the folder; 3 a bug.
"""

_ROOT: Final = places.SYSTEM_ROOT / places.PLUGIN_FOLDER
_SOCKET: Final = Path("/var/run/nri/nri.sock")


class ModeOption(StrEnum):
    AUDIT = "audit"
    SHARED_ONLY = "shared-only"
    ENFORCE = "enforce"


class NoRoomOption(StrEnum):
    REJECT = "reject"
    UNPINNED = "unpinned"


class NriOptions(Options):
    mode: ModeOption = option(
        "audit changes nothing and reports what enforce would do. shared-only gives no exclusive"
        " CPUs and refuses nothing: a pod whose limits fit runs on the shared CPUs of one NUMA"
        " node, other pods on all shared CPUs.",
        default=ModeOption.AUDIT,
    )
    no_room: NoRoomOption = option(
        "A container that the node has no room for: its creation fails and the kubelet tries again,"
        " or it runs in the shared pool.",
        default=NoRoomOption.REJECT,
    )
    config: Path | None = option(
        "KubeletConfiguration with the policies and the reserved CPUs and memory; default: a"
        " configuration fitted to the machine.",
        "FILE",
        "-c",
    )
    permissions: Path | None = option(
        "WorkloadPermissions: which annotations pods may have, by namespace. Default: none.", "FILE"
    )
    machine: MachineOptions
    kubeconfig: Path | None = option(
        "Cluster with the Pod objects of this node. Default: the cluster around this pod. Without"
        " one, each container is decided alone, by its cgroup and limits.",
        "FILE",
    )
    node_name: str = option(
        "Name of the Node; default: the host's name.", "NAME", default="", envvar="NODE_NAME"
    )
    root: Path = option("Folder of the state files.", "DIR", default=_ROOT)
    socket: Path = option("The runtime's NRI socket.", "SOCKET", default=_SOCKET)
    index: str = option("Two digits: the place among the runtime's plugins.", "NN", default="10")
    kubelet_root: Path = node_options.kubelet_root("Root directory of the kubelet.")
    audit_seconds: float = option(
        "How often the kernel's settings are compared with the plan.",
        "SECONDS",
        default=5.0,
        min=0.1,
    )
    metrics: str = option(
        "Serve metrics for Prometheus here; without a host, on the loopback address.",
        "[HOST:]PORT",
        default="",
    )
    publish: bool = option(
        "Keep this node's NumaNode and NodeResourceTopology current in the cluster, as numalet"
        " publish does."
    )
    proc: Path = option(
        "Where the processes of the host are; for a container that has its own /proc.",
        "DIR",
        default=Path("/proc"),
    )
    cgroups: Path = option(
        "Where the cgroups of the host are; for a container that has its own.",
        "DIR",
        default=Path("/sys/fs/cgroup"),
    )
    log: LogOptions


@with_options
def nri(options: NriOptions) -> None:
    """Give containers CPUs and NUMA nodes through containerd or CRI-O, next to a kubelet."""
    import os

    from numalet.agent.nri import command, pod_annotations
    from numalet.agent.nri.choices import Mode, PinningChoice
    from numalet.agent.nri.pod_annotations import NOTHING_PERMITTED, NoRoom
    from numalet.agent.publish import in_agent
    from numalet.core.config.numalet_config import PublishSettings
    from numalet.core.model import input_error
    from numalet.core.model.findings import Location
    from numalet.io.kube_api import access

    if not (len(options.index) == 2 and options.index.isascii() and options.index.isdecimal()):
        raise input_error.Invalid(
            f"invalid index {options.index!r}", expected="two digits", where=Location("--index")
        ).bad_input()
    kubeconfig, permissions, publishing = options.kubeconfig, options.permissions, None
    cluster = access.in_cluster(os.environ) if kubeconfig is None else access.of(kubeconfig)
    if options.publish:
        file = None if kubeconfig is None else str(kubeconfig)
        publishing = in_agent.agent_publishing(PublishSettings(kubeconfig=file), None)
    command.run(
        command.NriOptions(
            root=options.root.absolute(),
            choice=PinningChoice(
                Mode(options.mode.value),
                NoRoom(options.no_room.value),
                NOTHING_PERMITTED if permissions is None else pod_annotations.read(permissions),
            ),
            socket=options.socket,
            index=options.index,
            config_file=options.config,
            machine=options.machine.choice(),
            node_name=options.node_name,
            access=cluster,
            kubelet_root=options.kubelet_root,
            audit_seconds=options.audit_seconds,
            metrics=options.metrics,
            publish=publishing,
            proc=options.proc,
            cgroups=options.cgroups,
            log_format=options.log.log_format.value,
            verbosity=options.log.verbosity,
        )
    )
