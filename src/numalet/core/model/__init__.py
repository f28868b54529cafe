"""The nouns. Machine, pod, quantity, sets of NUMA nodes and of CPUs.

What lives here knows no policy and decides nothing. No input, no output, no clock.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any


def read_only(items: dict[Any, Any]) -> Mapping[Any, Any]:
    """A view of a dictionary through which it cannot be changed."""
    return MappingProxyType(items)


def _reduced(mapping: Any) -> tuple[Callable[..., Any], tuple[dict[Any, Any]]]:
    return read_only, (dict(mapping),)


# Many values hold read-only mappings, which Python by itself neither pickles nor copies deeply.
# Values have to travel to other processes, so here is how; of this type only, and once.
copyreg.pickle(MappingProxyType, _reduced)
