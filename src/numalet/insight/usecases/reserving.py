"""Plan a legal ``reservedMemory`` for one configuration on one machine, and write it.

``core.config.reservation`` calculates the split. A start of the engine checks the result, and a
file is written only if the kubelet would read the new amounts from it.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from numalet.core.config import (
    command_flags,
    feature_gates,
    node_allocatable,
    reservation,
    start,
    unknown,
)
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.node_allocatable import MEMORY_AVAILABLE
from numalet.core.config.reservation import MemoryParts, NodeShare, Spare, Spread, Strategy
from numalet.core.config.rules import MemoryPolicy, NodeRules, StartRefused
from numalet.core.model import input_error, resources
from numalet.core.model.findings import (
    BadInput,
    Finding,
    Findings,
    Location,
    Severity,
    WarningFinding,
)
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.core.model.value import Value, field, replace
from numalet.insight.usecases.kubelet_at_hand import with_kubelets
from numalet.io.documents.kubelet import kubelet_config, kubelet_config_edit
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.documents.text import yaml_source
from numalet.io.files import atomic, backups
from numalet.io.machines import MachineChoice


class ReserveOnNodesWithoutCpus(WarningFinding):
    sentence = (
        "NUMA nodes {numa_nodes} have no CPUs and reserve memory anyway, because the others are "
        "full"
    )
    numa_nodes: str


STRATEGY_FLAG: Final = "--strategy"
_SPARE: Final = "spare="
_OWN_CODES: Final = "config/reserved-memory"
_HOW_MUCH: Final = "how much reservedMemory is right"
_ABOUT_STRATEGY: Final = ("reserve/unknown-node", "reserve/spare-needed")


class ReserveInputs(Value, kw_only=True):
    """The arguments of the user. ``write`` is the file to change."""

    machine: MachineChoice = field(default_factory=MachineChoice)
    config: ConfigSources = field(default_factory=ConfigSources)
    strategy: str = Spread.EVEN.value
    write: Path | None = None


class Plan(Value, kw_only=True):
    """A split that adds up, and its input.

    ``threshold`` is the eviction threshold as written, which may be empty. ``refused`` is why the
    kubelet would not start for reasons other than the memory.
    """

    strategy: str
    parts: MemoryParts
    threshold: str
    is_default_threshold: bool
    shares: tuple[NodeShare, ...]
    entries: tuple[ReservedMemory, ...]
    notes: tuple[Finding, ...] = ()
    refused: StartRefused | None = None
    behaviour: Behaviour = EXACT


class ChangedFile(Value):
    """A changed file and its backup, if something had to change."""

    path: Path
    backup: Path | None


def parse_strategy(text: str) -> Strategy:
    for spread in Spread:
        if text == spread.value:
            return spread
    number = text.removeprefix(_SPARE)
    if text.startswith(_SPARE) and number.isascii() and number.isdigit() and len(number) < 10:
        return Spare(int(number))
    raise input_error.NotSupported(
        f"unknown strategy {text!r}",
        expected="even, proportional, node0, or spare=N to reserve nothing on NUMA node N",
        where=Location(STRATEGY_FLAG),
    ).bad_input()


def plan(pieces: ReserveInputs) -> Plan:
    """Return the validated reservation for these inputs.

    Raises:
        BadInput: One of them cannot be read, or a legal reservation does not exist.
    """
    parse_strategy(pieces.strategy)
    machine = pieces.machine.open()
    sources = with_kubelets(_sources(pieces), is_live=pieces.machine.text is None)
    loaded = kubelet_config.load(sources)
    planned = plan_for(loaded.config, machine.info, pieces.strategy, loaded.behaviour)
    notes = (*loaded.warnings, *machine.reading_notes, *planned.notes)
    return replace(planned, notes=notes)


def plan_for(
    config: KubeletConfig, machine: MachineInfo, strategy: str, behaviour: Behaviour
) -> Plan:
    """Return the reservation for a configuration and a machine that were read already.

    Raises:
        BadInput: A legal reservation does not exist, or the strategy is not known.
    """
    chosen = parse_strategy(strategy)
    given = config
    flags = tuple(command_flags.problems(given.flags, behaviour.release))
    try:
        if config.unknown is not None and config.unknown.files:
            finding = unknown.undecidable(config, (), _HOW_MUCH)
            raise BadInput([finding.of_severity(Severity.ERROR)])
        config, parts = _parts(unknown.assumed(config), machine, behaviour)
        _refuse_unknown(given, parts, machine, behaviour)
    except BadInput as bad:
        raise BadInput([*flags, *bad.findings]) from None
    shares = reservation.split(machine, parts.total, chosen)
    if isinstance(shares, Finding):
        is_about_strategy = shares.code in _ABOUT_STRATEGY
        raise BadInput([*flags, shares.at(Location(STRATEGY_FLAG if is_about_strategy else ""))])
    entries = reservation.entries(shares)
    if behaviour.hugepages_are_reservable:
        entries = reservation.keeping_hugepages(entries, config.reserved_memory)
    dropped = _hugepages(config.reserved_memory) - _hugepages(entries)
    return Plan(
        strategy=strategy,
        parts=parts,
        threshold=config.eviction_hard.get(MEMORY_AVAILABLE, ""),
        is_default_threshold=config.uses_default_eviction,
        shares=shares,
        entries=entries,
        notes=tuple(_notes(config, machine, shares, dropped)),
        refused=_refusal(given, machine, entries, behaviour),
        behaviour=behaviour,
    )


def _parts(
    config: KubeletConfig, machine: MachineInfo, behaviour: Behaviour
) -> tuple[KubeletConfig, MemoryParts]:
    """Return the configuration with default thresholds, and its summands. Raises ``BadInput``."""
    findings = Findings()
    rules = feature_gates.rules_of(behaviour.release, config.feature_gates)
    config = node_allocatable.with_default_eviction(config, rules, machine.os)
    parts = reservation.memory_parts(config, machine, findings)
    findings.raise_errors()
    return config, parts


def _refuse_unknown(
    config: KubeletConfig, parts: MemoryParts, machine: MachineInfo, behaviour: Behaviour
) -> None:
    """Raise ``BadInput`` if the sum depends on fields that the file leaves to a vendor."""
    if config.unknown is None:
        return
    if _parts(unknown.variants(config)[1], machine, behaviour)[1] == parts:
        return
    names = [name for name in config.unknown.fields if ".memory" in name]
    finding = unknown.undecidable(config, names, _HOW_MUCH)
    raise BadInput([finding.of_severity(Severity.ERROR)])


def write(pieces: ReserveInputs, path: Path, entries: Sequence[ReservedMemory]) -> ChangedFile:
    """Write the entries into a KubeletConfiguration and keep a backup next to it.

    Raises:
        BadInput: The kubelet would not read them from there; nothing was changed.
    """
    name = str(path)
    _check_target(pieces, path)
    content = yaml_source.read_bytes(path)
    text = yaml_source.decode(content, name)
    changed = kubelet_config_edit.edited(text, name, entries)
    if changed == text:
        return ChangedFile(path, None)
    # Decoding removed the byte order mark; the file keeps it.
    mark = "\ufeff" if content.startswith(b"\xef\xbb\xbf") else ""
    backup = backups.free_name(path)
    # The backup exists before the file changes.
    atomic.write_text(backup, mark + text)
    shutil.copymode(path, backup)
    atomic.write_text(path, mark + changed)
    return ChangedFile(path, backup)


def must_stay(pieces: ReserveInputs) -> tuple[Finding, ...]:
    """Return a note about flags of the command line on which the written file depends."""
    flags = " ".join(f"{name}={value}" for name, value in pieces.config.flags)
    if not flags:
        return ()
    return (
        input_error.Ignored(
            f"the file does not contain these flags: {flags}; set them for the kubelet too, or "
            "the amounts do not fit"
        ),
    )


def flag_value(entries: Sequence[ReservedMemory]) -> str:
    return ";".join(
        f"{entry.numa_node}:{','.join(f'{name}={each}' for name, each in entry.limits.items())}"
        for entry in entries
    )


def _hugepages(entries: Iterable[ReservedMemory]) -> set[str]:
    return {name for entry in entries for name in entry.limits if resources.is_hugepages(name)}


def _sources(pieces: ReserveInputs) -> ConfigSources:
    """Return the configuration sources; the written file is also the one that is read."""
    if pieces.write is None or pieces.config.config_file is not None:
        return pieces.config
    return replace(pieces.config, config_file=pieces.write)


def _policy(machine: MachineInfo) -> MemoryPolicy:
    on_windows = machine.os is OperatingSystem.WINDOWS
    return MemoryPolicy.BEST_EFFORT if on_windows else MemoryPolicy.STATIC


def _refusal(
    config: KubeletConfig,
    machine: MachineInfo,
    entries: tuple[ReservedMemory, ...],
    behaviour: Behaviour,
) -> StartRefused | None:
    """Return why a kubelet with these entries would not start for other reasons.

    Raises:
        BadInput: The entries reserve huge pages that the kubelet refuses.
    """
    # Under policy None the kubelet ignores reservedMemory, so it is checked under the policy that
    # reads it.
    policy = config.memory_manager_policy
    if policy == MemoryPolicy.NONE.value:
        policy = _policy(machine).value
    tried = replace(config, reserved_memory=entries, memory_manager_policy=policy)

    def resolved(config: KubeletConfig) -> NodeRules | StartRefused:
        rules = start.resolve(config, machine, behaviour=behaviour)
        if isinstance(rules, StartRefused):
            return rules
        return start.check_node_allocatable(rules) or rules

    rules = unknown.decided(tried, resolved)
    if not isinstance(rules, StartRefused):
        return None
    own = [each for each in (*rules.findings, *rules.further) if _is_own(each)]
    if own:
        # The split is legal: these findings concern huge pages that the user reserved.
        raise BadInput(own)
    return rules


def _is_own(finding: Finding) -> bool:
    return finding.code.startswith(_OWN_CODES)


def _notes(
    config: KubeletConfig,
    machine: MachineInfo,
    shares: Sequence[NodeShare],
    dropped: Collection[str],
) -> list[Finding]:
    findings = Findings()
    needed = _policy(machine).value
    if config.memory_manager_policy == MemoryPolicy.NONE.value:
        where = config.where("memoryManagerPolicy")
        findings.add(
            input_error.Ignored(
                f"memoryManagerPolicy is {config.memory_manager_policy!r}, so the kubelet ignores "
                f"reservedMemory; set it to {needed!r}",
                where=where,
                severity=Severity.NOTE,
            )
        )
    if pages := ", ".join(sorted(dropped)):
        where = config.where("reservedMemory")
        problem = f"{pages} left out of reservedMemory: the kubelet cannot reserve huge pages"
        findings.add(input_error.Ignored(problem, where=where))
    odd = [s.numa_node for s in shares if s.reserved_bytes and not s.has_cpus]
    if odd:
        numa_nodes = ", ".join(map(str, odd))
        where = Location(STRATEGY_FLAG)
        findings.add(ReserveOnNodesWithoutCpus(numa_nodes=numa_nodes, where=where))
    return list(findings.all)


def _check_target(pieces: ReserveInputs, path: Path) -> None:
    """Refuse a file from which the kubelet would not read the amounts."""
    config_file = pieces.config.config_file
    if config_file is not None and Path(config_file).resolve() != path.resolve():
        where = Location("--write")
        raise input_error.Conflict(
            f"{str(path)!r} is not the file of --config {str(config_file)!r}; write to the "
            "file that the amounts are computed from",
            where=where,
        ).bad_input()
    # A drop-in file or a flag may override the field.
    origins = kubelet_config.load(_sources(pieces)).config.origins
    origin = origins.get("reservedMemory")
    if origin is not None and origin.document != str(config_file or path):
        raise input_error.Conflict(
            f"{origin.document!r} overrides reservedMemory of {str(path)!r}; write it there",
            where=origin,
        ).bad_input()
