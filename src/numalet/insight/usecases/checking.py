"""``numalet check``, from the arguments of the user to all findings.

Reads machine, configuration, state files and pods, and reports every reading error at once. With
several configurations and machines every combination is checked, and each input is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final, Generic, TypeVar

from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.releases.release import Release
from numalet.core.model import machine_shape
from numalet.core.model.findings import BadInput, Finding, Findings
from numalet.core.model.value import Value, field, replace
from numalet.insight.lint import choosing, rows, rules
from numalet.insight.lint.choosing import LintChoice
from numalet.insight.lint.rows import FindingRow
from numalet.insight.lint.rules import Checked
from numalet.insight.lint.subject import LintSubject
from numalet.insight.usecases import kubelet_at_hand, live_host
from numalet.insight.usecases.kubelet_at_hand import UsedKubelet, with_kubelets
from numalet.io.documents.claims import device_claims
from numalet.io.documents.claims.device_claims import LoadedClaims
from numalet.io.documents.cluster import node_labels as node_identities
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources, GatheredConfig, LoadedConfig
from numalet.io.documents.kubelet.kubelet_version import KubeletAtHand
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.pods.pod_manifest import LoadedPods, PodOptions
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.io.files import state_directory
from numalet.io.machines import LoadedMachine, MachineChoice

T = TypeVar("T")


UNDECIDED: Final = 4
"""The exit status if the start depends on fields that the file leaves to a vendor."""
_BEST_FIRST: Final = (0, UNDECIDED, 1, 2)


def worst_status(statuses: Iterable[int]) -> int:
    return max(statuses, key=_BEST_FIRST.index)


class CheckInputs(Value, kw_only=True):
    """The arguments of the user.

    ``devices`` are texts such as ``example.com/gpu=gpu0@0,gpu1@1``; ``device_file`` contains the
    same. ``pods_run``: the pods run on the node and are admitted again (``PodOptions``). With
    ``uses_kubelet`` a kubelet on this machine provides the inputs that the user does not name.
    """

    machine: MachineChoice = field(default_factory=MachineChoice)
    config: ConfigSources = field(default_factory=ConfigSources)
    pods: Sequence[str] = ()
    node_name: str | None = None
    node_labels: str | None = None
    pod_source: PodSource = PodSource.API
    pods_run: bool = False
    devices: Sequence[str] = ()
    device_file: str | None = None
    state_dir: Path | None = None
    uses_kubelet: bool = False
    choice: LintChoice = field(default_factory=LintChoice)


class CheckResult(Value):
    """The findings that are not ignored, in words, and the number of pods in the input.

    ``claim_count`` is the number of claims, claim templates, device classes and resource slices.
    ``ignored_count`` is the number of findings that an option or a comment ignores.
    """

    checked: Checked
    rows: tuple[FindingRow, ...]
    pod_count: int
    behaviour: Behaviour = EXACT
    ignored_count: int = 0
    claim_count: int = 0

    def exit_status(self, *, strict: bool = False) -> int:
        """Return 0: clean, 1: no start or errors (``strict``: or warnings), 4: undecided start."""
        bad, refused = rows.failing(strict=strict), self.checked.refused
        is_undecided = refused is not None and refused.is_undecided
        if any(row.severity in bad for row in self.rows) or not (refused is None or is_undecided):
            return 1
        return UNDECIDED if is_undecided else 0


class CheckCombination(Value):
    """One of several configurations on one of several machines, with the names in the arguments.

    ``config`` is not set without a file, ``machine`` is not set for the live one. ``result`` is not
    set if a part cannot be read; ``unusable`` gives the reasons.
    """

    config: str | None
    machine: str | None
    result: CheckResult | None
    unusable: tuple[FindingRow, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.config or 'no file'} on {self.machine or 'this machine'}"

    @property
    def rows(self) -> tuple[FindingRow, ...]:
        return self.unusable if self.result is None else self.result.rows

    def exit_status(self, *, strict: bool = False) -> int:
        """Return 0: clean, 1: it fails, 2: a part cannot be read, 4: undecided start."""
        return 2 if self.result is None else self.result.exit_status(strict=strict)


class _Part(Value, Generic[T]):
    """A part of the input: its value if it could be read, and the findings of its reader."""

    value: T | None
    findings: tuple[Finding, ...]

    def get(self, findings: Findings) -> T | None:
        """Return the value, and add the reader's findings to these."""
        findings.extend(self.findings)
        return self.value


def _read(part: Callable[[], T]) -> _Part[T]:
    findings = Findings()
    return _Part(findings.collect(part), findings.all)


class CheckParts(Value):
    machine: _Part[LoadedMachine]
    gathered: _Part[GatheredConfig]
    config: _Part[LoadedConfig]
    pods: _Part[LoadedPods]
    claims: _Part[LoadedClaims]
    files: _Part[Mapping[str, str]]
    kubelet: UsedKubelet


