"""A pod that the kubelet rejected, as a drawing shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from numalet.core.admission.decision import Decision
from numalet.core.model import resources
from numalet.core.model.value import Value
from numalet.wording import explanations


class Refusal(Value):
    """The pod's title, the cause in one sentence, and the device resources that it asks for."""

    title: str
    cause: str
    devices: Set[str]

    @property
    def words(self) -> str:
        return f"{self.title} is rejected: {self.cause}"


def of_decisions(decisions: Iterable[Decision], causes: Mapping[int, str]) -> Iterator[Refusal]:
    """Yield the rejected pods; ``causes`` are sentences by the ids of decisions."""
    for each in decisions:
        if each.rejection is not None:
            cause = causes.get(id(each)) or explanations.of_reason(each.rejection)
            wanted = {name for part in each.pod.containers() for name in part.requests}
            yield Refusal(str(each.pod), cause, devices_of(wanted))


def devices_of(names: Iterable[str]) -> frozenset[str]:
    """Return the names of device resources among these."""
    return frozenset(name for name in names if resources.is_device(name))
