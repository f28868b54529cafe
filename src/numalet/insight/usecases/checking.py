"""A check, from what the user named to all findings.

Reads machine, configuration, state files and pods; whatever can not be read of any of them is
reported at once. What can be read, the rules of ``insight.lint`` judge. Of several configurations
and machines every combination is judged, and each of them is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Final, Generic, TypeVar

from numalet.core.config.behaviour import Mode
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model import machine_shape
from numalet.core.model.findings import Finding, Findings, Location
from numalet.insight.lint import choosing, rows, rules
from numalet.insight.lint.choosing import LintChoice
from numalet.insight.lint.rows import FindingRow
from numalet.insight.lint.rules import Checked
from numalet.insight.lint.subject import Host, LintSubject
from numalet.io.devices import devices_on
from numalet.io.documents import kubelet_config, pod_manifest, yaml_source
from numalet.io.documents import node_labels as node_identities
from numalet.io.documents.kubelet_config import ConfigSources, LoadedConfig
from numalet.io.documents.pod_manifest import LoadedPods, PodOptions
from numalet.io.documents.pod_resources import PodSource
from numalet.io.files import state_directory
from numalet.io.machines import LoadedMachine, MachineChoice
from numalet.io.sysfs.trees import Tree

T = TypeVar("T")

_NUMA_BALANCING: Final = "proc/sys/kernel/numa_balancing"
_SWAPS: Final = "proc/swaps"
_CGROUP_V2: Final = "sys/fs/cgroup/cgroup.controllers"
_CGROUP_V1: Final = "sys/fs/cgroup/memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInputs:
    """What the user named.

    ``devices`` are texts such as ``example.com/gpu=gpu0@0,gpu1@1``; ``device_file`` has the same
    in a file.
    """

    machine: MachineChoice = field(default_factory=MachineChoice)
    config: ConfigSources = field(default_factory=ConfigSources)
    pods: Sequence[str] = ()
    node_name: str | None = None
    node_labels: str | None = None
    pod_source: PodSource = PodSource.API
    devices: Sequence[str] = ()
    device_file: str | None = None
    state_dir: Path | None = None
    choice: LintChoice = field(default_factory=LintChoice)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The findings that count, in words, and the number of pods that they are about.

    ``ignored_count`` is the number of findings that do not count, by option or by comment.
    """

    checked: Checked
    rows: tuple[FindingRow, ...]
    pod_count: int
    mode: Mode = Mode.EXACT
    ignored_count: int = 0

    def fails(self, *, strict: bool = False) -> bool:
        """Whether the node does not start, or an error (``strict``: or a warning) counts."""
        bad = rows.failing(strict=strict)
        return self.checked.refused is not None or any(row.severity in bad for row in self.rows)


@dataclass(frozen=True, slots=True)
class CheckCombination:
    """One of several configurations on one of several machines, by the names that were given.

    ``config`` is None without a file, ``machine`` None for the live one. ``result`` is None where a
    part can not be read; ``unusable`` says why then.
    """

    config: str | None
    machine: str | None
    result: CheckResult | None
    unusable: tuple[FindingRow, ...] = ()

    @property
    def name(self) -> str:
        """What the combination is called in texts."""
        return f"{self.config or 'no file'} on {self.machine or 'this machine'}"

    @property
    def rows(self) -> tuple[FindingRow, ...]:
        """The findings that count, or why nothing could be checked."""
        return self.unusable if self.result is None else self.result.rows

    def exit_status(self, *, strict: bool = False) -> int:
        """0 clean, 1 it fails, 2 a part can not be read."""
        if self.result is None:
            return 2
        return 1 if self.result.fails(strict=strict) else 0


@dataclass(frozen=True, slots=True)
class _Part(Generic[T]):
    """A part of the input that was read: its value, or None and why."""

    value: T | None
    findings: tuple[Finding, ...]

    def get(self, findings: Findings) -> T | None:
        """The value; None, and the findings added to these, if it could not be read."""
        findings.extend(self.findings)
        return self.value


def _read(part: Callable[[], T]) -> _Part[T]:
    findings = Findings()
    return _Part(findings.collect(part), findings.all)


