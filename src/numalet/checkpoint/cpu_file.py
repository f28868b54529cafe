"""``cpu_manager_state``: the CPU Manager's state file, text to ledger and back.

Two formats are read: the present one (pod uid, container, CPU list) and the first one (container
id, CPU list), which the kubelet tries first. A checksum of 0 or none is accepted in both.
Kubelet: ``state.CPUManagerCheckpoint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numalet.checkpoint import go_dump, go_json
from numalet.checkpoint.checksum import fnv1a_32
from numalet.checkpoint.go_json import Fields, GoJsonError
from numalet.managers.cpu.ledger import CpuLedger
from numalet.model import cpu_set
from numalet.model.cpu_set import CpuListError, CpuSet
from numalet.model.findings import Finding

FILE_NAME = "cpu_manager_state"

_PLACE = "CPUManagerCheckpoint"


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


def load(text: str, policy_name: str) -> CpuLedger | Finding:
    """The ledger that a kubelet of this policy loads from the file, or why it does not start."""
    document = _read_first_format(text) or _read(text)
    if isinstance(document, Finding):
        return document
    # The kubelet would ask the container runtime for these; nobody knows them here.
    for container_id in sorted(document.container_ids):
        return Finding("cpu-state/unknown-container-id", {"container_id": container_id})
    if document.policy_name != policy_name:
        return Finding(
            "cpu-state/other-policy", {"configured": policy_name, "found": document.policy_name}
        )
    return _ledger(document)


def _read(text: str) -> CpuDocument | Finding:
    try:
        fields = Fields(go_json.loads(text), _PLACE)
        entries = go_json.mapping(fields.get("entries") or {}, _PLACE + ".entries", _texts)
        document = CpuDocument(fields.text("policyName"), fields.text("defaultCpuSet"), entries, {})
        checksum = fields.number("checksum")
    except GoJsonError as error:
        return Finding("cpu-state/not-json", {"error": error.go_text})
    expected = fnv1a_32(go_dump.cpu(document.policy_name, document.default_cpus, entries))
    if checksum not in (0, expected):
        return Finding("cpu-state/corrupted", {"checksum": checksum, "expected": expected})
    return document


def _read_first_format(text: str) -> CpuDocument | None:
    """The document if the file is of the first format and sound."""
    try:
        fields = Fields(go_json.loads(text), _PLACE)
        entries = _texts(fields.get("entries") or {}, _PLACE + ".entries")
        policy, default = fields.text("policyName"), fields.text("defaultCpuSet")
        checksum = fields.number("checksum")
    except GoJsonError:
        return None
    if checksum not in (0, fnv1a_32(go_dump.cpu_v1(policy, default, entries))):
        return None
    return CpuDocument(policy, default, {}, entries)


def _texts(value: object, place: str) -> dict[str, str]:
    return go_json.mapping(value, place, _one_text)


def _one_text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise go_json.mismatch(value, place, "string")
    return value


def _ledger(document: CpuDocument) -> CpuLedger | Finding:
    try:
        default = cpu_set.parse(document.default_cpus)
    except CpuListError as error:
        return Finding(
            "cpu-state/bad-default", {"cpus": document.default_cpus, "error": error.go_text}
        )
    exclusive: dict[str, dict[str, CpuSet]] = {}
    for uid, containers in document.entries.items():
        for container, cpus in containers.items():
            try:
                exclusive.setdefault(uid, {})[container] = cpu_set.parse(cpus)
            except CpuListError as error:
                return Finding(
                    "cpu-state/bad-cpus",
                    {"cpus": cpus, "container": container, "pod": uid, "error": error.go_text},
                )
    return CpuLedger(default, exclusive)
