"""``cpu_manager_state``: the CPU Manager's state file, text to ledger and back.

Two formats are read: the present one (pod uid, container, CPU list) and the first one (container
id, CPU list), which the kubelet tries first. A checksum of 0 or none is accepted in both.
Kubelet: ``state.CPUManagerCheckpoint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numalet.core.checkpoint import go_dump, go_json
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.go_json import Fields, GoJsonError
from numalet.core.findings.state_files import (
    CpuStateBadCpus,
    CpuStateBadDefault,
    CpuStateCorrupted,
    CpuStateNotJson,
    CpuStateOtherPolicy,
    CpuStateUnknownContainerId,
)
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuListError, CpuSet
from numalet.core.model.findings import Finding

FILE_NAME = "cpu_manager_state"

_PLACE = "CPUManagerCheckpoint"
_ENTRIES = f"{_PLACE}.entries"


def write(policy_name: str, ledger: CpuLedger) -> str:
    """The file's text: one line, no blanks, no newline at the end."""
    default = cpu_set.text(ledger.default)
    entries = {
        uid: {name: cpu_set.text(cpus) for name, cpus in containers.items()}
        for uid, containers in ledger.exclusive.items()
    }
    checksum = fnv1a_32(go_dump.cpu(policy_name, default, entries))
    listed = go_json.object_of(entries, lambda pod: go_json.object_of(pod, go_json.string))
    member = f'"entries":{listed},' if entries else ""
    return (
        f'{{"policyName":{go_json.string(policy_name)},'
        f'"defaultCpuSet":{go_json.string(default)},{member}"checksum":{checksum}}}'
    )


@dataclass(frozen=True, slots=True)
class CpuDocument:
    """The file's content: texts as they stand there. ``container_ids`` are of the first format."""

    policy_name: str
    default_cpus: str
    entries: Mapping[str, Mapping[str, str]]
    container_ids: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CpuReading:
    """A document, the checksum that stands in the file, and the one that its content has."""

    document: CpuDocument
    checksum: int
    expected: int
    is_first_format: bool = False

    @property
    def is_sound(self) -> bool:
        """Whether the kubelet accepts the checksum; 0, or none, is as good as a right one."""
        return self.checksum in (0, self.expected)


def read(text: str) -> CpuReading | Finding:
    """What a file holds, or why Go can not decode it. The checksum is not verified.

    The first format is what it is read as only if it is sound, as in the kubelet.
    """
    return _read_first_format(text) or _read(text)


def load(text: str, policy_name: str) -> CpuLedger | Finding:
    """The ledger that a kubelet of this policy loads from the file, or why it does not start."""
    reading = read(text)
    if isinstance(reading, Finding):
        return reading
    if not reading.is_sound:
        return CpuStateCorrupted(checksum=reading.checksum, expected=reading.expected)
    document = reading.document
    # The kubelet would ask the container runtime for these; they are not known here.
    for container_id in sorted(document.container_ids):
        return CpuStateUnknownContainerId(container_id=container_id)
    if document.policy_name != policy_name:
        return CpuStateOtherPolicy(configured=policy_name, found=document.policy_name)
    return to_ledger(document)


def _read(text: str) -> CpuReading | Finding:
    try:
        fields = _fields(text)
        map_type = "map[string]map[string]string"
        entries_by_uid = go_json.mapping(fields.get("entries"), _ENTRIES, _texts_or_nil, map_type)
        policy, default = fields.text("policyName"), fields.text("defaultCpuSet")
        checksum = fields.number("checksum", "checksum.Checksum")
    except GoJsonError as error:
        return CpuStateNotJson(error=error.go_text)
    dumped = go_dump.cpu(policy, default, None if _is_nil(fields) else entries_by_uid)
    entries = {uid: containers or {} for uid, containers in entries_by_uid.items()}
    return CpuReading(CpuDocument(policy, default, entries, {}), checksum, fnv1a_32(dumped))


def _read_first_format(text: str) -> CpuReading | None:
    """The document if the file is of the first format and sound."""
    try:
        fields = _fields(text)
        entries = _texts(fields.get("entries"), _ENTRIES)
        policy, default = fields.text("policyName"), fields.text("defaultCpuSet")
        checksum = fields.number("checksum", "checksum.Checksum")
    except GoJsonError:
        return None
    expected = fnv1a_32(go_dump.cpu_v1(policy, default, None if _is_nil(fields) else entries))
    reading = CpuReading(CpuDocument(policy, default, {}, entries), checksum, expected, True)
    return reading if reading.is_sound else None


def _fields(text: str) -> Fields:
    return Fields(go_json.as_object(go_json.loads(text), "", f"state.{_PLACE}"), _PLACE)


def _texts(value: object, place: str) -> dict[str, str]:
    return go_json.mapping(value, place, go_json.text, "map[string]string")


def _texts_or_nil(value: object, place: str) -> dict[str, str] | None:
    return None if value is None else _texts(value, place)


def _is_nil(fields: Fields) -> bool:
    """Whether the entries are null; the checksum distinguishes that from none at all."""
    return fields.has("entries") and fields.get("entries") is None


def to_ledger(document: CpuDocument) -> CpuLedger | Finding:
    """The ledger in the document, or which CPU list in it is none."""
    try:
        default = cpu_set.parse(document.default_cpus)
    except CpuListError as error:
        return CpuStateBadDefault(cpus=document.default_cpus, error=error.go_text)
    exclusive: dict[str, dict[str, CpuSet]] = {}
    for uid, containers in document.entries.items():
        # A pod without containers stays: nothing ever removes it, and it is written again.
        exclusive[uid] = {}
        for container, cpus in containers.items():
            try:
                exclusive[uid][container] = cpu_set.parse(cpus)
            except CpuListError as error:
                return CpuStateBadCpus(cpus=cpus, container=container, pod=uid, error=error.go_text)
    return CpuLedger(default, exclusive)
