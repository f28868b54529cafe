"""A hint, and the three answers of a manager for one resource.

The kubelet encodes three answers in one Go value (no list, an empty list, a list). Here they have
names: ``NoPreference``, ``Impossible`` with its reason, and a family of hints, which is an explicit
list or a rule. A manager offers hints; the policy chooses one as the affinity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from numalet.core.hints.reasons import Reason
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class Hint(NamedTuple):
    """A set of NUMA nodes, or None for any node, and whether the set is preferred.

    Preferred means, for every provider: no smaller set could hold the request on an empty machine.
    Kubelet: ``topologymanager.TopologyHint``, v1.32.
    """

    mask: NumaMask | None
    preferred: bool


ZERO_HINT = Hint(None, False)
"""The affinity of a container without a stored one: any node, not preferred."""


class NoPreference(Value):
    """Any node can provide this resource."""


class Impossible(Value):
    """No set of nodes can satisfy the request, for this reason."""

    reason: Reason


class HintFamily(Protocol):
    """The node sets that one resource offers."""

    def hints(self) -> Sequence[Hint]:
        """Return one or more hints, in the order of the kubelet."""
        ...

    def why_not(self, mask: NumaMask) -> Reason | None:
        """Return why this set is not offered, if so."""
        ...


class Candidates(Value):
    """A family given as an explicit list."""

    listed: tuple[Hint, ...]

    def hints(self) -> Sequence[Hint]:
        return self.listed

    def why_not(self, mask: NumaMask) -> Reason | None:
        return None if any(hint.mask == mask for hint in self.listed) else NotListed(mask)


class NotListed(Value):
    """The provider did not offer this set and gave no reason."""

    code: ClassVar[str] = "hints/not-listed"
    sentence: ClassVar[str] = "The provider does not offer the NUMA nodes {mask}."
    brief: ClassVar[str] = "not offered"
    mask: NumaMask


ResourceHints: TypeAlias = NoPreference | Impossible | HintFamily

ProviderHints: TypeAlias = Mapping[str, ResourceHints]
"""Answer of one provider by resource name. Empty: no preference for any resource."""

NO_HINTS: ProviderHints = {}
