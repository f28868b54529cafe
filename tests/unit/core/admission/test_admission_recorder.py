"""What a recorder hears of a decision."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import ProviderHints, Refused
from numalet.core.model.pod import Container, Pod
from numalet.core.snapshot.snapshot import Snapshot
from values import builders
from values.builders import aligned, container, node, pod, rules


class Listener:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def hints_were_asked(
        self, snapshot: Snapshot, pod: Pod, subject: str, hints: Mapping[str, ProviderHints]
    ) -> None:
        self.heard.append(f"asked {subject} {' '.join(hints)}")

    def hints_were_merged(self, pod: Pod, subject: str, merged: Merged) -> None:
        self.heard.append(f"merged {subject} {merged.admit}")

    def resources_were_allocated(
        self, pod: Pod, container: Container, provider: str, before: Snapshot, after: Snapshot
    ) -> None:
        self.heard.append(f"allocated {container.name} {provider} {before is not after}")

    def allocation_was_refused(
        self, pod: Pod, container: Container, provider: str, refused: Refused
    ) -> None:
        self.heard.append(f"refused {container.name} {provider} {refused.reason.code}")


def test_a_recorder_hears_everything_in_order() -> None:
    listener = Listener()
    one = rules(builders.machine(10, 10), aligned(TopologyPolicy.BEST_EFFORT))
    decided = node(one).admit(pod("u", container("a", "4Gi"), container("b", "25Gi")), listener)

    assert not decided[1].admitted
    assert listener.heard == [
        "asked a device cpu memory",
        "merged a True",
        "allocated a device False",
        "allocated a cpu False",
        "allocated a memory True",
        "asked b device cpu memory",
        "merged b True",
        "allocated b device False",
        "allocated b cpu False",
        "refused b memory memory/can-not-extend",
    ]