@dataclass(frozen=True, slots=True)
class _CheckParts:
    """Everything that a check reads, as far as it could be read."""

    machine: _Part[LoadedMachine]
    config: _Part[LoadedConfig]
    pods: _Part[LoadedPods]
    places: Mapping[str, Location]
    files: _Part[Mapping[str, str]]


def check(pieces: CheckInputs) -> CheckResult:
    """What is wrong with these pieces.

    Raises:
        BadInput: one of them can not be read.
    """
    yaml_source.refuse_second_reader((*pieces.pods, pieces.config.config_file))
    machine = _read(pieces.machine.open)
    config = _read(lambda: kubelet_config.load(pieces.config))
    pods = _read(lambda: _pods(pieces))
    files = _read(lambda: _state_files(pieces))
    places = {} if pods.value is None else _pod_places(pieces, pods.value)
    return _judged(pieces, _CheckParts(machine, config, pods, places, files))


def check_each(
    pieces: CheckInputs, configs: Sequence[Path], machines: Sequence[str]
) -> tuple[CheckCombination, ...]:
    """What is wrong with each of these configurations on each of these machines.

    Without any the one of ``pieces`` counts; those that come twice are checked once. What can not
    be read spoils the combinations that need it, and no others.

    Raises:
        BadInput: the standard input is named twice.
    """
    named_configs: list[Path | str | None] = [*dict.fromkeys(configs)]
    named_configs = named_configs or [pieces.config.config_file]
    named_machines: list[str | None] = [*dict.fromkeys(machines)] or [pieces.machine.text]
    yaml_source.refuse_second_reader((*pieces.pods, *named_configs))
    pods = _read(lambda: _pods(pieces))
    files = _read(lambda: _state_files(pieces))
    places = {} if pods.value is None else _pod_places(pieces, pods.value)
    choices = [(name, _machine_choice(pieces, name)) for name in named_machines]
    opened = [(name, choice, _read(choice.open)) for name, choice in choices]
    combinations = []
    for path in named_configs:
        sources = replace(pieces.config, config_file=path)
        config = _read(partial(kubelet_config.load, sources))
        for name, choice, machine in opened:
            own = replace(pieces, config=sources, machine=choice)
            parts = _CheckParts(machine, config, pods, places, files)
            result = _read(partial(_judged, own, parts))
            combinations.append(
                CheckCombination(
                    None if path is None else str(path),
                    name,
                    result.value,
                    rows.rows(result.findings),
                )
            )
    return tuple(combinations)


def _machine_choice(pieces: CheckInputs, name: str | None) -> MachineChoice:
    """The machine of this name; others than shapes have their own memory, and keep it."""
    if name is None or machine_shape.resembles_shape(name):
        return replace(pieces.machine, text=name)
    return replace(pieces.machine, text=name, memory_per_node=None)


def _judged(pieces: CheckInputs, parts: _CheckParts) -> CheckResult:
    """What the rules find; raises ``BadInput`` with everything that could not be read."""
    findings = Findings()
    machine = parts.machine.get(findings)
    config = parts.config.get(findings)
    pods = parts.pods.get(findings)
    files = parts.files.get(findings)
    devices = None
    if machine is not None:
        on_it = partial(devices_on, machine, pieces.device_file, pieces.devices)
        devices = findings.collect(on_it)
    findings.raise_errors()
    assert machine is not None
    assert devices is not None
    assert config is not None
    assert pods is not None
    identity = node_identities.of_pods(pieces.node_name, pieces.node_labels, pods.pods)
    subject = LintSubject(
        config=config.config,
        machine=machine.info,
        state_files=files or {},
        pods=pods.pods,
        pod_places=parts.places,
        numa_balancing=numa_balancing(machine.tree),
        host=host(pieces, machine.tree, config.config),
        behaviour=config.behaviour,
        devices=devices,
        identity=identity,
    )
    noticed = (*config.warnings, *pods.notes, *machine.reading_notes)
    checked = rules.check(subject, noticed)
    placed = _placed(map(partial(_in_state_file, pieces), checked.findings), pieces.config)
    placed_rows = rows.rows(placed)
    counted = choosing.counted(placed_rows, pieces.choice, cache(_lines_of))
    ignored_count = len(placed_rows) - len(counted)
    return CheckResult(checked, counted, len(pods.pods), config.numalet.mode, ignored_count)


