"""``cpu_manager_state``: the CPU Manager's state file, text to ledger and back.

There are four formats: the second (pod uid, container, CPU list), the first (container id, CPU
list), the third, which is the second with the CPUs of whole pods (``pod_entries``), and the fourth,
which is the second with all content in one more member (``data_member``). The release determines
the order of the tries, and thereby the error for a bad file. Kubelet:
``state.CPUManagerCheckpoint``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.checkpoint import cpu_text, data_member, go_dump, go_json, pod_entries
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.go_json import Fields, GoJsonError
from numalet.core.config.releases.release import V1_32_RULES, ReleaseRules
from numalet.core.findings.state_files import (
    CpuStateBadBaseline,
    CpuStateBadCpus,
    CpuStateBadDefault,
    CpuStateBadDefaultSpelled,
    CpuStateCorrupted,
    CpuStateDataCorrupted,
    CpuStateNotJson,
    CpuStateOtherPolicy,
    CpuStateUnknownContainerId,
)
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuListError, CpuSet
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value, field, replace

FILE_NAME = "cpu_manager_state"

_FIRST_FORMAT = "CPUManagerCheckpointV1"
_SECOND_FORMAT = "CPUManagerCheckpoint"
"""The kubelet's types in its errors. The first format needs one because it may be tried last."""


def write(policy_name: str, ledger: CpuLedger, rules: ReleaseRules = V1_32_RULES) -> str:
    """Return the file's text: one line, no blanks, no newline at the end."""
    return cpu_text.text(policy_name, ledger, rules)


class CpuDocument(Value):
    """The file's content with unparsed CPU lists. ``container_ids`` are of the first format."""

    policy_name: str
    default_cpus: str
    entries: Mapping[str, Mapping[str, str]]
    container_ids: Mapping[str, str]
    pods: Mapping[str, CpuSet] = field(default_factory=dict)
    baselines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class CpuReading(Value):
    """A document, the checksum in the file, and the checksum of its content."""

    document: CpuDocument
    checksum: int
    expected: int
    is_first_format: bool = False
    is_third_format: bool = False
    is_fourth_format: bool = False

    @property
    def is_sound(self) -> bool:
        """Whether the kubelet accepts the checksum.

        Up to the second format it also accepts 0 or an absent checksum.
        """
        is_later_format = self.is_third_format or self.is_fourth_format
        accepts_zero = not self.checksum and not is_later_format
        return accepts_zero or self.checksum == self.expected

    @property
    def why_corrupted(self) -> Finding:
        kind = CpuStateDataCorrupted if self.is_fourth_format else CpuStateCorrupted
        return kind(checksum=self.checksum, expected=self.expected)


def read(text: str, rules: ReleaseRules = V1_32_RULES) -> CpuReading | Finding:
    """Parse the file, or return why Go cannot decode it. The checksum is not verified.

    The formats are tried in the order of the release until one is sound. If all fail, the finding
    is that of the last one.
    """
    if rules.state_files_have_data:
        fourth = _read_fourth_format(text)
        if fourth is not None:
            return fourth
    if rules.state_files_have_pods or rules.state_files_have_data:
        return _read_with_pods(text, rules)
    return _read_without_pods(text, rules)


def _read_with_pods(text: str, rules: ReleaseRules) -> CpuReading | Finding:
    # The newest format first: an older reader would ignore ``podEntries`` and find its checksum
    # wrong.
    third = _read_third_format(text)
    if _is_sound(third):
        return third
    reading = _read_without_pods(text, rules)
    if isinstance(reading, Finding) or rules.first_cpu_format_is_gone:
        return reading
    # The kubelet keeps the entries that its first try decoded.
    pods = pod_entries.readable_cpus(_fields(text, _SECOND_FORMAT))
    return replace(reading, document=replace(reading.document, pods=pods))


