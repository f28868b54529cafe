"""``memory_manager_state``: the Memory Manager's state file, text to document and back.

Byte-compatible with v1.32: order of members, sorting of keys, checksum. The early layout of
Kubernetes' documentation (groups called ``nodes``, policy hashed in lower case) is recognized and
verified by its own rule; v1.32 itself reports such a file as corrupted.

Kubelet: ``state.MemoryManagerCheckpoint``, v1.32.
"""

from __future__ import annotations

from enum import Enum

from numalet.core.checkpoint import (
    data_member,
    go_dump,
    go_json,
    memory_document,
    memory_text,
    pod_entries,
)
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.go_json import Fields, GoJsonError
from numalet.core.checkpoint.memory_document import (
    Block,
    MachineStateNode,
    MemoryDocument,
    PodBlocks,
    PodEntries,
    Table,
)
from numalet.core.config.releases.release import V1_32_RULES, ReleaseRules
from numalet.core.findings.state_files import (
    MemoryStateCorrupted,
    MemoryStateDataCorrupted,
    MemoryStateEarlyLayout,
    MemoryStateNotJson,
    MemoryStateOtherPolicy,
)
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model import go_text
from numalet.core.model.findings import Finding
from numalet.core.model.value import replace

FILE_NAME = "memory_manager_state"


class ChecksumVerdict(Enum):
    SOUND = "sound"
    EARLY = "early"
    """Sound in the early layout, corrupted for v1.32."""
    CORRUPTED = "corrupted"


def write(policy_name: str, ledger: MemoryLedger, rules: ReleaseRules = V1_32_RULES) -> str:
    """Return the file's text: one line, no blanks, no newline at the end."""
    return memory_text.text(policy_name, ledger, rules)


def checksum_of(document: MemoryDocument) -> int:
    if document.data is not None:
        return data_member.checksum_of(document.data)
    return fnv1a_32(go_dump.memory(document))


def why_corrupted(document: MemoryDocument) -> Finding:
    kind = MemoryStateCorrupted if document.data is None else MemoryStateDataCorrupted
    return kind(checksum=document.checksum, expected=checksum_of(document))


def verdict(document: MemoryDocument, rules: ReleaseRules = V1_32_RULES) -> ChecksumVerdict:
    """Compare the document with its own checksum, by the rule of its layout."""
    if checksum_of(document) == document.checksum:
        return ChecksumVerdict.SOUND
    # The newer formats are verified strictly, even where the oldest one accepts 0.
    is_newer = document.has_pods or document.data is not None
    accepts_zero = rules.memory_checksum_zero_is_accepted and not is_newer
    if accepts_zero and not document.checksum:
        return ChecksumVerdict.SOUND
    # A file in the layout of Kubernetes' documentation: verify it by that layout's rule.
    if document.early_layout:
        early_groups = memory_document.with_early_groups(document)
        early = fnv1a_32(go_dump.memory(early_groups, go_dump.EARLY))
        return ChecksumVerdict.EARLY if early == document.checksum else ChecksumVerdict.CORRUPTED
    return ChecksumVerdict.CORRUPTED


def read(text: str, rules: ReleaseRules = V1_32_RULES) -> MemoryDocument | Finding:
    """Return the file's document, or why Go cannot decode it.

    It is the early layout only if its checksum is right by that layout's rule. To v1.32 the early
    groups are unknown members.
    """
    try:
        value = go_json.loads(text)
        newest = _with_data(value) if rules.state_files_have_data else None
        if newest is not None:
            return newest
        tries_pods = rules.state_files_have_pods or rules.state_files_have_data
        with_pods = _with_pods(value) if tries_pods else None
        if with_pods is not None:
            return with_pods
        document = _document(value, _type_name(rules))
    except GoJsonError as error:
        return MemoryStateNotJson(error=error.go_text)
    keeps_pods = rules.state_files_have_pods and not rules.first_cpu_format_is_gone
    if keeps_pods and isinstance(value, dict):
        # The kubelet keeps the entries that its try with the newer format decoded.
        pods = pod_entries.readable_blocks(Fields(value, _TOP).get(pod_entries.MEMBER))
        document = replace(document, pods=pods)
    # A file that merely has a member ``nodes`` is not early: only the checksum proves the layout.
    is_early = document.early_layout and verdict(document) is ChecksumVerdict.EARLY
    return memory_document.with_early_groups(document) if is_early else document


def load(text: str, policy_name: str, rules: ReleaseRules = V1_32_RULES) -> MemoryLedger | Finding:
    """Return the ledger that a kubelet of this policy loads, or why it does not start."""
    document = load_document(text, policy_name, rules)
    return document if isinstance(document, Finding) else memory_document.to_ledger(document)


def load_document(
    text: str, policy_name: str, rules: ReleaseRules = V1_32_RULES
) -> MemoryDocument | Finding:
    """Return the content that a kubelet of this policy loads, or why it does not start.

    Kubelet: ``stateCheckpoint.restoreState``, v1.32: JSON, then checksum, then policy.
    """
    document = read(text, rules)
    if isinstance(document, Finding):
        return document
    match verdict(document, rules):
        case ChecksumVerdict.EARLY:
            return MemoryStateEarlyLayout(checksum=document.checksum)
        case ChecksumVerdict.CORRUPTED:
            return why_corrupted(document)
        case _:  # Sound.
            pass
    if document.policy_name != policy_name:
        return MemoryStateOtherPolicy(configured=policy_name, found=document.policy_name)
    return document if rules.state_files_have_pods else replace(document, pods=None)


