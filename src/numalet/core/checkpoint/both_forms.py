"""Parts of state files in both forms: Go's printed form for the checksum, and JSON.

The kubelet writes a whole state file at every change, but most parts are unchanged since the last
write: other NUMA nodes, other pods' blocks, device ids. Their texts are therefore cached, in their
records or by value in an LRU cache.
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
"""Go's printed form, and the JSON."""

_V = TypeVar("_V")


def map_of(items: Mapping[str, _V], both: Callable[[_V], BothForms]) -> BothForms:
    dumps, texts = [], []
    for key, value in sorted(items.items()):
        dump, text = both(value)
        dumps.append(f"{key}:{dump}")
        texts.append(f"{string(key)}:{text}")
    return f"map[{' '.join(dumps)}]", f"{{{','.join(texts)}}}"


def map_by_number(items: Mapping[int, _V], both: Callable[[_V], BothForms]) -> BothForms:
    """Format a map with number keys: sorted as numbers in Go's form, as texts in JSON."""
    dumps, texts = [], []
    for key, value in sorted(items.items()):
        dump, text = both(value)
        dumps.append(f"{key}:{dump}")
        texts.append(f'"{key}":{text}')
    # Sorting whole entries sorts the keys: the quote after a key precedes every digit.
    texts.sort()
    return f"map[{' '.join(dumps)}]", f"{{{','.join(texts)}}}"


def list_of(items: Iterable[BothForms]) -> BothForms:
    dumps, texts = [], []
    for dump, text in items:
        dumps.append(dump)
        texts.append(text)
    return f"[{' '.join(dumps)}]", f"[{','.join(texts)}]"


@lru_cache(maxsize=1024)
def nodes(mask: NumaMask) -> BothForms:
    return numbers(numa_mask.ids(mask))


@lru_cache(maxsize=1024)
def numbers(listed: tuple[int, ...]) -> BothForms:
    texts = list(map(str, listed))
    return f"[{' '.join(texts)}]", f"[{','.join(texts)}]"


@lru_cache(maxsize=4096)
def cpus(held: CpuSet) -> BothForms:
    text = cpu_set.text(held)
    return text, f'"{text}"'


@lru_cache(maxsize=1024)
def cpus_of_pod(held: CpuSet) -> BothForms:
    text = f'{{"cpuSet":"{cpu_set.text(held)}"}}' if held else "{}"
    return go_dump.pod_cpus_of(held), text


@lru_cache(maxsize=1024)
def names(texts: tuple[str, ...]) -> BothForms:
    return f"[{' '.join(texts)}]", f"[{','.join(map(string, texts))}]"
