"""Parts of state files in both forms: as Go prints them for the checksum, and as JSON.

A state file is written whole at every change, and hardly anything in it has changed since it was
written before: other NUMA nodes, other pods' blocks, ids of devices. So the texts of such parts
are kept for a while, by the values that they are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import starmap
from typing import TypeAlias, TypeVar

from numalet.core.checkpoint import go_dump
from numalet.core.checkpoint.go_json import string
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.numa_mask import NumaMask

BothForms: TypeAlias = tuple[str, str]
"""What Go prints, and the JSON."""

TableValues: TypeAlias = tuple[int, int, int, int, int]
"""Of a table: total, reserved for the system, allocatable, reserved, free."""

BlockValues: TypeAlias = tuple[tuple[int, ...], str, int]
"""Of a block: node ids, type, bytes."""

_V = TypeVar("_V")


def map_of(items: Mapping[str, _V], both: Callable[[_V], BothForms]) -> BothForms:
    """A map whose keys are texts, sorted."""
    dumps, texts = [], []
    for key, value in sorted(items.items()):
        dump, text = both(value)
        dumps.append(f"{key}:{dump}")
        texts.append(f"{string(key)}:{text}")
    return f"map[{' '.join(dumps)}]", f"{{{','.join(texts)}}}"


def map_by_number(items: Mapping[int, _V], both: Callable[[_V], BothForms]) -> BothForms:
    """A map whose keys are numbers: sorted as such by Go's printing, and as texts in JSON."""
    dumps, texts = [], []
    for key, value in sorted(items.items()):
        dump, text = both(value)
        dumps.append(f"{key}:{dump}")
        texts.append(f'"{key}":{text}')
    # The quote behind a key comes before every digit, as its end does.
    texts.sort()
    return f"map[{' '.join(dumps)}]", f"{{{','.join(texts)}}}"


def list_of(items: Iterable[BothForms]) -> BothForms:
    """A list."""
    dumps, texts = [], []
    for dump, text in items:
        dumps.append(dump)
        texts.append(text)
    return f"[{' '.join(dumps)}]", f"[{','.join(texts)}]"


@lru_cache(maxsize=1024)
def node(
    assignments: int,
    group: NumaMask,
    names_of_tables: tuple[str, ...],
    tables: tuple[TableValues, ...],
) -> BothForms:
    """One NUMA node of the memory file; tables and their names are in the same order."""
    dumps, texts = [], []
    for name, values in sorted(zip(names_of_tables, tables, strict=True)):
        dump, text = _table(name, *values)
        dumps.append(dump)
        texts.append(text)
    group_dump, group_text = _group(group)
    return go_dump.node_of(assignments, f"map[{' '.join(dumps)}]", group_dump), (
        f'{{"numberOfAssignments":{assignments},'
        f'"memoryMap":{{{",".join(texts)}}},"cells":{group_text}}}'
    )


@lru_cache(maxsize=4096)
def _table(
    name: str, total: int, system_reserved: int, allocatable: int, reserved: int, free: int
) -> BothForms:
    """One memory type on one NUMA node, its name in front."""
    # Digits are dear: every number is turned into them once.
    total_text, system_text, allocatable_text = str(total), str(system_reserved), str(allocatable)
    reserved_text, free_text = str(reserved), str(free)
    dump = go_dump.table_of(total_text, system_text, allocatable_text, reserved_text, free_text)
    return f"{name}:{dump}", (
        f'{string(name)}:{{"total":{total_text},"systemReserved":{system_text},'
        f'"allocatable":{allocatable_text},"reserved":{reserved_text},"free":{free_text}}}'
    )


@lru_cache(maxsize=4096)
def blocks(values: tuple[BlockValues, ...]) -> BothForms:
    """What a container or a pod got of memory."""
    return list_of(starmap(_block, values))


def _block(nodes: tuple[int, ...], resource: str, size_bytes: int) -> BothForms:
    dump, text = _numbers(nodes)
    size = str(size_bytes)
    return go_dump.block_of(dump, resource, size), (
        f'{{"numaAffinity":{text},"type":{string(resource)},"size":{size}}}'
    )


@lru_cache(maxsize=1024)
def _group(mask: NumaMask) -> BothForms:
    return _numbers(numa_mask.ids(mask))


@lru_cache(maxsize=1024)
def _numbers(numbers: tuple[int, ...]) -> BothForms:
    texts = list(map(str, numbers))
    return f"[{' '.join(texts)}]", f"[{','.join(texts)}]"


@lru_cache(maxsize=4096)
def cpus(held: CpuSet) -> BothForms:
    """The list of CPUs that a container holds."""
    text = cpu_set.text(held)
    return text, f'"{text}"'


@lru_cache(maxsize=1024)
def cpus_of_pod(held: CpuSet) -> BothForms:
    """The CPUs that a pod got as a whole."""
    text = f'{{"cpuSet":"{cpu_set.text(held)}"}}' if held else "{}"
    return go_dump.pod_cpus_of(held), text


@lru_cache(maxsize=1024)
def names(texts: tuple[str, ...]) -> BothForms:
    """Texts in the order in which they are, as of a resource's devices."""
    return f"[{' '.join(texts)}]", f"[{','.join(map(string, texts))}]"
