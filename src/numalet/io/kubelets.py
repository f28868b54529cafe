"""Finds running kubelets: processes with this root directory, or sockets that answer.

Processes are recognised by name, including larger programs with a kubelet inside. The root
directory on the command line is resolved in the file system of the process, which may be a
container. In doubt a kubelet is assumed to run: a refusal is better than writing below a running
kubelet.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from numalet.core.config.behaviour import Mode
from numalet.core.model.value import Value
from numalet.io import owner_programs
from numalet.io.documents.kubelet import flag_words, kubelet_flags
from numalet.io.documents.kubelet.kubelet_config import Base, ConfigSources
from numalet.io.owner_programs import KUBELET
from numalet.wording.kubelet_start import ROOT_DIR

PROC: Final = Path("/proc")
ROOT: Final = Path(ROOT_DIR)

_CONFIG_DIR: Final = "config-dir"
_ROOT_DIR: Final = "root-dir"
_PATIENCE_SECONDS: Final = 2.0
_LONGEST_ADDRESS: Final = 107


def at_work_in(directory: Path, proc: Path = PROC) -> str | None:
    """The running kubelet in a few words, if there is one."""
    for process in _processes(proc):
        name = _name(process)
        if name is not None and _works_in(process, name, directory):
            return f"process {process.name}, {name}"
    for socket in owner_programs.KUBELET_SOCKETS:
        problem = _answer(directory / socket)
        if problem is not None:
            return f"{socket} {problem}"
    return None


class KubeletProcess(Value):
    """A process that is a kubelet, or has one inside.

    ``started_ticks`` is its start in clock ticks after boot. ``root_dir`` is its root directory as
    on its command line, ``seen_as`` the path to the same directory from outside its container.
    ``folder`` is its folder in /proc. ``flags`` are the kubelet's valid flags in order, without
    dashes.
    """

    pid: int
    started_ticks: int
    name: str
    flags: tuple[tuple[str, str], ...]
    root_dir: Path
    seen_as: Path
    folder: Path

    @property
    def who(self) -> str:
        return f"process {self.pid}, {self.name}"

    @property
    def is_alone(self) -> bool:
        """Whether the program is the kubelet itself, so that its command line is complete."""
        return self.name == KUBELET

    @property
    def root(self) -> Path:
        """The root of its file system, reachable from this program."""
        return self.folder / "root"

    def values(self, flag: str) -> tuple[str, ...]:
        return tuple(value for name, value in self.flags if name == flag)

    def path(self, named: str) -> Path:
        """A path in the view of this process, reachable from this program."""
        return _seen(self.folder, named)


def processes(proc: Path = PROC) -> Iterator[KubeletProcess]:
    for folder in _processes(proc):
        process = _process(folder)
        if process is not None:
            yield process


def process_of(directory: Path, proc: Path = PROC) -> KubeletProcess | None:
    for folder in _processes(proc):
        name = _name(folder)
        if name is not None and _works_in(folder, name, directory):
            process = _process(folder)
            if process is not None:
                return process
    return None


def _process(folder: Path) -> KubeletProcess | None:
    name = _name(folder)
    if name is None:
        return None
    try:
        flags = _flags(folder, name)
    except OSError:
        return None
    root_dir = dict(flags).get(_ROOT_DIR) or ROOT_DIR
    return KubeletProcess(
        pid=int(folder.name),
        started_ticks=_started_ticks(folder),
        name=name,
        flags=flags,
        root_dir=Path(root_dir),
        seen_as=_seen(folder, root_dir),
        folder=folder,
    )


def _seen(folder: Path, named: str) -> Path:
    """A path in the view of a process, reachable from this program."""
    seen = folder / ("root" if named.startswith("/") else "cwd") / named.lstrip("/")
    with suppress(FileNotFoundError):
        try:
            seen.stat()
        except PermissionError:
            # Without ptrace access to the process, assume that it shares our file system.
            return Path(named)
    return seen


def _started_ticks(process: Path) -> int:
    """Start of a process in clock ticks after boot; 0 if unreadable."""
    try:
        text = (process / "stat").read_text(errors="replace")
        # The program name may contain parentheses and spaces; it ends at the last ")".
        return int(text.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def config_file(directory: Path, process: KubeletProcess | None) -> Path | None:
    """The file on the kubelet's command line, or else ``config.yaml``, if known."""
    named = process.values("config") if process is not None and process.is_alone else ()
    if process is not None and named:
        return process.path(named[-1])
    # kubeadm writes the file here.
    beside = directory / "config.yaml"
    return beside if beside.is_file() else None


