"""A bench to try the Device Manager on: short ways to write devices, pods and plugins."""

from __future__ import annotations

from dataclasses import dataclass, field

from numalet.core.hints.provider import Hint, Reason, Refused, RefusedMidway
from numalet.core.managers.device import registration
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.managers.device.ledger import EMPTY_LEDGER, DeviceLedger
from numalet.core.managers.device.preference import (
    Accepted,
    AllocateAnswer,
    CallFailed,
    PreferenceQuestion,
    Preferred,
)
from numalet.core.model import numa_mask
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod
from numalet.core.model.quantity import Quantity

GPU = "example.com/gpu"
NIC = "example.com/nic"
ANYWHERE = Hint(None, False)


def devices(text: str, health: Health = Health.HEALTHY) -> list[Device]:
    """Devices written ``a@0 b@0+1 c``."""
    found = []
    for word in text.split():
        name, _, nodes = word.partition("@")
        found.append(Device(name, tuple(int(node) for node in nodes.split("+") if nodes), health))
    return found


def node(**resources: str) -> DeviceLedger:
    """A ledger with the devices of ``gpu`` and ``nic``, all free."""
    names = {"gpu": GPU, "nic": NIC}
    return registration.all_reported(
        EMPTY_LEDGER, {names[key]: devices(text) for key, text in resources.items()}
    )


def container(name: str = "c", kind: ContainerKind = ContainerKind.APP, **limits: str) -> Container:
    """A container with limits for ``gpu``, ``nic``, ``unknown`` and whatever else is named."""
    names = {"gpu": GPU, "nic": NIC, "unknown": "example.com/unknown"}
    asked = {names.get(key, key): Quantity.parse(text) for key, text in limits.items()}
    return Container(name, kind, asked, asked)


def pod(*containers: Container, uid: str = "u") -> Pod:
    """A pod of these containers."""
    starting = tuple(each for each in containers if each.kind is not ContainerKind.APP)
    apps = tuple(each for each in containers if each.kind is ContainerKind.APP)
    return Pod(uid, f"pod-{uid}", "default", starting, apps)


def near(*node_ids: int) -> Hint:
    """An affinity to these nodes."""
    return Hint(numa_mask.of(node_ids), True)


def held(ledger: DeviceLedger, name: str = "c", resource: str = GPU, uid: str = "u") -> str:
    """The device ids that a container holds, as a text."""
    record = ledger.record(ContainerKey(uid, name), resource)
    return "" if record is None else " ".join(sorted(record.device_ids))


def reason_of(answer: DeviceLedger | Refused) -> Reason:
    """The reason of a refusal."""
    assert isinstance(answer, Refused)
    return answer.reason


def left_by(answer: DeviceLedger | Refused) -> DeviceLedger:
    """The ledger that a refusal left."""
    assert isinstance(answer, RefusedMidway)
    ledger = answer.so_far
    assert isinstance(ledger, DeviceLedger)
    return ledger


def done(answer: DeviceLedger | Refused) -> DeviceLedger:
    """The ledger of an allocation that was not refused."""
    assert isinstance(answer, DeviceLedger)
    return answer


@dataclass
class Plugins:
    """Plugins that answer as they were told, and remember what they were asked."""

    prefers: str = ""
    fails: str = ""
    vetoes: str = ""
    answer: AllocateAnswer = field(default_factory=Accepted)
    questions: list[PreferenceQuestion] = field(default_factory=list)
    allocated: list[tuple[str, ...]] = field(default_factory=list)

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """What was told."""
        self.questions.append(question)
        return CallFailed(self.fails) if self.fails else Preferred(frozenset(self.prefers.split()))

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        """What was told."""
        self.allocated.append(device_ids)
        return CallFailed("no") if resource == self.vetoes else self.answer
