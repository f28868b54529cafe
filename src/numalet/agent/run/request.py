"""The user's request: the options of ``numalet run``, and the pod that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from numalet.agent.controller.run_holders import CONTAINER
from numalet.agent.run import direct
from numalet.agent.run.direct import NAMESPACE
from numalet.core.model import input_error, resources
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.go_text import QuantityError
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value, field
from numalet.core.node.node import Devices
from numalet.insight.explain.cases import Case
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output.run_document import RunDocument
from numalet.io import kubelets

SEARCH_SECONDS: Final = 2
"""How long to search for a change that would admit a refused command."""


def _none() -> Mapping[str, str]:
    return MappingProxyType({})


class RunRequest(Value, kw_only=True):
    """Amounts as texts. ``hugepages``: pages or size by page size; ``devices``: count by resource.

    Without ``memory``, no size is reserved.
    """

    command: tuple[str, ...]
    cpus: str
    memory: str | None
    hugepages: Mapping[str, str] = field(default_factory=_none)
    devices: Mapping[str, str] = field(default_factory=_none)


def pod(request: RunRequest, uid: str) -> Pod:
    """Build a Guaranteed pod with one container. Raises ``BadInput``."""
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
        # The kubelet would compute Burstable without memory, and give no exclusive CPUs.
        qos_class=QosClass.GUARANTEED,
        constraints=UNCONSTRAINED,
    )


def check_devices(request: RunRequest, known: Devices) -> None:
    """Raise ``BadInput`` if the request names an unknown device resource.

    A kubelet admits such a pod without devices, which is not useful here.
    """
    findings = Findings()
    for resource in request.devices:
        if resource not in known:
            there = ", ".join(sorted(known)) or "none"
            findings.add(
                input_error.NotFound(
                    f"there are no devices {resource!r}, only {there}; name a device file with "
                    "--devices",
                    where=Location("--device"),
                )
            )
    findings.raise_errors()


def _amount(text: str, flag: str, findings: Findings) -> Quantity | None:
    try:
        quantity = Quantity.parse(text)
    except QuantityError as error:
        problem = f"invalid quantity {text!r}: {error.go_text}"
        findings.add(input_error.Invalid(problem, where=Location(flag)))
        return None
    if quantity.sign <= 0:
        problem = f"{text!r} is not greater than 0"
        findings.add(input_error.Invalid(problem, where=Location(flag)))
        return None
    return quantity


def _size(text: str, flag: str, findings: Findings) -> Quantity | None:
    """Parse a size; refuse a number so small that its unit is probably missing."""
    if resources.lacks_unit(text):
        number = text.strip()
        findings.add(
            input_error.Invalid(
                f"{number} without a unit is {number} bytes; write the unit, such as {number}Gi or "
                f"{number}Mi",
                where=Location(flag),
            )
        )
        return None
    return _amount(text, flag, findings)


def _pages(name: str, text: str, findings: Findings) -> Quantity | None:
    """A plain number is a number of pages, anything else a size."""
    flag = f"--{name}"
    page = resources.page_bytes(name)
    if page is None:
        findings.add(
            input_error.Invalid(
                f"invalid huge page size {name!r}",
                expected="hugepages-2Mi or hugepages-1Gi",
                where=Location("--hugepages"),
            )
        )
        return None
    if text.isascii() and text.isdigit() and int(text):
        return Quantity.from_bytes(int(text) * page)
    amount = _amount(text, flag, findings)
    if amount is not None and amount.value % page:
        findings.add(
            input_error.Invalid(
                f"{text!r} is not a multiple of the page size of {name}; a plain number counts "
                "pages",
                where=Location(flag),
            )
        )
        return None
    return amount


def manifest(pod: Pod, command: tuple[str, ...]) -> Mapping[str, Any]:
    (container,) = pod.containers()
    amounts = {name: str(amount) for name, amount in container.requests.items()}
    return direct.manifest(pod.name, pod.uid, amounts, command)


def parse_pairs(texts: tuple[str, ...], flag: str) -> Mapping[str, str]:
    """Parse ``NAME=AMOUNT`` texts. Raises ``BadInput``."""
    findings = Findings()
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, amount = text.partition("=")
        if not (name and equals and amount):
            findings.add(
                input_error.Invalid(
                    f"invalid value {text!r}", expected="NAME=AMOUNT", where=Location(flag)
                )
            )
        elif name in pairs:
            problem = f"{name!r} has two amounts, {pairs[name]!r} and {amount!r}"
            findings.add(input_error.Duplicate(problem, where=Location(flag)))
        pairs[name] = amount
    if findings.all:
        raise BadInput(findings.all)
    return pairs


class RunOptions(Value, kw_only=True):
    """Without ``wait_seconds``, the command does not wait.

    ``env`` names groups of variables (``requested_environment``). ``per_rank`` and ``any_cpu``
    choose the CPUs that the command may get (``inherited_cpus``).
    """

    request: RunRequest
    root: Path | None = None
    config_file: Path | None = None
    policy: str | None = None
    release: str | None = None
    devices_file: str | None = None
    wait_seconds: float | None = None
    dry_run: bool = False
    env: tuple[str, ...] = ()
    per_rank: bool = False
    any_cpu: bool = False
    kubelet_root: Path = kubelets.ROOT


class Voice(Value):
    """Output to the user.

    ``explained`` explains a refusal, given the number of other commands; ``explain`` prints it,
    given the decider. ``show`` prints the document of a dry run, if requested.
    """

    report: Callable[[Finding], None]
    explained: Callable[[Case, int], Explanation]
    explain: Callable[[Explanation, str], None]
    show: Callable[[RunDocument], None] | None = None