def _lines_of(document: str) -> Sequence[str]:
    """The lines of a file, none if it is no file; what was read once can be read again."""
    if not Path(document).is_file():
        return ()
    text = Findings().collect(lambda: yaml_source.read_text(document))
    return () if text is None else text.split("\n")


def numa_balancing(tree: Tree | None) -> int | None:
    """What ``kernel.numa_balancing`` is set to; None if it is unknown."""
    text = None if tree is None else tree.text(_NUMA_BALANCING)
    stripped = (text or "").strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() else None


def host(pieces: CheckInputs, tree: Tree | None, config: KubeletConfig) -> Host:
    """What the kubelet would see of this host; of a machine that is not live most is unknown."""
    if tree is None:
        return Host()
    swaps = tree.text(_SWAPS)
    version = None
    if tree.text(_CGROUP_V2) is not None:
        version = 2
    elif tree.is_directory(_CGROUP_V1):
        version = 1
    return Host(
        # The first line has the names of the columns.
        swap_areas=None if swaps is None else tuple(map(_first_word, swaps.splitlines()[1:])),
        cgroup_version=version,
        has_runtime=_has_runtime(config) if pieces.machine.text is None else None,
    )


def _first_word(line: str) -> str:
    return line.split(maxsplit=1)[0] if line.strip() else line


def _has_runtime(config: KubeletConfig) -> bool | None:
    """Whether the socket of the container runtime is there; None if it is no socket of a file."""
    kind, is_url, path = config.container_runtime_endpoint.partition("://")
    if is_url and kind != "unix":
        return None
    return Path(path if is_url else kind).is_socket()


def _pods(pieces: CheckInputs) -> LoadedPods:
    return pod_manifest.load_pods(pieces.pods, _pod_options(pieces))


def _pod_options(pieces: CheckInputs) -> PodOptions:
    return PodOptions(node_name=pieces.node_name, source=pieces.pod_source)


def _state_files(pieces: CheckInputs) -> Mapping[str, str]:
    return {} if pieces.state_dir is None else state_directory.read(pieces.state_dir).files


def _pod_places(pieces: CheckInputs, pods: LoadedPods) -> dict[str, Location]:
    """The file of every pod, by uid. Of several files each is read once more by itself.

    The standard input can not be read again; what is in no other file came from there.
    """
    if len(pieces.pods) == 1:
        return {pod.uid: Location(pieces.pods[0]) for pod in pods.pods}
    places: dict[str, Location] = {}
    again = [path for path in pieces.pods if path != yaml_source.STANDARD_INPUT]
    for path in again:
        loaded = Findings().collect(partial(_pods, replace(pieces, pods=(path,))))
        for pod in () if loaded is None else loaded.pods:
            places.setdefault(pod.uid, Location(path))
    if len(again) < len(pieces.pods):
        for pod in pods.pods:
            places.setdefault(pod.uid, Location(yaml_source.STANDARD_INPUT))
    return places


def _in_state_file(pieces: CheckInputs, finding: Finding) -> Finding:
    """The finding with the file that it is about, if that is a state file."""
    name = state_directory.FILE_OF_ROOM.get(finding.code.partition("/")[0])
    if pieces.state_dir is None or name is None or finding.where.document:
        return finding
    document = str(pieces.state_dir / name)
    return finding.at(replace(finding.where, document=document))


def _placed(findings: Iterable[Finding], sources: ConfigSources) -> tuple[Finding, ...]:
    """Findings about what the configuration lacks are about its file, if there is one."""
    if sources.config_file is None:
        return tuple(findings)
    name = str(sources.config_file)
    return tuple(
        finding.at(replace(finding.where, document=name))
        if not finding.where.document and finding.where.path.startswith("$")
        else finding
        for finding in findings
    )
