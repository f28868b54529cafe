"""Read state files for people, including damaged ones.

A kubelet stops reading at the first error. Here a *state* is the content of a file independent of
its checksum, and ``seal`` is the result of the checksum.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from numalet.core.checkpoint import (
    cpu_file,
    device_file,
    memory_document,
    memory_file,
    pod_entries,
)
from numalet.core.checkpoint.cpu_file import CpuReading
from numalet.core.checkpoint.device_document import DeviceDocument
from numalet.core.checkpoint.memory_document import MemoryDocument
from numalet.core.checkpoint.memory_file import ChecksumVerdict
from numalet.core.config import feature_gates
from numalet.core.config.releases.release import V1_32_RULES, Release, ReleaseRules
from numalet.core.findings.state_files import DeviceStateCorrupted
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device.ledger import WrittenCheckpoint
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value, replace


class Seal(Enum):
    """The result of the checksum of a file, and the matching rule."""

    SOUND = "sound"
    FIRST_FORMAT = "first-format"
    """CPU Manager: the format keyed by container id, which the kubelet still reads."""
    UNSEALED = "unsealed"
    """Checksum 0 or missing, which newer kubelets accept for the Memory Manager."""
    EARLY_LAYOUT = "early-layout"
    """Memory Manager: right by the rule of the early layout, which the kubelet does not read."""
    WRONG = "wrong"


_SEALS: Mapping[ChecksumVerdict, Seal] = MappingProxyType(
    {
        ChecksumVerdict.SOUND: Seal.SOUND,
        ChecksumVerdict.EARLY: Seal.EARLY_LAYOUT,
        ChecksumVerdict.CORRUPTED: Seal.WRONG,
    }
)


class MemoryState(Value):
    """The content of ``memory_manager_state``."""

    document: MemoryDocument
    ledger: MemoryLedger
    rules: ReleaseRules = pod_entries.ANY_FORMAT

    @property
    def policy_name(self) -> str:
        return self.document.policy_name

    @property
    def checksum(self) -> int:
        return self.document.checksum

    @property
    def expected(self) -> int:
        """The checksum that the kubelet would write for this content."""
        return memory_file.checksum_of(self.document)

    @property
    def why_corrupted(self) -> Finding:
        return memory_file.why_corrupted(self.document)

    @property
    def seal(self) -> Seal:
        verdict = memory_file.verdict(self.document, self.rules)
        # Sound with another checksum: it is 0 or missing, which the kubelet accepts.
        if verdict is ChecksumVerdict.SOUND and self.checksum != self.expected:
            return Seal.UNSEALED
        return _SEALS[verdict]


class CpuState(Value):
    """The content of ``cpu_manager_state``.

    Containers of the first format have only their ID. Here they belong to the pod ``""``.
    """

    reading: CpuReading
    ledger: CpuLedger

    @property
    def policy_name(self) -> str:
        return self.reading.document.policy_name

    @property
    def checksum(self) -> int:
        return self.reading.checksum

    @property
    def expected(self) -> int:
        """The checksum that the kubelet would write for this content."""
        return self.reading.expected

    @property
    def why_corrupted(self) -> Finding:
        return self.reading.why_corrupted

    @property
    def seal(self) -> Seal:
        if not self.reading.is_sound:
            return Seal.WRONG
        if not self.checksum:
            return Seal.UNSEALED
        return Seal.FIRST_FORMAT if self.reading.is_first_format else Seal.SOUND


class DeviceState(Value):
    document: DeviceDocument
    written: WrittenCheckpoint

    @property
    def policy_name(self) -> None:
        """The Device Manager has no policy."""
        return

    @property
    def checksum(self) -> int:
        return self.document.checksum

    @property
    def expected(self) -> int:
        """The checksum that the kubelet would write for this content."""
        return device_file.checksum_of(self.document)

    @property
    def why_corrupted(self) -> Finding:
        return DeviceStateCorrupted(checksum=self.checksum, expected=self.expected)

    @property
    def seal(self) -> Seal:
        return Seal.SOUND if self.checksum == self.expected else Seal.WRONG


State: TypeAlias = MemoryState | CpuState | DeviceState


class States(Value):
    memory: MemoryState | None = None
    cpu: CpuState | None = None
    device: DeviceState | None = None
    unreadable: Mapping[str, Finding] = MappingProxyType({})


def read(files: Mapping[str, str], rules: ReleaseRules = pod_entries.ANY_FORMAT) -> States:
    """Read files, by name, as a kubelet with these rules does.

    Files that cannot be decoded are in ``unreadable``.
    """
    by_name = {name: read_file(name, text, rules) for name, text in sorted(files.items())}
    memory = by_name.get(memory_file.FILE_NAME)
    cpu = by_name.get(cpu_file.FILE_NAME)
    device = by_name.get(device_file.FILE_NAME)
    return States(
        memory if isinstance(memory, MemoryState) else None,
        cpu if isinstance(cpu, CpuState) else None,
        device if isinstance(device, DeviceState) else None,
        {name: each for name, each in by_name.items() if isinstance(each, Finding)},
    )


def read_file(
    name: str, text: str, rules: ReleaseRules = pod_entries.ANY_FORMAT
) -> State | Finding:
    """Return the content of one state file, or why it cannot be decoded."""
    match name:
        case memory_file.FILE_NAME:
            return _read_memory(text, rules)
        case cpu_file.FILE_NAME:
            return _read_cpu(text, rules)
        case _:
            return _read_device(text)


def read_of(release: Release | None, name: str, text: str) -> State | Finding:
    """Read a file of a kubelet of this release; without a release any format is accepted."""
    if release is None:
        return read_file(name, text)
    # The kubelet's feature gates are unknown: the default gates first, then all of them.
    by_default = read_file(name, text, feature_gates.rules_of(release, {}))
    if _is_right(by_default):
        return by_default
    with_all = read_file(name, text, release.rules_with(lambda gate: True))
    return with_all if _is_right(with_all) else by_default


def _is_right(state: State | Finding) -> bool:
    return not isinstance(state, Finding) and state.seal is not Seal.WRONG


def _read_memory(text: str, rules: ReleaseRules) -> MemoryState | Finding:
    document = memory_file.read(text, rules)
    if isinstance(document, Finding):
        return document
    return MemoryState(document, memory_document.to_ledger(document), rules)


def _read_cpu(text: str, rules: ReleaseRules) -> CpuState | Finding:
    reading = cpu_file.read(text, rules)
    if isinstance(reading, Finding):
        return reading
    document = reading.document
    if document.container_ids:
        document = replace(document, entries={"": document.container_ids})
    ledger = cpu_file.to_ledger(document)
    return ledger if isinstance(ledger, Finding) else CpuState(reading, ledger)


def _read_device(text: str) -> DeviceState | Finding:
    document = device_file.read(text)
    if isinstance(document, Finding):
        return document
    return DeviceState(document, device_file.to_written(document))


def beside_data(name: str, text: str, state: State) -> str:
    """Return why a kubelet before v1.37 would not read the content of ``data``; empty if it would.

    Such a kubelet reads the members beside ``data``. They cannot have what pods got as a whole.
    """
    match state:
        case CpuState(reading, ledger) if reading.is_fourth_format:
            expected: object = (ledger.default, ledger.exclusive)
        case MemoryState(document, ledger) if document.data is not None:
            expected = (ledger.nodes, ledger.blocks)
        case _:
            return ""
    older = read_file(name, text, V1_32_RULES)
    if isinstance(older, Finding):
        return str(older.fields.get("error", "") or older)
    if older.seal is Seal.WRONG:
        return f"their checksum is {older.checksum}, and not {older.expected}"
    if isinstance(older, CpuState):
        found: object = (older.ledger.default, older.ledger.exclusive)
    else:
        assert isinstance(older, MemoryState), older
        found = (older.ledger.nodes, older.ledger.blocks)
    is_same = found == expected and older.policy_name == state.policy_name
    return "" if is_same else "they have other allocations or another policy"
