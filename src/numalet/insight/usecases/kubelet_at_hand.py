"""Find the kubelet whose configuration is used, from the rest of the input.

Its release comes from a Node object among the documents, or from a kubelet on this machine; the
latter also provides configuration, state files and devices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from numalet.core.checkpoint import device_file
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.device.ledger import NO_NODE
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.value import Value, replace
from numalet.io import devices, kubelet_program, kubelets, os_problem
from numalet.io.documents.kubelet.kubelet_config import Base, ConfigSources
from numalet.io.documents.kubelet.kubelet_version import KubeletAtHand, ShownBy
from numalet.io.documents.machine.device_file import DeviceLists
from numalet.io.files import kubelet_pod_folders, state_directory
from numalet.io.kubelets import KubeletProcess
from numalet.io.machines import LoadedMachine
from numalet.wording import numbers

_PATIENCE_SECONDS: Final = 2.0
_COMMAND_LINE: Final = re.compile(r"/proc/([0-9]+)/cmdline")


def with_kubelets(
    sources: ConfigSources,
    *,
    is_live: bool,
    shown: Iterable[KubeletAtHand] = (),
    node_name: str = "",
    root: Path | None = None,
    proc: Path | None = None,
) -> ConfigSources:
    """Return the sources with every kubelet that the input shows.

    Args:
        sources: the configuration sources of the user.
        is_live: whether the question is about this machine, on which a kubelet may run.
        shown: the kubelets of Node objects.
        node_name: the name of the node, if known; kubelets of other nodes are ignored.
        root: a possible root directory of a kubelet.
        proc: the proc file system, by default this machine's.
    """
    nodes = (each for each in shown if node_name in ("", each.node))
    here = _processes(sources, root, proc or kubelets.PROC, is_live=is_live)
    running = map(of_process, here)
    return replace(sources, kubelets=(*sources.kubelets, *nodes, *running))


class UsedKubelet(Value, kw_only=True):
    """The parts of this machine's kubelet that are used, and notes about it for the user.

    ``devices`` are not set if they are not known. ``known_pods`` is not set if the kubelet has no
    list of pods; its state files may name deleted pods.
    """

    sources: ConfigSources
    files: Mapping[str, str] = MappingProxyType({})
    known_pods: frozenset[str] | None = None
    devices: DeviceLists | None = None
    notes: tuple[Finding, ...] = ()

    def is_gone(self, uid: str) -> bool:
        return self.known_pods is not None and uid not in self.known_pods


def used(
    sources: ConfigSources, *, is_live: bool, root: Path | None = None, proc: Path | None = None
) -> UsedKubelet:
    """Return the used parts of this machine's kubelet, if the user names no configuration.

    Flags of the user override the kubelet's. If the user names a directory ``root`` with state
    files, those of the kubelet are not read. The other arguments are as above.

    Raises:
        BadInput: The configuration of the kubelet cannot be read.
    """
    kubelet, process = _configured(sources, is_live=is_live, root=root, proc=proc)
    if process is None:
        return kubelet
    notes: list[Finding] = []
    files = {} if root is not None else _files_of(process, notes)
    known = _devices_of(process, notes)
    parts = [] if root is not None else [_described(files, process)]
    parts.append(numbers.counted(sum(map(len, (known or {}).values())), "device"))
    return replace(
        kubelet,
        files=files,
        known_pods=kubelet_pod_folders.uids(process.seen_as) if root is None else None,
        devices=known,
        notes=(_used_note(process, kubelet.sources, *parts), *notes),
    )


def used_configuration(sources: ConfigSources, *, is_live: bool, root: Path) -> UsedKubelet:
    """Return the configuration alone, for a question about the state files in ``root``.

    Otherwise like ``used``. Raises ``BadInput``.
    """
    kubelet, process = _configured(sources, is_live=is_live, root=root)
    if process is None:
        return kubelet
    return replace(kubelet, notes=(_used_note(process, kubelet.sources),))


def _configured(
    sources: ConfigSources, *, is_live: bool, root: Path | None, proc: Path | None = None
) -> tuple[UsedKubelet, KubeletProcess | None]:
    """Return the used configuration, and the kubelet's process if it is used."""
    proc = proc or kubelets.PROC
    is_its_own = _COMMAND_LINE.fullmatch(str(sources.config_file)) is not None
    is_named = sources.config_file or sources.config_dir or sources.base is Base.FLAGS_ONLY
    # A configuration of the user is about another kubelet than that of this machine.
    if not is_live or (is_named and not is_its_own):
        return UsedKubelet(sources=sources), None
    here = [*_processes(sources, root, proc, is_live=True)]
    if not here:
        every = [each.who for each in kubelets.processes(proc)]
        several = input_error.Ignored(
            f"several kubelets run on this machine ({'; '.join(every)}), and numalet uses none of "
            "them; choose one with -c /proc/PID/cmdline"
        )
        return UsedKubelet(sources=sources, notes=(several,) if len(every) > 1 else ()), None
    process = here[0]
    # Settings inside another program (k3s, for example) are not on its command line.
    if not process.is_alone:
        inside = input_error.Ignored(
            f"numalet does not use the kubelet of this machine ({process.who}), because some of "
            "its settings are not on a command line; name its configuration with -c"
        )
        return UsedKubelet(sources=sources, notes=(inside,)), None
    own = kubelets.config_sources(process.seen_as, process) or ConfigSources(base=Base.FLAGS_ONLY)
    configured = replace(
        sources,
        config_file=_readable(own.config_file, process),
        config_dir=own.config_dir,
        flags=(*own.flags, *sources.flags),
        base=Base.FILE if own.config_file or own.config_dir else own.base,
    )
    return UsedKubelet(sources=configured), process


