"""Read and repair state files: a kubelet's directory, a copy of it, or one file of any name.

Writing is the last step of a rebase. It is refused while a kubelet runs there or if a file has
changed since it was read; it replaces all files or no file, and keeps a backup of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from numalet.core.checkpoint import cpu_file, device_file, go_json, memory_file
from numalet.core.checkpoint.go_json import GoJsonError
from numalet.core.config.releases.release import Release
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.insight.state import holder_map
from numalet.insight.state.reading import States
from numalet.insight.usecases import kubelet_at_hand
from numalet.insight.usecases.kubelet_at_hand import with_kubelets
from numalet.io import kubelets
from numalet.io.documents.cluster import node_labels as node_identities
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources, LoadedConfig
from numalet.io.documents.kubelet.kubelet_version import KubeletAtHand
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.pods.listed_pods import PodNames
from numalet.io.documents.pods.pod_manifest import PodOptions
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.files import atomic, backups, intent, kubelet_pod_folders, state_directory
from numalet.io.machines import LoadedMachine, MachineChoice


class RebaseHeld(Finding):
    sentence = (
        "a kubelet uses {path!r} ({holder}); stop it, and keep it stopped until the files are "
        "written"
    )
    path: str
    holder: str


class RebaseChangedMeanwhile(Finding):
    sentence = (
        "{path!r} has changed since it was read; another process writes it, so nothing was written"
    )
    path: str


class RebaseNoStateFiles(Finding):
    sentence = (
        "no state files in {path!r}; name a kubelet's root directory, or a copy of files from it"
    )
    path: str


_MEMBERS: Final[Mapping[str, str]] = {
    "machinestate": memory_file.FILE_NAME,
    "defaultcpuset": cpu_file.FILE_NAME,
    "data": device_file.FILE_NAME,
}
"""A member that identifies the kind of state file."""


class StateSource(Value):
    """State files by the name that a kubelet gives them, and their paths.

    ``known_pods`` are the uids of the pods with a folder in the same directory, if it has such
    folders. A kubelet keeps them until the pods are deleted.
    """

    path: Path
    files: Mapping[str, str]
    paths: Mapping[str, Path]
    known_pods: frozenset[str] | None = None


class ReplacedStateFile(Value):
    path: Path
    backup: Path


class Kubelet(Value):
    """``about_running``: notes about the kubelet of this machine."""

    config: LoadedConfig
    machine: LoadedMachine
    about_running: tuple[Finding, ...] = ()

    @property
    def notes(self) -> tuple[Finding, ...]:
        return (*self.about_running, *self.machine.reading_notes, *self.config.warnings)


class PodsSeenAgain(Value):
    """Pods in the order in which a starting kubelet admits them, and their node."""

    pods: tuple[Pod, ...]
    identity: NodeIdentity


def running(
    paths: Sequence[str], node_name: str | None, node_labels: str | None, pod_source: PodSource
) -> PodsSeenAgain:
    """Read the running pods from these files.

    Raises:
        BadInput: With everything that is wrong in any of them.
    """
    options = PodOptions(node_name=node_name, source=pod_source, run=True)
    pods = pod_manifest.load_pods(paths, options).pods
    return PodsSeenAgain(pods, node_identities.of_pods(node_name, node_labels, pods))


def read(path: Path) -> StateSource:
    """Read the state files of a directory, or one file.

    Raises:
        BadInput: State files are missing, or one cannot be read.
    """
    if path.is_file():
        text = state_directory.read_file(path) or ""
        name = _kind_of(path, text)
        return StateSource(path, {name: text}, {name: path})
    if not path.exists():
        raise input_error.NotFound(
            f"no file or directory {str(path)!r}; name a kubelet's root directory, a copy of its "
            "state files, or one of them"
        ).bad_input()
    directory = state_directory.read(path)
    if not directory.files:
        where = Location(str(path))
        raise BadInput([RebaseNoStateFiles(path=str(path), where=where)])
    paths = {name: directory.path_of(name) for name in directory.files}
    return StateSource(path, directory.files, paths, kubelet_pod_folders.uids(path))


def names(states: States, known: PodNames) -> dict[str, str]:
    """Return ``namespace/pod`` by uid; pods without a known uid are found by what they hold."""
    holders = holder_map.state_map(states, known.by_uid).holders
    return {**holder_map.names(states, holders, known.listed), **known.by_uid}


def settle(path: Path, proc: Path = kubelets.PROC) -> None:
    """Finish a rebase in this directory that was killed while it replaced the files.

    Raises:
        BadInput: A kubelet runs there, or writing fails.
    """
    if path.is_dir():
        refuse_if_held(StateSource(path, {}, {}), proc)
        intent.settle(path)


def _kind_of(path: Path, text: str) -> str:
    """Return the kind of state file, by its name or else by its content."""
    # Copies have names such as cpu_manager_state.bak.
    for name in state_directory.FILE_NAMES:
        if name in path.name:
            return name
    try:
        value = go_json.loads(text)
    except GoJsonError:
        value = None
    members = {str(name).lower() for name in value} if isinstance(value, dict) else frozenset[str]()
    for member, name in _MEMBERS.items():
        if member in members:
            return name
    raise input_error.Invalid(
        f"{str(path)!r} is not a state file of the kubelet",
        expected=f"one of {', '.join(state_directory.FILE_NAMES)}",
        where=Location(str(path)),
    ).bad_input()


def load_kubelet(
    machine: MachineChoice, config: ConfigSources, root: Path, *, uses_kubelet: bool = True
) -> Kubelet:
    """Read configuration and machine of a kubelet; ``root`` may be its directory.

    With ``uses_kubelet`` a kubelet on this machine provides the configuration if no other is named.

    Raises:
        BadInput: With everything that is wrong in either.
    """
    findings = Findings()
    opened = findings.collect(machine.open)
    is_live = machine.text is None
    used = kubelet_at_hand.used_configuration(config, is_live=is_live and uses_kubelet, root=root)
    sources = with_kubelets(used.sources, is_live=is_live, root=root)
    loaded = findings.collect(partial(kubelet_config.load, sources))
    if opened is None or loaded is None:
        raise BadInput(findings.all)
    return Kubelet(loaded, opened, used.notes)


def release_of(
    name: str | None, given: Sequence[KubeletAtHand], root: Path
) -> tuple[Release | None, tuple[Finding, ...]]:
    """Return the release of the kubelet that wrote these files, if known, and notes about it.

    Raises:
        BadInput: The named release, or the release of the kubelet on this machine, is not known.
    """
    sources = ConfigSources(release=name, kubelets=given)
    loaded = kubelet_config.load(with_kubelets(sources, is_live=False, root=root))
    return loaded.named_release, loaded.warnings


def refuse_if_held(source: StateSource, proc: Path = kubelets.PROC) -> None:
    """Raise ``BadInput`` if a kubelet runs in the directory of the files."""
    directory = source.path if source.path.is_dir() else source.path.parent
    holder = kubelets.at_work_in(directory, proc)
    if holder is not None:
        raise BadInput(
            [RebaseHeld(path=str(directory), holder=holder, where=Location(str(directory)))]
        )


def replace(
    source: StateSource, files: Mapping[str, str], proc: Path = kubelets.PROC
) -> tuple[ReplacedStateFile, ...]:
    """Replace these files; return them with their backups.

    Raises:
        BadInput: A kubelet runs there, a file has changed since it was read, or one cannot be
        written. Then nothing was replaced.
    """
    refuse_if_held(source, proc)
    written = []
    texts: dict[Path, str] = {}
    for name in sorted(files):
        path = source.paths[name]
        # Read again right before writing: a kubelet without a known process may use the directory.
        if state_directory.read_file(path) != source.files[name]:
            raise BadInput([RebaseChangedMeanwhile(path=str(path), where=Location(str(path)))])
        written.append(ReplacedStateFile(path, backups.free_name(path)))
        texts[written[-1].backup] = source.files[name]
    # One call for backups and files, so that a crash leaves all or no file replaced.
    atomic.write_texts(texts | {each.path: files[name] for each, name in _paired(written, files)})
    return tuple(written)


def _paired(
    written: list[ReplacedStateFile], files: Mapping[str, str]
) -> list[tuple[ReplacedStateFile, str]]:
    return list(zip(written, sorted(files), strict=True))
