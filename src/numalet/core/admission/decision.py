"""Decision: what became of one pod, why, and the snapshot after it."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.admission.reasons import (
    NotAsked,
    NothingToPreempt,
    OutOfResource,
    PodLevelOff,
    PredicateFailed,
    Rejection,
    SidecarForbidden,
)
from numalet.core.hints.hint import Hint, ProviderHints
from numalet.core.hints.policies import Merged
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import ShownValue, Value
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot

POD = "pod"
"""The subject of an alignment in pod scope; in container scope it is a container's name."""


class Alignment(Value):
    """Hints of every provider for one subject, and what the policy made of them.

    ``merged`` is None only if a provider crashed before the merge.
    """

    hints: Mapping[str, ProviderHints]
    merged: Merged | None


class Decision(ShownValue):
    """The verdict on one pod.

    ``rejection`` is None for an admitted pod. ``alignments`` are by subject, empty under the
    topology policy none; ``affinities`` are the affinities stored for this pod's containers.
    ``left_behind`` are containers of a rejected pod that still hold resources in ``after``: the
    kubelet gives them back at the next admission. ``after`` is the next snapshot either way.

    ``evicted`` are uids of pods that end so that a critical pod has room, in this order; in
    ``after`` they are active no longer. ``not_asked`` are general predicates that might have
    rejected the pod, had more been known. ``passed_over`` are extended resources that the pod asks
    for and no plugin offers: it runs without them.

    ``windows_affinity`` is None but on Windows. There it has the CPUs to which each container
    of an admitted pod is bound, by name; containers that are bound to none are left out.
    """

    pod: Pod
    rejection: Rejection | None
    alignments: Mapping[str, Alignment]
    affinities: Mapping[str, Hint]
    left_behind: tuple[ContainerKey, ...]
    before: Snapshot
    after: Snapshot
    windows_affinity: Mapping[str, CpuSet] | None = None
    evicted: tuple[str, ...] = ()
    not_asked: tuple[NotAsked, ...] = ()
    passed_over: tuple[str, ...] = ()

    def __repr__(self) -> str:
        verdict = "admitted" if self.rejection is None else f"rejected: {self.rejection.code}"
        return f"<Decision on {self.pod}: {verdict}>"

    @property
    def admitted(self) -> bool:
        """Whether the pod may run."""
        return self.rejection is None

    @property
    def managers_admitted(self) -> bool:
        """Whether no manager objected; the general predicates may have."""
        return self.admitted or isinstance(
            self.rejection,
            OutOfResource | PredicateFailed | SidecarForbidden | NothingToPreempt | PodLevelOff,
        )

    @property
    def placements(self) -> dict[str, Placement]:
        """What each container of an admitted pod holds, by name; empty for a rejected pod."""
        return placement.of_pod(self.after, self.pod) if self.admitted else {}
