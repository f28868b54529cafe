"""Reads ``cpuN/cache``: the caches that one CPU sees, in directory order."""

from __future__ import annotations

import re
from typing import Final

from numalet.core.model.machine import Cache
from numalet.io.sysfs import kernel_text
from numalet.io.sysfs.records import TreeSource

_INDEX: Final = re.compile(r"index[0-9]{1,4}", re.ASCII)


class CachePool:
    """Reads caches; equal ones share one value, because a cache appears under each of its CPUs."""

    def __init__(self) -> None:
        self._known: dict[Cache, Cache] = {}

    def read(self, source: TreeSource, folder: str) -> tuple[Cache, ...]:
        caches = []
        for name in source.tree.names(folder, _INDEX):
            cache = _read_cache(source, f"{folder}/{name}")
            caches.append(self._known.setdefault(cache, cache))
        return tuple(caches)


def _read_cache(source: TreeSource, folder: str) -> Cache:
    # Some snapshots have the mask only.
    listed = source.read(f"{folder}/shared_cpu_list", kernel_text.cpu_list)
    masked = source.read(f"{folder}/shared_cpu_map", kernel_text.cpu_mask)
    return Cache(
        level=source.read(f"{folder}/level", kernel_text.integer),
        kind=kernel_text.word(source.tree.text(f"{folder}/type")),
        cache_id=source.read(f"{folder}/id", kernel_text.integer),
        size_bytes=source.read(f"{folder}/size", kernel_text.size_bytes),
        cpus=listed or masked,
        masked_cpu_count=None if masked is None else len(masked),
    )
