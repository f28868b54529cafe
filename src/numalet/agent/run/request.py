"""What a user asks for, as a pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from numalet.core.model import plain_numbers, resources
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity, QuantityError
from numalet.core.node.node import Devices

CONTAINER: Final = "main"
NAMESPACE: Final = "run"


def _none() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """Amounts as texts. ``hugepages`` are by page size: a number of pages, or a size.

    ``memory`` is None where no size is to be promised. ``devices`` are numbers of devices by
    resource.
    """

    command: tuple[str, ...]
    cpus: str
    memory: str | None
    hugepages: Mapping[str, str] = field(default_factory=_none)
    devices: Mapping[str, str] = field(default_factory=_none)


def pod(request: RunRequest, uid: str) -> Pod:
    """The Guaranteed pod of one container that asks for this. Raises ``BadInput``."""
    findings = Findings()
    asked = {resources.CPU: _amount(request.cpus, "--cpus", findings)}
    if request.memory is not None:
        asked[resources.MEMORY] = _size(request.memory, "--memory", findings)
    for size, text in request.hugepages.items():
        name = f"{resources.HUGEPAGES_PREFIX}{size}"
        asked[name] = _pages(name, text, findings)
    for resource, text in request.devices.items():
        asked[resource] = _amount(text, "--device", findings)
    findings.raise_errors()
    amounts = {name: amount for name, amount in asked.items() if amount is not None}
    container = Container(CONTAINER, requests=amounts, limits=amounts)
    return Pod(
        uid=uid,
        name=request.command[0].rpartition("/")[2],
        namespace=NAMESPACE,
        app_containers=(container,),
        # Without memory a pod of a kubelet's would get no CPUs of its own.
        qos_class=QosClass.GUARANTEED,
        constraints=UNCONSTRAINED,
    )


def check_devices(request: RunRequest, known: Devices) -> None:
    """Raise ``BadInput`` if the request names a resource of which there are no devices.

    A kubelet admits such a pod without any; a user who asks for a device here wants one.
    """
    findings = Findings()
    for resource in request.devices:
        if resource not in known:
            there = ", ".join(sorted(known)) or "none"
            findings.add("run/no-devices", Location("--device"), resource=resource, known=there)
    findings.raise_errors()


def _amount(text: str, flag: str, findings: Findings) -> Quantity | None:
    try:
        quantity = Quantity.parse(text)
    except QuantityError as error:
        findings.add("run/quantity", Location(flag), value=text, problem=error.go_text)
        return None
    if quantity.sign <= 0:
        findings.add("run/not-positive", Location(flag), value=text)
        return None
    return quantity


def _size(text: str, flag: str, findings: Findings) -> Quantity | None:
    """The amount of memory; a number so small that a unit was forgotten is refused."""
    if plain_numbers.lacks_unit(text):
        findings.add("run/size-without-unit", Location(flag), value=text.strip())
        return None
    return _amount(text, flag, findings)


def _pages(name: str, text: str, findings: Findings) -> Quantity | None:
    """A plain number counts pages; a size is a size."""
    flag = f"--{name}"
    page = resources.page_bytes(name)
    if page is None:
        findings.add("run/page-size", Location("--hugepages"), value=name)
        return None
    if text.isascii() and text.isdigit() and int(text):
        return Quantity.from_bytes(int(text) * page)
    amount = _amount(text, flag, findings)
    if amount is not None and amount.value % page:
        findings.add("run/part-of-a-page", Location(flag), value=text, page=str(name))
        return None
    return amount


def parse_pairs(texts: tuple[str, ...], flag: str) -> Mapping[str, str]:
    """``NAME=AMOUNT`` texts as a mapping. Raises ``BadInput``."""
    findings = Findings()
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, amount = text.partition("=")
        if not (name and equals and amount) or name in pairs:
            findings.add("run/pair", Location(flag), value=text)
        pairs[name] = amount
    if findings.all:
        raise BadInput(findings.all)
    return pairs