def _type_name(rules: ReleaseRules) -> str:
    return f"{_TOP}V1" if rules.memory_type_has_a_version else _TOP


_TOP = "MemoryManagerCheckpoint"
_IN_NODE = "NUMANodeState.machineState"
_TABLES = f"{_IN_NODE}.memoryMap"
_IN_TABLE = "MemoryTable.machineState.memoryMap"
_IN_BLOCK = "Block.entries"
"""Locations in Go's errors: the innermost struct, and the members on the path to it."""


def _with_data(value: object) -> MemoryDocument | None:
    """Read ``data``; return None if the kubelet tries the older formats instead."""
    fields = Fields(value if isinstance(value, dict) else {}, _TOP)
    if not data_member.is_in(fields):
        return None
    document, data, checksum = data_member.read(
        "memory", fields, lambda: _document(value, _TOP, f"{_TOP}.{_TOP}V1"), _content
    )
    return replace(document, data=data, checksum=checksum, early_layout=False)


def _content(value: object) -> MemoryDocument:
    name = f"{_TOP}Data"
    return replace(_document(value, name), pods=_pods(Fields(go_json.as_object(value, "", ""), "")))


def _with_pods(value: object) -> MemoryDocument | None:
    """Return the document if it is sound in the format with ``podEntries``."""
    try:
        document = _document(value, _TOP)
        pods = _pods(Fields(go_json.as_object(value, "", _TOP), _TOP))
    except GoJsonError:
        return None
    document = replace(document, pods=pods, has_pods=True)
    return document if checksum_of(document) == document.checksum else None


def _pods(top: Fields) -> dict[str, PodBlocks] | None:
    entries, place = top.get(pod_entries.MEMBER), pod_entries.MEMBER
    by_uid = go_json.mapping(entries, place, _pod_blocks, "state.PodMemoryAssignments")
    # An absent member is an empty map, an explicit null is nil; the checksum distinguishes them.
    return None if entries is None and top.has(pod_entries.MEMBER) else by_uid


def _pod_blocks(value: object, place: str) -> PodBlocks:
    fields = Fields(go_json.as_object(value, place, "state.PodEntry"), place)
    return _blocks(fields.get("memoryBlocks"), place)


def _document(value: object, type_name: str, at: str = "") -> MemoryDocument:
    """Decode the plain members of a type, whose place in errors may be another one."""
    at = at or type_name
    top = Fields(go_json.as_object(value, "", f"state.{type_name}"), at)
    nodes, entries = top.get("machineState"), top.get("entries")
    place = f"{at}.machineState"
    by_id = _by_id(go_json.mapping(nodes, place, _node, "state.NUMANodeMap"), place)
    pods = go_json.mapping(entries, f"{at}.entries", _pod, "state.ContainerMemoryAssignments")
    return MemoryDocument(
        policy_name=top.text("policyName"),
        nodes=None if nodes is None and top.has("machineState") else by_id,
        entries=None if entries is None and top.has("entries") else pods,
        checksum=top.number("checksum", "checksum.Checksum"),
        early_layout=any(map(_is_early, _values(nodes))),
    )


def _values(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else []


def _is_early(node: object) -> bool:
    fields = Fields(node if isinstance(node, dict) else {}, _IN_NODE)
    return fields.has("nodes") and not fields.has("cells")


def _by_id(
    nodes: dict[str, MachineStateNode | None], place: str
) -> dict[int, MachineStateNode | None]:
    by_id = {}
    for key, node in nodes.items():
        try:
            by_id[go_text.atoi(key)] = node
        except go_text.GoNumberError:
            raise GoJsonError(
                f"json: cannot unmarshal number {key} into Go struct field {place} of type int"
            ) from None
    return by_id


def _node(value: object, place: str) -> MachineStateNode | None:
    if value is None:
        return None
    fields = Fields(go_json.as_object(value, place, "state.NUMANodeState"), _IN_NODE)
    tables = fields.get("memoryMap")
    group = fields.get("cells")
    early_group = fields.get("nodes") if _is_early(value) else None
    map_type = "map[v1.ResourceName]*state.MemoryTable"
    return MachineStateNode(
        fields.number("numberOfAssignments", "int"),
        None if tables is None else go_json.mapping(tables, _TABLES, _table, map_type),
        *(
            None if each is None else go_json.sequence(each, f"{_IN_NODE}.cells", _int, "[]int")
            for each in (group, early_group)
        ),
    )


def _table(value: object, place: str) -> Table | None:
    if value is None:
        return None
    fields = Fields(go_json.as_object(value, place, "state.MemoryTable"), _IN_TABLE)
    return Table(
        *(
            fields.number(name)
            for name in ("total", "systemReserved", "allocatable", "reserved", "free")
        )
    )


def _pod(value: object, place: str) -> PodEntries | None:
    map_type = "map[string][]state.Block"
    return None if value is None else go_json.mapping(value, place, _blocks, map_type)


def _blocks(value: object, place: str) -> tuple[Block, ...] | None:
    return None if value is None else go_json.sequence(value, place, _block, "[]state.Block")


def _block(value: object, place: str) -> Block:
    fields = Fields(go_json.as_object(value, place, "state.Block"), _IN_BLOCK)
    nodes = fields.get("numaAffinity")
    place = f"{_IN_BLOCK}.numaAffinity"
    return Block(
        None if nodes is None else go_json.sequence(nodes, place, _int, "[]int"),
        fields.text("type", "v1.ResourceName"),
        fields.number("size"),
    )


def _int(value: object, place: str) -> int:
    return go_json.number(value, place, "int")
