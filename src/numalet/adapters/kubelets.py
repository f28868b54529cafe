"""Whether a kubelet is at work in a directory: a process of that root directory, or a socket.

A process counts by its name; kubelets that are part of a larger program are known too. Its root
directory is on its command line, and means what it means to that process, which may live in a
container. A socket counts if somebody answers. In doubt the answer is yes: writing under a
running kubelet is worse than refusing.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numalet.wording.kubelet_start import ROOT_DIR

PROC: Final = Path("/proc")
ROOT: Final = Path(ROOT_DIR)

_KUBELET: Final = "kubelet"
_WITH_A_KUBELET_INSIDE: Final = ("hyperkube", "k3s", "k3s-agent", "k3s-server", "kubelite")
_SOCKETS: Final = (Path("device-plugins"), Path("pod-resources"))
_SOCKET: Final = "kubelet.sock"
_PATIENCE_SECONDS: Final = 2.0


def at_work_in(directory: Path, proc: Path = PROC) -> str | None:
    """Who is at work there, in a few words; None if nobody seems to be.

    Args:
        directory: what may be a kubelet's root directory.
        proc: the proc file system.
    """
    for process in _processes(proc):
        name = _name(process)
        if name is not None and _works_in(process, name, directory):
            return f"process {process.name}, {name}"
    for folder in _SOCKETS:
        problem = _answer(directory / folder)
        if problem is not None:
            return f"{folder / _SOCKET} {problem}"
    return None


@dataclass(frozen=True, slots=True)
class KubeletProcess:
    """A process that is a kubelet, or has one inside.

    ``who`` names it in a few words, ``root_dir`` is its root directory as it names it itself, and
    ``seen_as`` the same directory from here: the process may live in a container.
    """

    who: str
    root_dir: Path
    seen_as: Path


def processes(proc: Path = PROC) -> Iterator[KubeletProcess]:
    """Every kubelet process of this machine, whichever its root directory is."""
    for process in _processes(proc):
        name = _name(process)
        if name is None:
            continue
        try:
            root_dir = _root_dir(process) or ROOT_DIR
        except OSError:
            continue
        seen_as = process / "root" / root_dir.lstrip("/")
        with suppress(FileNotFoundError):
            try:
                seen_as.stat()
            except PermissionError:
                # Who may not look into the process can only take the name as it is here.
                seen_as = Path(root_dir)
        yield KubeletProcess(f"process {process.name}, {name}", Path(root_dir), seen_as)


def config_file(directory: Path, proc: Path = PROC) -> Path | None:
    """The configuration file of the kubelet of a directory, None if it is not known.

    It is the one on the kubelet's command line, as the kubelet sees it, or ``config.yaml`` in the
    directory, where kubeadm has it.
    """
    for process in _processes(proc):
        name = _name(process)
        if name is None or not _works_in(process, name, directory):
            continue
        try:
            text = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        named = _last_of(text.split("\0"), "config")
        if named is not None and name == _KUBELET:
            return process / "root" / named.lstrip("/")
    beside = directory / "config.yaml"
    return beside if beside.is_file() else None


def _processes(proc: Path) -> Iterator[Path]:
    try:
        folders = sorted(proc.iterdir())
    except OSError:
        return
    yield from (folder for folder in folders if folder.name.isdigit())


def _name(process: Path) -> str | None:
    """The name of the process if it is, or may contain, a kubelet that has not ended."""
    try:
        name = (process / "comm").read_text(errors="replace").strip()
        if name != _KUBELET and name not in _WITH_A_KUBELET_INSIDE:
            return None
        # A process that has ended and waits for its parent has no command line any more.
        return name if (process / "cmdline").read_bytes() else None
    except OSError:
        return None


def _root_dir(process: Path) -> str | None:
    """The root directory on the command line of a process; None if there is none."""
    text = (process / "cmdline").read_bytes().decode(errors="replace")
    return _last_of(text.split("\0"), "root-dir")


def _works_in(process: Path, name: str, directory: Path) -> bool:
    try:
        root_dir = _root_dir(process)
    except OSError:
        return True
    if root_dir is None and name != _KUBELET:
        # Such programs have defaults of their own, and files with further arguments.
        return directory.resolve().as_posix().endswith(ROOT_DIR)
    seen_by_it = process / "root" / (root_dir or ROOT_DIR).lstrip("/")
    try:
        return seen_by_it.samefile(directory)
    except OSError:
        return Path(root_dir or ROOT_DIR).resolve() == directory.resolve()


def _last_of(arguments: Sequence[str], flag: str) -> str | None:
    """The last value of a flag, given to the kubelet or through another program."""
    found = None
    for at, argument in enumerate(arguments):
        option, has_value, value = argument.lstrip("-").partition("=")
        if option == "kubelet-arg":
            passed_on = value if has_value else "".join(arguments[at + 1 : at + 2])
            option, has_value, value = passed_on.lstrip("-").partition("=")
        if option == flag and argument.startswith("-"):
            found = value if has_value else "".join(arguments[at + 1 : at + 2])
    return found


def _answer(folder: Path) -> str | None:
    """What the kubelet's socket in a folder does, if it does anything; else None."""
    try:
        # A path below /proc is short; the address of a socket holds 107 bytes.
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(_PATIENCE_SECONDS)
            client.connect(f"/proc/self/fd/{descriptor}/{_SOCKET}")
        return "answers"
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except OSError as error:
        return f"can not be asked: {error.strerror or error}"
    finally:
        os.close(descriptor)
