"""The decision on one pod: verdict, reason, and the next snapshot; and a listener for its steps.

A decision is a pure function: to explain an earlier one, decide again with a recorder. Without one
the listener costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from numalet.core.admission.reasons import (
    NotAsked,
    NothingToPreempt,
    OutOfResource,
    PodLevelOff,
    PredicateFailed,
    Rejection,
    SidecarForbidden,
)
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import Hint, ProviderHints, Reason, Refused
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import Mutable, ShownValue, Value, field
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot

POD = "pod"
"""The subject of an alignment in pod scope; in container scope it is a container's name."""


class HintsAsked(Value):
    snapshot: Snapshot
    subject: str
    hints: Mapping[str, ProviderHints]


class HintsMerged(Value):
    subject: str
    merged: Merged


class Allocated(Value):
    container: Container
    provider: str
    before: Snapshot
    after: Snapshot


class RefusedAllocation(Value):
    container: Container
    provider: str
    reason: Reason


Event: TypeAlias = HintsAsked | HintsMerged | Allocated | RefusedAllocation


class Collector(Mutable):
    events: list[Event] = field(default_factory=list)

    def hints_were_asked(
        self, snapshot: Snapshot, pod: Pod, subject: str, hints: Mapping[str, ProviderHints]
    ) -> None:
        self.events.append(HintsAsked(snapshot, subject, hints))

    def hints_were_merged(self, pod: Pod, subject: str, merged: Merged) -> None:
        self.events.append(HintsMerged(subject, merged))

    def resources_were_allocated(
        self, pod: Pod, container: Container, provider: str, before: Snapshot, after: Snapshot
    ) -> None:
        self.events.append(Allocated(container, provider, before, after))

    def allocation_was_refused(
        self, pod: Pod, container: Container, provider: str, refused: Refused
    ) -> None:
        self.events.append(RefusedAllocation(container, provider, refused.reason))


class Recorder(Protocol):
    """Callbacks of one admission, in order. A subclass overrides only those that it needs."""

    def hints_were_asked(
        self, snapshot: Snapshot, pod: Pod, subject: str, hints: Mapping[str, ProviderHints]
    ) -> None:
        """All providers answered; ``subject`` is ``pod`` or a container's name."""
        return

    def hints_were_merged(self, pod: Pod, subject: str, merged: Merged) -> None:
        """The policy decided. *Not* called under the topology policy none."""
        return

    def resources_were_allocated(
        self, pod: Pod, container: Container, provider: str, before: Snapshot, after: Snapshot
    ) -> None:
        """One provider allocated for one container."""
        return

    def allocation_was_refused(
        self, pod: Pod, container: Container, provider: str, refused: Refused
    ) -> None:
        """One provider refused; this is the last event."""
        return


class SilentRecorder(Recorder):
    """A recorder that ignores every event."""


SILENT: Recorder = SilentRecorder()


class Alignment(Value):
    """The hints of every provider for one subject, and the merged hint.

    ``merged`` is missing only if a provider crashed before the merge.
    """

    hints: Mapping[str, ProviderHints]
    merged: Merged | None


class Decision(ShownValue):
    """The verdict on one pod.

    ``rejection`` is set for a rejected pod. ``alignments`` are by subject, empty under topology
    policy none; ``affinities`` are the affinities stored for this pod's containers. ``left_behind``
    are containers of a rejected pod that still hold resources in ``after``: the kubelet releases
    them at the next admission. ``after`` is the next snapshot in both cases.

    ``evicted`` are uids of pods that end to make room for a critical pod, in this order; in
    ``after`` they are inactive. ``not_asked`` are general predicates that lack data to decide.
    ``passed_over`` are extended resources that the pod requests and no plugin offers: the pod runs
    without them.

    ``windows_affinity`` (only on Windows) has, by name, the CPUs that each container of an admitted
    pod is bound to; unbound containers are absent.
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
        return self.rejection is None

    @property
    def managers_admitted(self) -> bool:
        """Whether all managers admitted the pod; a general predicate may have rejected it."""
        return self.admitted or isinstance(
            self.rejection,
            OutOfResource | PredicateFailed | SidecarForbidden | NothingToPreempt | PodLevelOff,
        )

    @property
    def placements(self) -> dict[str, Placement]:
        """The allocation of each container of an admitted pod by name; empty if rejected."""
        return placement.of_pod(self.after, self.pod) if self.admitted else {}