def _read_without_pods(text: str, rules: ReleaseRules) -> CpuReading | Finding:
    if rules.first_cpu_format_is_gone:
        return _read_second_format(text, "CPUManagerCheckpointV2")
    formats = [_read_first_format, _read_second_format]
    if rules.oldest_cpu_format_is_tried_last:
        formats.reverse()
    reading = formats[0](text)
    return reading if _is_sound(reading) else formats[1](text)


def _is_sound(reading: CpuReading | Finding) -> bool:
    return isinstance(reading, CpuReading) and reading.is_sound


def load(text: str, policy_name: str, rules: ReleaseRules = V1_32_RULES) -> CpuLedger | Finding:
    """Return the ledger that a kubelet of this policy loads, or why it does not start."""
    reading = read(text, rules)
    if isinstance(reading, Finding):
        return reading
    if not reading.is_sound:
        return reading.why_corrupted
    document = reading.document
    # The kubelet would query the container runtime for these ids, which is impossible here.
    for container_id in sorted(document.container_ids):
        # The first id is enough: the kubelet stops its migration at the first container that the
        # runtime does not know.
        step = _MIGRATION[rules.oldest_cpu_format_is_tried_last]
        return CpuStateUnknownContainerId(container_id=container_id, step=step)
    if document.policy_name != policy_name:
        return CpuStateOtherPolicy(configured=policy_name, found=document.policy_name)
    ledger = to_ledger(document, rules)
    if isinstance(ledger, Finding) or rules.state_files_have_pods:
        return ledger
    return replace(ledger, pods={})


_MIGRATION: Final = {
    False: "error migrating v1 checkpoint state to v2 checkpoint state",
    True: "failed to migrate checkpoint from v1 to v2",
}


def _read_fourth_format(text: str) -> CpuReading | Finding | None:
    """Read ``data``; return None if the kubelet tries the older formats instead."""
    try:
        fields = _fields(text, _SECOND_FORMAT)
    except GoJsonError:
        return None
    if not data_member.is_in(fields):
        return None
    place = f"{_SECOND_FORMAT}.CPUManagerCheckpointV2"
    try:
        document, data, checksum = data_member.read(
            "cpu", fields, lambda: _plain(fields, place), _content
        )
    except GoJsonError as error:
        return CpuStateNotJson(error=error.go_text)
    return CpuReading(document, checksum, data_member.checksum_of(data), is_fourth_format=True)


def _content(value: object) -> CpuDocument:
    name = "CPUManagerCheckpointData"
    fields = Fields(go_json.as_object(value, "", f"state.{name}"), name)
    document, _ = _plain(fields, name)
    place, map_type = f"{name}.baselines", "map[string]map[string]state.ContainerCPUs"
    baselines = go_json.mapping(fields.get("baselines"), place, _baselines, map_type)
    return replace(document, pods=pod_entries.cpus(fields) or {}, baselines=baselines)


def _baselines(value: object, place: str) -> dict[str, str]:
    return go_json.mapping(value, place, _baseline, "map[string]state.ContainerCPUs")


def _baseline(value: object, place: str) -> str:
    held = go_json.as_object(value, place, "state.ContainerCPUs")
    return Fields(held, f"ContainerCPUs.{place.partition('.')[2]}").text("baseline")


def _read_third_format(text: str) -> CpuReading | Finding:
    second = _read_second_format(text)
    if isinstance(second, Finding):
        return second
    fields = _fields(text, _SECOND_FORMAT)
    try:
        pods = pod_entries.cpus(fields)
    except GoJsonError as error:
        return CpuStateNotJson(error=error.go_text)
    document = replace(second.document, pods=pods or {})
    # Go decodes null into a nil map and leaves an absent member an empty one. The checksum covers
    # the printed value, so the two differ.
    entries = None if _is_nil(fields) else _entries(fields)
    dumped = go_dump.cpu_with_pods(document.policy_name, document.default_cpus, entries, pods)
    return CpuReading(document, second.checksum, fnv1a_32(dumped), is_third_format=True)


def _entries(fields: Fields, name: str = _SECOND_FORMAT) -> dict[str, dict[str, str] | None]:
    map_type = "map[string]map[string]string"
    return go_json.mapping(fields.get("entries"), f"{name}.entries", _texts_or_nil, map_type)


