"""Who else owns CPUs or memory of this machine. Two owners undo each other's work.

A kubelet is detected by its process, by the socket in its directory, or by state files there that
say it pins; others by their processes, or by the socket over which a container runtime lets
plugins change containers. In doubt there is one: not enforcing can be seen and corrected,
fighting over cpusets can not.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Final

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value
from numalet.io import kubelets
from numalet.io.files import state_directory
from numalet.shared.findings.agent import AgentKubeletPins

PROC: Final = kubelets.PROC
NRI_SOCKET: Final = Path("/var/run/nri/nri.sock")

# The kernel keeps the first 15 bytes of a name.
_NAME_BYTES: Final = 15
_OTHERS: Final[Mapping[str, str]] = {
    "numad": "moves processes between NUMA nodes",
    "cri-resmgr": "pins containers between kubelet and container runtime",
    "nri-resource-policy-topology-aware": "pins containers as a plugin of the container runtime",
    "nri-resource-policy-balloons": "pins containers as a plugin of the container runtime",
    "slurmd": "gives CPUs and memory to jobs with cpusets",
    "pbs_mom": "gives CPUs and memory to jobs with cpusets",
    "docker-cpusetd": "changes cpusets of containers",
}
_PATIENCE_SECONDS: Final = 1.0


class OwnerKind(Enum):
    """The kind of another owner."""

    STATIC_KUBELET = "static-kubelet"
    """A kubelet that pins CPUs or memory, or may: its state files say a static policy."""
    KUBELET = "kubelet"
    """A kubelet with the policies none."""
    OTHER = "other"


class Owner(Value):
    """A program that sets CPUs or memory of other programs. ``who`` says where it is."""

    kind: OwnerKind
    who: str


class Places(Value, kw_only=True):
    """Where owners are searched; ``every_kubelet``: whether those of other directories count."""

    proc: Path = PROC
    kubelet_root: Path = kubelets.ROOT
    nri_socket: Path = NRI_SOCKET
    every_kubelet: bool = True


def beside(kubelet_root: Path) -> Places:
    """The places of this machine; with a directory of its own, the kubelet of that one alone."""
    return Places(kubelet_root=kubelet_root, every_kubelet=kubelet_root == kubelets.ROOT)


def find(places: Places = Places()) -> tuple[Owner, ...]:
    """Every other owner."""
    owners = list(_others(places.proc))
    if _answers(places.nri_socket):
        owners.append(Owner(OwnerKind.OTHER, f"NRI socket {places.nri_socket}"))
    return (*_kubelets(places), *owners)


def _kubelets(places: Places) -> Iterator[Owner]:
    """The kubelet of the usual directory, and others on this machine that pin.

    One with another directory, be it in a container, counts where its state files say that it
    pins or may not be read: a cluster of containers for tests, whose kubelets do not, is
    no rival.
    """
    at_work = kubelets.at_work_in(places.kubelet_root, places.proc)
    if at_work is not None:
        kind = OwnerKind.STATIC_KUBELET if _pins(places.kubelet_root) else OwnerKind.KUBELET
        yield Owner(kind, f"kubelet ({at_work}) in {places.kubelet_root}")
    for each in kubelets.processes(places.proc) if places.every_kubelet else ():
        if not _is_same(each.seen_as, places.kubelet_root) and _says_it_pins(each.seen_as):
            yield Owner(OwnerKind.STATIC_KUBELET, f"kubelet ({each.who}) in {each.root_dir}")


def refuse_to_pin(owners: Iterable[Owner]) -> None:
    """Raise ``BadInput`` if a kubelet pins, which would assign the CPUs of a command to pods."""
    pinning = [
        input_error.Conflict(
            f"{each.who} pins CPUs or memory and does not know this command, so its pods could "
            "get the same CPUs; run the command as a pod of the cluster, or set the kubelet's "
            "cpuManagerPolicy and memoryManagerPolicy to none"
        )
        for each in _pinning(owners)
    ]
    if pinning:
        raise BadInput(pinning)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one == other


def refuse_to_enforce(owners: Iterable[Owner]) -> None:
    """Raise ``BadInput`` if a kubelet pins, which would undo what an agent sets."""
    pinning = [AgentKubeletPins(owner=each.who) for each in _pinning(owners)]
    if pinning:
        raise BadInput(pinning)


def _pinning(owners: Iterable[Owner]) -> Iterator[Owner]:
    return (each for each in owners if each.kind is OwnerKind.STATIC_KUBELET)


def _pins(root: Path) -> bool:
    """Whether the state files name a static policy; absent files may mean one."""
    try:
        files = state_directory.read(root).files
    except BadInput:
        return True
    return _name_static_policy(files) if files else True


def _says_it_pins(root: Path) -> bool:
    """Whether the state files name a static policy, or can not be read."""
    try:
        files = state_directory.read(root).files
    except BadInput as bad:
        return any(each.code != "files/no-such-directory" for each in bad.findings)
    return _name_static_policy(files)


def _name_static_policy(files: Mapping[str, str]) -> bool:
    texts = [files.get(name, "") for name in (cpu_file.FILE_NAME, memory_file.FILE_NAME)]
    return any('"policyname":"static"' in text.lower() for text in texts)


def _others(proc: Path) -> Iterator[Owner]:
    short = {name[:_NAME_BYTES]: (name, what) for name, what in _OTHERS.items()}
    try:
        folders = sorted(proc.iterdir())
    except OSError:
        return
    for folder in folders:
        if not folder.name.isdigit():
            continue
        try:
            comm = (folder / "comm").read_text(errors="replace").strip()
            is_alive = bool((folder / "cmdline").read_bytes())
        except OSError:
            continue
        if comm in short and is_alive:
            name, what = short[comm]
            yield Owner(OwnerKind.OTHER, f"process {folder.name}, {name}, which {what}")


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_PATIENCE_SECONDS)
        try:
            client.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            return False
        except OSError:
            return True
    return True