class ReadSubject(Value):
    subject: LintSubject
    noticed: tuple[Finding, ...]


def check(pieces: CheckInputs) -> CheckResult:
    """Return the findings on these inputs.

    Raises:
        BadInput: One of them cannot be read.
    """
    parts = parts_of(pieces)
    return _judged(replace(pieces, config=parts.kubelet.sources), parts)


def parts_of(pieces: CheckInputs) -> CheckParts:
    """Read all parts of a check.

    Raises:
        BadInput: An input is named twice, or the configuration of this machine's kubelet cannot be
            read.
    """
    # Two readers of the standard input would each get a part of it.
    yaml_source.refuse_second_reader((*pieces.pods, pieces.config.config_file))
    is_meant = pieces.uses_kubelet and pieces.machine.text is None
    kubelet = kubelet_at_hand.used(pieces.config, is_live=is_meant, root=pieces.state_dir)
    pieces = replace(pieces, config=kubelet.sources)
    machine = _read(pieces.machine.open)
    inputs = _inputs(pieces)
    pods = _read(lambda: _pods(pieces, inputs))
    claims = _read(lambda: device_claims.of_inputs(inputs.documents))
    sources = _with_kubelets(pieces, pods.value, is_live=pieces.machine.text is None)
    gathered = _read(partial(kubelet_config.gather, sources))
    config = _loaded(gathered, sources.release, sources.kubelets)
    files = _read(lambda: kubelet.files or _state_files(pieces))
    return CheckParts(machine, gathered, config, pods, claims, files, kubelet)


def with_release(parts: CheckParts, release: Release) -> CheckParts:
    return replace(parts, config=_loaded(parts.gathered, release.name))


def _loaded(
    gathered: _Part[GatheredConfig], release: str | None, kubelets: Sequence[KubeletAtHand] = ()
) -> _Part[LoadedConfig]:
    if gathered.value is None:
        return _Part(None, gathered.findings)
    return _read(partial(gathered.value.loaded, release, kubelets))


def check_each(
    pieces: CheckInputs, configs: Sequence[Path], machines: Sequence[str]
) -> tuple[CheckCombination, ...]:
    """Check each of these configurations on each of these machines.

    Without any, those of ``pieces`` are checked; duplicates are checked once.

    Raises:
        BadInput: The standard input is named twice.
    """
    named_configs: list[Path | str | None] = [*dict.fromkeys(configs)]
    named_configs = named_configs or [pieces.config.config_file]
    named_machines: list[str | None] = [*dict.fromkeys(machines)] or [pieces.machine.text]
    yaml_source.refuse_second_reader((*pieces.pods, *named_configs))
    inputs = _inputs(pieces)
    pods = _read(lambda: _pods(pieces, inputs))
    claims = _read(lambda: device_claims.of_inputs(inputs.documents))
    files = _read(lambda: _state_files(pieces))
    choices = [(name, _machine_choice(pieces, name)) for name in named_machines]
    opened = [(name, choice, _read(choice.open)) for name, choice in choices]
    combinations = []
    is_live = named_machines == [None]
    for path in named_configs:
        named = replace(pieces, config=replace(pieces.config, config_file=path))
        sources = _with_kubelets(named, pods.value, is_live=is_live)
        gathered = _read(partial(kubelet_config.gather, sources))
        config = _loaded(gathered, sources.release, sources.kubelets)
        for name, choice, machine in opened:
            own = replace(pieces, config=sources, machine=choice)
            kubelet = UsedKubelet(sources=sources)
            parts = CheckParts(machine, gathered, config, pods, claims, files, kubelet)
            # An input that cannot be read spoils only the combinations that need it.
            result = _read(partial(_judged, own, parts))
            shown = None if path is None else str(path)
            unusable = rows.rows(result.findings)
            combinations.append(CheckCombination(shown, name, result.value, unusable))
    return tuple(combinations)


def _with_kubelets(pieces: CheckInputs, pods: LoadedPods | None, *, is_live: bool) -> ConfigSources:
    """Return the configuration sources, with the kubelets that the other inputs show."""
    return with_kubelets(
        pieces.config,
        is_live=is_live,
        shown=() if pods is None else pods.kubelets,
        node_name=node_identities.name_of(pieces.node_name, () if pods is None else pods.pods),
        root=pieces.state_dir,
    )


def _machine_choice(pieces: CheckInputs, name: str | None) -> MachineChoice:
    """Only shapes take ``memory``; other machines have their own."""
    if name is None or machine_shape.resembles_shape(name):
        return replace(pieces.machine, text=name)
    return replace(pieces.machine, text=name, memory_per_node=None)