def _plain(fields: Fields, name: str) -> tuple[CpuDocument, int]:
    """Return the members of the second format, and the checksum. Raises ``GoJsonError``."""
    fields = fields.at(name)
    entries = {uid: containers or {} for uid, containers in _entries(fields, name).items()}
    policy, default = fields.text("policyName"), fields.text("defaultCpuSet")
    checksum = fields.number("checksum", "checksum.Checksum")
    return CpuDocument(policy, default, entries, {}), checksum


def _read_second_format(text: str, name: str = _SECOND_FORMAT) -> CpuReading | Finding:
    try:
        fields = _fields(text, name)
        document, checksum = _plain(fields, name)
    except GoJsonError as error:
        return CpuStateNotJson(error=error.go_text)
    entries = None if _is_nil(fields) else _entries(fields)
    dumped = go_dump.cpu(document.policy_name, document.default_cpus, entries)
    return CpuReading(document, checksum, fnv1a_32(dumped))


def _read_first_format(text: str) -> CpuReading | Finding:
    try:
        fields = _fields(text, _FIRST_FORMAT)
        entries = _texts(fields.get("entries"), f"{_FIRST_FORMAT}.entries")
        policy, default = fields.text("policyName"), fields.text("defaultCpuSet")
        checksum = fields.number("checksum", "checksum.Checksum")
    except GoJsonError as error:
        return CpuStateNotJson(error=error.go_text)
    expected = fnv1a_32(go_dump.cpu_v1(policy, default, None if _is_nil(fields) else entries))
    return CpuReading(CpuDocument(policy, default, {}, entries), checksum, expected, True)


def _fields(text: str, name: str) -> Fields:
    return Fields(go_json.as_object(go_json.loads(text), "", f"state.{name}"), name)


def _texts(value: object, place: str) -> dict[str, str]:
    return go_json.mapping(value, place, go_json.text, "map[string]string")


def _texts_or_nil(value: object, place: str) -> dict[str, str] | None:
    return None if value is None else _texts(value, place)


def _is_nil(fields: Fields) -> bool:
    """Return whether the entries are null, which the checksum distinguishes from absent."""
    return fields.has("entries") and fields.get("entries") is None


def to_ledger(
    document: CpuDocument, rules: ReleaseRules = pod_entries.ANY_FORMAT
) -> CpuLedger | Finding:
    try:
        default = cpu_set.parse(document.default_cpus)
    except CpuListError as error:
        kind = CpuStateBadDefaultSpelled if rules.cpu_set_is_in_capitals else CpuStateBadDefault
        return kind(cpus=document.default_cpus, error=error.go_text)
    exclusive: dict[str, dict[str, CpuSet]] = {}
    for uid, containers in document.entries.items():
        # Keep a pod without containers: the kubelet never removes it and writes it again.
        exclusive[uid] = {}
        for container, cpus in containers.items():
            try:
                exclusive[uid][container] = cpu_set.parse(cpus)
            except CpuListError as error:
                return CpuStateBadCpus(cpus=cpus, container=container, pod=uid, error=error.go_text)
    ledger = CpuLedger(default, exclusive, pods=document.pods)
    return _with_baselines(ledger, document) if rules.state_files_have_baselines else ledger


def _with_baselines(ledger: CpuLedger, document: CpuDocument) -> CpuLedger | Finding:
    """Return the ledger with the baselines of the file; without any, its CPUs are the baselines."""
    baselines: dict[str, dict[str, CpuSet]] = {}
    for uid, containers in document.baselines.items():
        baselines[uid] = {}
        for container, cpus in containers.items():
            try:
                baselines[uid][container] = cpu_set.parse(cpus)
            except CpuListError as error:
                return CpuStateBadBaseline(
                    cpus=cpus, container=container, pod=uid, error=error.go_text
                )
    return ledger.with_baselines(baselines) if baselines else ledger