def config_sources(directory: Path, process: KubeletProcess | None) -> ConfigSources | None:
    """The sources of the kubelet's configuration, without flags of no known release."""
    file = config_file(directory, process)
    given = () if process is None else process.flags
    flags = [(name, value) for name, value in given if kubelet_flags.is_known(name)]
    if file is None and not flags:
        return None
    folders = () if process is None else process.values(_CONFIG_DIR)
    return ConfigSources(
        config_file=file,
        config_dir=process.path(folders[-1]) if process is not None and folders else None,
        flags=flags,
        base=Base.FLAGS_ONLY,
        mode=Mode.EXACT,
    )


def node_name(directory: Path, proc: Path = PROC) -> str:
    """The node name on the kubelet's command line; empty without one.

    Kubelet v1.32: ``nodeutil.GetHostname``; a cloud provider may choose another name.
    """
    process = process_of(directory, proc)
    named = () if process is None else process.values("hostname-override")
    return named[-1].strip().lower() if named else ""


def _processes(proc: Path) -> Iterator[Path]:
    try:
        folders = sorted(proc.iterdir())
    except OSError:
        return
    yield from (folder for folder in folders if folder.name.isdigit())


def _name(process: Path) -> str | None:
    """The name of a live process that is, or may contain, a kubelet."""
    try:
        name = (process / "comm").read_text(errors="replace").strip()
        if name != KUBELET and name not in owner_programs.WITH_A_KUBELET_INSIDE:
            return None
        # A zombie has an empty command line.
        return name if (process / "cmdline").read_bytes() else None
    except OSError:
        return None


def _flags(process: Path, name: str) -> tuple[tuple[str, str], ...]:
    """The kubelet's flags on the command line of a process; raises ``OSError``."""
    text = (process / "cmdline").read_bytes().decode(errors="replace")
    words = text.removesuffix("\0").split("\0")[1:]
    given = flag_words.of_program(words, name)
    return tuple((flag.name, flag.value) for flag in given if flag.problem is None)


def _works_in(process: Path, name: str, directory: Path) -> bool:
    try:
        root_dir = dict(_flags(process, name)).get(_ROOT_DIR)
    except OSError:
        return True
    if root_dir is None and name != KUBELET:
        # These programs have other defaults, and files with more arguments.
        return directory.resolve().as_posix().endswith(ROOT_DIR)
    seen_by_it = process / "root" / (root_dir or ROOT_DIR).lstrip("/")
    try:
        # Compare inodes, since bind mounts give one directory several paths.
        return seen_by_it.samefile(directory)
    except OSError:
        return Path(root_dir or ROOT_DIR).resolve() == directory.resolve()


def _answer(path: Path) -> str | None:
    import socket  # Commands ask this only before they write below a kubelet's folder.

    if not path.parent.is_dir():
        return None
    try:
        with (
            short(path) as address,
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client,
        ):
            client.settimeout(_PATIENCE_SECONDS)
            client.connect(str(address))
        return "answers"
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except OSError as error:
        # A full backlog or missing permission; in doubt there is a server.
        return f"cannot be queried: {error.strerror or error}"


@contextmanager
def short(path: Path) -> Iterator[Path]:
    """A path to the socket of at most 107 bytes, the limit of sockaddr_un."""
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield path
        return
    descriptor = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield Path(f"/proc/self/fd/{descriptor}/{path.name}")
    finally:
        os.close(descriptor)