def _judged(pieces: CheckInputs, parts: CheckParts) -> CheckResult:
    """Run the rules. Raises ``BadInput`` with everything that could not be read."""
    read = subject_of(pieces, parts)
    checked = rules.check(read.subject, read.noticed)
    counted, ignored_count = counted_rows(pieces, checked.findings)
    subject = read.subject
    return CheckResult(
        checked,
        counted,
        len(subject.pods),
        subject.behaviour,
        ignored_count,
        claim_count=len(tuple(subject.claims.objects)),
    )


def counted_rows(
    pieces: CheckInputs, found: Iterable[Finding]
) -> tuple[tuple[FindingRow, ...], int]:
    placed = _placed(map(partial(_in_state_file, pieces), found), pieces.config)
    placed_rows = rows.rows(placed)
    counted = choosing.counted(placed_rows, pieces.choice, cache(_lines_of))
    return counted, len(placed_rows) - len(counted)


def subject_of(pieces: CheckInputs, parts: CheckParts) -> ReadSubject:
    """Return the subject. Raises ``BadInput`` with everything that could not be read."""
    findings = Findings()
    machine = parts.machine.get(findings)
    config = parts.config.get(findings)
    pods = parts.pods.get(findings)
    claims = parts.claims.get(findings)
    files = parts.files.get(findings)
    devices = None
    if machine is not None:
        named = pieces.device_file, pieces.devices
        on_it = partial(kubelet_at_hand.devices_on, machine, *named, parts.kubelet)
        devices = findings.collect(on_it)
    findings.raise_errors()
    assert machine is not None
    assert devices is not None
    assert config is not None
    assert pods is not None
    assert claims is not None
    identity = node_identities.of_pods(pieces.node_name, pieces.node_labels, pods.pods)
    subject = LintSubject(
        config=config.config,
        machine=machine.info,
        state_files=files or {},
        pods=pods.pods,
        pod_places={uid: place.below for uid, place in pods.places.items()},
        numa_balancing=live_host.numa_balancing(machine.tree),
        host=live_host.host(machine.tree, config.config, is_live=pieces.machine.text is None),
        behaviour=config.behaviour,
        devices=devices,
        identity=identity,
        claims=claims.documents,
    )
    notes = (*parts.kubelet.notes, *config.warnings, *pods.notes, *claims.notes)
    noticed = (*notes, *machine.reading_notes)
    return ReadSubject(subject, noticed)


def _lines_of(document: str) -> Sequence[str]:
    """Return the lines of the document if it is a file; other sources have none."""
    if not Path(document).is_file():
        return ()
    text = Findings().collect(lambda: yaml_source.read_text(document))
    return () if text is None else text.split("\n")


class _Inputs(Value):
    documents: Sequence[tuple[str, Sequence[YamlDocument]]]
    findings: tuple[Finding, ...]


def _inputs(pieces: CheckInputs) -> _Inputs:
    findings = Findings()
    read = [(path, findings.collect(partial(_documents, path))) for path in pieces.pods]
    readable = [(path, documents) for path, documents in read if documents is not None]
    return _Inputs(readable, findings.all)


def _documents(path: str) -> Sequence[YamlDocument]:
    return yaml_source.load_documents(yaml_source.read_text_or_input(path), path)


def _pods(pieces: CheckInputs, inputs: _Inputs) -> LoadedPods:
    findings = Findings()
    findings.extend(inputs.findings)
    of_inputs = partial(pod_manifest.pods_of, inputs.documents, _pod_options(pieces))
    pods = findings.collect(of_inputs)
    if pods is None or findings.has_errors:
        raise BadInput(findings.all)
    return pods


def _pod_options(pieces: CheckInputs) -> PodOptions:
    return PodOptions(node_name=pieces.node_name, source=pieces.pod_source, run=pieces.pods_run)


def _state_files(pieces: CheckInputs) -> Mapping[str, str]:
    return {} if pieces.state_dir is None else state_directory.read(pieces.state_dir).files


def _in_state_file(pieces: CheckInputs, finding: Finding) -> Finding:
    """Return the finding with its state file, if it is about one."""
    name = state_directory.FILE_OF_ROOM.get(finding.code.partition("/")[0])
    if pieces.state_dir is None or name is None or finding.where.document:
        return finding
    document = str(pieces.state_dir / name)
    return finding.at(replace(finding.where, document=document))


def _placed(findings: Iterable[Finding], sources: ConfigSources) -> tuple[Finding, ...]:
    """Give findings about missing configuration the place of its file, if there is one."""
    if sources.config_file is None:
        return tuple(findings)
    name = str(sources.config_file)
    return tuple(
        finding.at(replace(finding.where, document=name))
        if not finding.where.document and finding.where.path.startswith("$")
        else finding
        for finding in findings
    )
