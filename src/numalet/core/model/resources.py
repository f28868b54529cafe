"""Names of the resources that matter to NUMA managers.

*Memory types* are what the Memory Manager counts: ordinary memory and huge pages of one size,
named ``hugepages-<size>`` where the size is a canonical quantity (``hugepages-2Mi``).
"""

from __future__ import annotations

from typing import Final

from numalet.core.model.quantity import Quantity
from numalet.core.model.quantity_error import QuantityError

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PID: Final = "pid"
HUGEPAGES_PREFIX: Final = "hugepages-"


def is_hugepages(name: str) -> bool:
    """Whether the name says huge pages of some size; the size itself may be nonsense."""
    return name.startswith(HUGEPAGES_PREFIX)


def is_memory_type(name: str) -> bool:
    """Whether the Memory Manager counts it: memory, or huge pages of any size."""
    return name == MEMORY or name.startswith(HUGEPAGES_PREFIX)


def is_pod_level(name: str) -> bool:
    """Whether it may be asked for by a pod as a whole: CPU, memory, huge pages; no devices."""
    return name == CPU or is_memory_type(name)


def hugepages_name(page_size_kib: int) -> str:
    """The resource name of huge pages of a size: ``hugepages-2Mi`` for 2048."""
    return f"{HUGEPAGES_PREFIX}{Quantity.from_bytes(page_size_kib * 1024)}"


def page_bytes(name: str) -> int | None:
    """Bytes of one page of a type of huge pages, by its name; None if no kubelet names one so."""
    if not is_hugepages(name):
        return None
    try:
        size_bytes = Quantity.parse(name.removeprefix(HUGEPAGES_PREFIX)).value
    except QuantityError:
        return None
    is_size = size_bytes > 0 and size_bytes % 1024 == 0
    return size_bytes if is_size and hugepages_name(size_bytes // 1024) == name else None
