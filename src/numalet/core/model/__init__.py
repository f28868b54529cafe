"""The nouns: machine, pod, quantity, sets of NUMA nodes and of CPUs.

No policy, no decisions, no I/O, no clock.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any


def read_only(items: dict[Any, Any]) -> Mapping[Any, Any]:
    """Return a view of a dictionary that rejects changes."""
    return MappingProxyType(items)


def _reduced(mapping: Any) -> tuple[Callable[..., Any], tuple[dict[Any, Any]]]:
    return read_only, (dict(mapping),)


# Python cannot pickle or deep-copy read-only mappings. Values are sent to other processes, so
# register a reducer for this type, once.
copyreg.pickle(MappingProxyType, _reduced)