def _described(files: Mapping[str, str], process: KubeletProcess) -> str:
    if not files:
        return "no state files"
    return f"{numbers.counted(len(files), 'state file')} in {process.root_dir}"


def _used_note(process: KubeletProcess, own: ConfigSources, *more: str) -> Finding:
    config = "its flags" if own.config_file is None else str(own.config_file)
    return input_error.Assumed(
        f"numalet uses this machine's kubelet ({process.who}): {'; '.join((config, *more))}; "
        "--ignore-kubelet turns this off"
    )


def devices_on(
    machine: LoadedMachine, file: str | None, texts: Sequence[str], kubelet: UsedKubelet | None
) -> DeviceLists:
    """Return the devices of the user, else those of the kubelet, else those of the machine.

    Raises:
        BadInput: With everything that is wrong in them.
    """
    if kubelet is not None and kubelet.devices is not None and file is None and not texts:
        return kubelet.devices
    return devices.devices_on(machine, file, texts)


def _readable(file: Path | str | None, process: KubeletProcess) -> Path | str | None:
    """Return the file. Raises ``BadInput`` if it exists and cannot be read."""
    try:
        if file is not None:
            Path(file).open("rb").close()
    except OSError as error:
        problem = f"{file}: {os_problem.text(error)}"
        raise input_error.Unreadable(
            f"cannot read the configuration of this machine's kubelet ({process.who}): {problem}; "
            "run as root, name a configuration with -c, or use --ignore-kubelet"
        ).bad_input() from None
    return file


def _files_of(process: KubeletProcess, notes: list[Finding]) -> Mapping[str, str]:
    try:
        return state_directory.read(process.seen_as).files
    except BadInput as bad:
        notes.append(
            input_error.Unreadable(
                f"cannot read the state files of this machine's kubelet ({process.who}), so its "
                f"node is treated as empty: {bad.findings[0]}",
                severity=Severity.WARNING,
            )
        )
        return {}


def _devices_of(process: KubeletProcess, notes: list[Finding]) -> DeviceLists | None:
    """Return the kubelet's healthy devices, from its API, or else from its checkpoint."""
    from numalet.io.pod_resources_client import CallRefused, PodResourcesClient

    socket = process.seen_as / "pod-resources" / "kubelet.sock"
    try:
        with kubelets.short(socket) as address:
            answer = PodResourcesClient(address, _PATIENCE_SECONDS).allocatable()
        if not isinstance(answer, CallRefused):
            return devices_of_answer(answer.document)
        problem = f"{answer.code}: {answer.text}"
    except OSError as error:
        problem = os_problem.text(error)
    except BadInput as bad:
        problem = str(bad.findings[0])
    registered = _registered(process)
    instead = "give them with --device or --devices"
    if registered:
        instead = (
            "the devices of its checkpoint are used, whose NUMA nodes are partly unknown; or "
            f"{instead}"
        )
    notes.append(
        input_error.Unreadable(
            f"cannot read the devices of this machine's kubelet ({process.who}): {problem}; "
            f"{instead}",
            severity=Severity.WARNING,
        )
    )
    return registered


def devices_of_answer(document: Mapping[str, Any]) -> DeviceLists:
    """Read the devices from the JSON form of an answer of GetAllocatableResources."""
    places: dict[str, dict[str, set[int]]] = {}
    for each in document.get("devices", ()):
        nodes = {int(node.get("ID", 0)) for node in each.get("topology", {}).get("nodes", ())}
        of_resource = places.setdefault(each.get("resourceName", ""), {})
        for device_id in each.get("deviceIds", ()):
            of_resource.setdefault(device_id, set()).update(nodes)
    return _lists(places)


def _registered(process: KubeletProcess) -> DeviceLists | None:
    """Read the devices of the checkpoint, which has NUMA nodes only for devices in use."""
    try:
        text = state_directory.read(process.seen_as).files.get(device_file.FILE_NAME)
    except BadInput:
        return None
    written = None if text is None else device_file.load(text)
    if written is None or isinstance(written, Finding):
        return None
    places = {
        name: {device_id: set[int]() for device_id in ids}
        for name, ids in written.registered.items()
    }
    for containers in written.records.values():
        for resources in containers.values():
            for name, record in resources.items():
                for node, ids in record.by_node.items():
                    for device_id in ids if node != NO_NODE else ():
                        places.get(name, {}).setdefault(device_id, set()).add(node)
    # A kubelet never allocates a device without NUMA nodes together with others, so the NUMA nodes
    # of a resource are used only if they are known for each device.
    for of_resource in places.values():
        if not all(of_resource.values()):
            of_resource.update({device_id: set() for device_id in of_resource})
    return _lists(places)


def _lists(places: Mapping[str, Mapping[str, Iterable[int]]]) -> DeviceLists:
    return {
        resource: tuple(Device(name, tuple(sorted(ids))) for name, ids in sorted(found.items()))
        for resource, found in sorted(places.items())
    }


def of_process(process: KubeletProcess) -> KubeletAtHand:
    """Identify the kubelet of this process; its program is read, never executed."""
    version = kubelet_program.version(process.folder / "exe")
    return KubeletAtHand(version, ShownBy.PROCESS, f"the program of {process.who}")


def _processes(
    sources: ConfigSources, root: Path | None, proc: Path, *, is_live: bool
) -> Iterator[KubeletProcess]:
    """Yield the kubelet that the input names by command line or directory, or the only one."""
    named = _COMMAND_LINE.fullmatch(str(sources.config_file))
    if named is not None:
        yield from (each for each in kubelets.processes(proc) if each.pid == int(named[1]))
        return
    beside = None if root is None else kubelets.process_of(root, proc)
    if beside is not None:
        yield beside
    elif is_live:
        here = [*kubelets.processes(proc)]
        yield from here if len(here) == 1 else ()
