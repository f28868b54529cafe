"""``podEntries``: the allocations of whole pods, in the newer formats of both state files.

The CPU Manager's format 3 and the Memory Manager's format 2 are the older formats with one more
member, which the checksum covers even if it is empty. A kubelet that supports them tries them
first. If then an older format succeeds, for example with a checksum of 0, entries that the first
try decoded stay in the kubelet's memory. Kubelet: ``loadAndMigrateCheckpointV3``,
``loadAndMigrateCheckpointV2``, v1.36.
"""

from __future__ import annotations

from typing import Final

from numalet.core.checkpoint import go_json
from numalet.core.checkpoint.go_json import Fields, GoJsonError
from numalet.core.checkpoint.memory_document import Block, PodBlocks
from numalet.core.config.releases.release import V1_32_RULES
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuListError, CpuSet

MEMBER: Final = "podEntries"
ANY_FORMAT: Final = V1_32_RULES.and_also(
    state_files_have_pods=True, state_files_have_data=True, state_files_have_baselines=True
)
"""Rules that read files of every format, older ones like v1.32."""
_IN_ENTRY: Final = "podEntries"


def cpus(fields: Fields) -> dict[str, CpuSet] | None:
    """Return the CPUs of every pod, or None for null. Raises ``GoJsonError``."""
    value = fields.get(MEMBER)
    if value is None and fields.has(MEMBER):
        return None
    return go_json.mapping(value, MEMBER, _cpus_of, "state.PodCPUAssignments")


def readable_cpus(fields: Fields) -> dict[str, CpuSet]:
    """Return the CPUs of pods up to the first invalid entry."""
    value = fields.get(MEMBER)
    readable: dict[str, CpuSet] = {}
    try:
        # Go decodes a map entry by entry and stops at an error; the entries before it are in the
        # map already.
        for uid, entry in value.items() if isinstance(value, dict) else ():
            readable[uid] = _cpus_of(entry, MEMBER)
    except GoJsonError:
        pass
    return readable


def _cpus_of(value: object, place: str) -> CpuSet:
    entry = Fields(go_json.as_object(value, place, "state.podEntryJSON"), _IN_ENTRY)
    try:
        return cpu_set.parse(entry.text("cpuSet"))
    except CpuListError as error:
        raise GoJsonError(f"failed to parse cpuset: {error.go_text}") from None


def readable_blocks(value: object) -> dict[str, PodBlocks]:
    """Return the blocks of pods; like Go, treat parts of a wrong type as absent."""
    entries = value if isinstance(value, dict) else {}
    return {uid: _readable(entry) for uid, entry in entries.items()}


def _readable(entry: object) -> PodBlocks:
    blocks = Fields(entry, _IN_ENTRY).get("memoryBlocks") if isinstance(entry, dict) else None
    return tuple(map(_readable_block, blocks)) if isinstance(blocks, list) else None


def _readable_block(value: object) -> Block:
    fields = Fields(value if isinstance(value, dict) else {}, _IN_ENTRY)
    nodes, resource = fields.get("numaAffinity"), fields.get("type")
    size = fields.get("size")
    return Block(
        tuple(_whole(each) for each in nodes) if isinstance(nodes, list) else None,
        resource if isinstance(resource, str) else "",
        max(0, _whole(size)),
    )


def _whole(value: object) -> int:
    return value if type(value) is int else 0
