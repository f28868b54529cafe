"""Named rules that tell the kubelet's accidents from what we would want instead.

One engine serves both modes; a mode is a value of ``Behaviour``. ``EXACT`` is the kubelet's,
accidents included, and the only mode so far. Every rule here has a test and a row in
``docs/differences.md``. No other place asks which mode it is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """The named rules.

    ``highest_node_id``: the largest NUMA node id that fits into a mask; None for no limit.
    ``default_node_limit``: how many NUMA nodes an active topology policy accepts.
    ``distances_by_node_id``: a distance row is indexed by node id, not by position.
    ``release_at_once``: a refused or removed pod leaves the books in the same step, and not
    at the next admission.
    """

    highest_node_id: int | None = 63
    default_node_limit: int = 8
    distances_by_node_id: bool = True
    release_at_once: bool = False


EXACT = Behaviour()
