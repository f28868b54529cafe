"""A hint, and the three things a manager can answer for one resource.

The kubelet encodes three answers in one Go value (no list, an empty list, a list). Here they
have names: ``NoPreference``, ``Impossible`` with its reason, and a family of hints. A family
stands behind a small protocol, so that it may list its hints or know them by rule.

"Hint" is what is offered, "affinity" is what was chosen; both are a node set and a flag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from numalet.core.hints.reasons import Reason
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class Hint(NamedTuple):
    """A set of NUMA nodes, or None for "any node", and whether it is a preferred one.

    Preferred means, for every provider: no smaller set could hold the request on an empty
    machine. Kubelet: ``topologymanager.TopologyHint``, v1.32.
    """

    mask: NumaMask | None
    preferred: bool


ZERO_HINT = Hint(None, False)
"""What is read where no affinity was stored: any node, not preferred."""


class NoPreference(Value):
    """The manager does not care where this resource comes from."""


class Impossible(Value):
    """No set of nodes can satisfy the request; ``reason`` says why."""

    reason: Reason


class HintFamily(Protocol):
    """The node sets that one resource offers."""

    def hints(self) -> Sequence[Hint]:
        """Every hint, in the order in which the kubelet makes them; at least one."""
        ...

    def why_not(self, mask: NumaMask) -> Reason | None:
        """Why this set is not offered; None if it is."""
        ...


class Candidates(Value):
    """A family that is an explicit list."""

    listed: tuple[Hint, ...]

    def hints(self) -> Sequence[Hint]:
        """The list as it was given."""
        return self.listed

    def why_not(self, mask: NumaMask) -> Reason | None:
        """Nothing more is known than whether the set is in the list."""
        return None if any(hint.mask == mask for hint in self.listed) else NotListed(mask)


class NotListed(Value):
    """The provider did not offer this set and gave no reason."""

    code: ClassVar[str] = "hints/not-listed"
    sentence: ClassVar[str] = "The provider does not offer the NUMA nodes {mask}."
    brief: ClassVar[str] = "not offered"
    mask: NumaMask


ResourceHints: TypeAlias = NoPreference | Impossible | HintFamily

ProviderHints: TypeAlias = Mapping[str, ResourceHints]
"""Answer of one provider: by resource name. Empty: no preference at all."""

NO_HINTS: ProviderHints = {}
