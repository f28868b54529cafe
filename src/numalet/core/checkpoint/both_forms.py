"""Parts of state files in both forms: as Go prints them for the checksum, and as JSON.

A state file is written whole at every change, and hardly anything in it has changed since it was
written before: other NUMA nodes, other pods' blocks, ids of devices. So the texts of such parts
are kept: in the records that they are made of, or for a while by their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias, TypeVar

from numalet.core.checkpoint import go_dump
from numalet.core.checkpoint.go_json import string
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.numa_mask import NumaMask

BothForms: TypeAlias = tuple[str, str]
"""What Go prints, and the JSON."""

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
def nodes(mask: NumaMask) -> BothForms:
    """The ids of NUMA nodes."""
    return numbers(numa_mask.ids(mask))


@lru_cache(maxsize=1024)
def numbers(listed: tuple[int, ...]) -> BothForms:
    """Numbers in the order in which they are."""
    texts = list(map(str, listed))
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
