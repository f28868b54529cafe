"""Names of the resources that NUMA managers handle.

*Memory types* are those of the Memory Manager: ordinary memory, and huge pages of one size,
``hugepages-<size>`` with a canonical quantity as size (``hugepages-2Mi``).
"""

from __future__ import annotations

import re
from typing import Final

from numalet.core.model.go_text import QuantityError
from numalet.core.model.quantity import Quantity

LEAST_BYTES: Final = 1 << 20
"""Plain numbers from this size on are plausible as bytes."""

_PLAIN: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?", re.ASCII)


def lacks_unit(text: str) -> bool:
    plain = text.strip()
    return _PLAIN.fullmatch(plain) is not None and 0 < float(plain) < LEAST_BYTES


CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PID: Final = "pid"
HUGEPAGES_PREFIX: Final = "hugepages-"


def is_hugepages(name: str) -> bool:
    """Return whether the name has the prefix of huge pages; the size may be invalid."""
    return name.startswith(HUGEPAGES_PREFIX)


def is_memory_type(name: str) -> bool:
    """Return whether the Memory Manager handles it: memory, or huge pages of any size."""
    return name == MEMORY or name.startswith(HUGEPAGES_PREFIX)


def is_pod_level(name: str) -> bool:
    """Return whether a pod may request it in ``spec.resources``: CPU, memory, huge pages."""
    return name == CPU or is_memory_type(name)


def is_device(name: str) -> bool:
    """Return whether it has a domain, as the resources of device plugins have."""
    return "/" in name


def hugepages_name(page_size_kib: int) -> str:
    """Return the resource name of huge pages of a size: ``hugepages-2Mi`` for 2048."""
    return f"{HUGEPAGES_PREFIX}{Quantity.from_bytes(page_size_kib * 1024)}"


def page_bytes(name: str) -> int | None:
    """Return the page size of a huge page resource, if a kubelet uses this name."""
    if not is_hugepages(name):
        return None
    try:
        size_bytes = Quantity.parse(name.removeprefix(HUGEPAGES_PREFIX)).value
    except QuantityError:
        return None
    is_size = size_bytes > 0 and size_bytes % 1024 == 0
    return size_bytes if is_size and hugepages_name(size_bytes // 1024) == name else None
