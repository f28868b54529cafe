"""Detects other managers of CPUs or memory, since two would undo each other's settings.

A kubelet is detected by process, socket or state files; others by process or NRI socket. In doubt
there is one: observing can be noticed and corrected, competing cpusets cannot.
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
from numalet.io import kubelets, owner_programs
from numalet.io.files import state_directory
from numalet.io.owner_programs import NAME_BYTES

PROC: Final = kubelets.PROC
NRI_SOCKET: Final = Path(owner_programs.NRI_SOCKET)

_PATIENCE_SECONDS: Final = 1.0


class OwnerKind(Enum):
    STATIC_KUBELET = "static-kubelet"
    """A kubelet whose state files name a static policy, or cannot be read."""
    KUBELET = "kubelet"
    """A kubelet without a static policy."""
    OTHER = "other"


class Owner(Value):
    """A program that sets CPUs or memory of other programs; ``who`` describes it."""

    kind: OwnerKind
    who: str


class Places(Value, kw_only=True):
    proc: Path = PROC
    kubelet_root: Path = kubelets.ROOT
    nri_socket: Path = NRI_SOCKET
    every_kubelet: bool = True


def beside(kubelet_root: Path) -> Places:
    """The usual places; a custom root directory excludes kubelets of others."""
    return Places(kubelet_root=kubelet_root, every_kubelet=kubelet_root == kubelets.ROOT)


def find(places: Places = Places()) -> tuple[Owner, ...]:
    owners = list(_others(places.proc))
    if _answers(places.nri_socket):
        owners.append(Owner(OwnerKind.OTHER, f"NRI socket {places.nri_socket}"))
    return (*_kubelets(places), *owners)


def _kubelets(places: Places) -> Iterator[Owner]:
    """The kubelet of the usual directory, and others that pin.

    A kubelet elsewhere, such as in a container, is included only if its state files say that it
    pins or are unreadable: kubelets of test clusters usually do not.
    """
    at_work = kubelets.at_work_in(places.kubelet_root, places.proc)
    if at_work is not None:
        kind = OwnerKind.STATIC_KUBELET if _pins(places.kubelet_root) else OwnerKind.KUBELET
        yield Owner(kind, f"kubelet ({at_work}) in {places.kubelet_root}")
    for each in kubelets.processes(places.proc) if places.every_kubelet else ():
        if not _is_same(each.seen_as, places.kubelet_root) and _says_it_pins(each.seen_as):
            yield Owner(OwnerKind.STATIC_KUBELET, f"kubelet ({each.who}) in {each.root_dir}")


def refuse_to_pin(owners: Iterable[Owner]) -> None:
    """Raise ``BadInput`` if a kubelet pins: its pods could get the command's CPUs."""
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
    """Raise ``BadInput`` if a kubelet pins: it would undo the agent's settings."""
    pinning = [
        input_error.Conflict(
            f"{each.who} pins CPUs or memory too, and the two would undo each other's work; stop "
            "it, set its cpuManagerPolicy and memoryManagerPolicy to none, or use --ownership "
            "observe"
        )
        for each in _pinning(owners)
    ]
    if pinning:
        raise BadInput(pinning)


def _pinning(owners: Iterable[Owner]) -> Iterator[Owner]:
    return (each for each in owners if each.kind is OwnerKind.STATIC_KUBELET)


def _pins(root: Path) -> bool:
    """Whether state files name a static policy; without files, assume it."""
    try:
        files = state_directory.read(root).files
    except BadInput:
        return True
    return _name_static_policy(files) if files else True


def _says_it_pins(root: Path) -> bool:
    """Whether state files name a static policy or are unreadable."""
    try:
        files = state_directory.read(root).files
    except BadInput as bad:
        return any(each.code != "files/no-such-directory" for each in bad.findings)
    return _name_static_policy(files)


def _name_static_policy(files: Mapping[str, str]) -> bool:
    texts = [files.get(name, "") for name in (cpu_file.FILE_NAME, memory_file.FILE_NAME)]
    # Policy names differ in case: "static" and "Static".
    return any('"policyname":"static"' in text.lower() for text in texts)


def _others(proc: Path) -> Iterator[Owner]:
    short = {name[:NAME_BYTES]: (name, what) for name, what in owner_programs.OTHERS.items()}
    try:
        folders = sorted(proc.iterdir())
    except OSError:
        return
    for folder in folders:
        if not folder.name.isdigit():
            continue
        try:
            comm = (folder / "comm").read_text(errors="replace").strip()
            # A zombie has a name but an empty command line.
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
            # These errors mean that no process listens; any other one may hide a listener.
            return False
        except OSError:
            return True
    return True
