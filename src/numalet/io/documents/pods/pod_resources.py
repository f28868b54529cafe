"""Reads requests and limits of a container with the API server's defaults and checks.

The kubelet only sees pods that the API server has accepted. A limit without a request becomes the
request; quantities are rounded up to thousandths and printed in canonical form. Kubernetes v1.32:
``SetDefaults_Pod``, ``SetDefaults_ResourceList``, ``ValidateContainerResourceRequirements``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from numalet.core.model import input_error, resources
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.go_text import QuantityError
from numalet.core.model.pod import Resources
from numalet.core.model.quantity import Quantity
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

_STANDARD: Final = (resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE)
_MOST_BITS: Final = 512


class PodSource(Enum):
    """Where a kubelet got a pod from."""

    API = "api"
    """An API server, which prints quantities in canonical form: ``1.5Gi`` becomes ``1536Mi``."""
    FILE = "file"
    """A file of the node (static pod); quantities stay as written."""
    RECORDING = "recording"
    """A recorded decision: like from an API server, but requests may be above their limits."""


class Demand(NamedTuple):
    """Requests and limits of one container after defaulting."""

    requests: Resources
    limits: Resources


def decode_resources(
    value: Mapping[str, Any],
    place: Place,
    findings: Findings,
    source: PodSource = PodSource.API,
) -> Demand:
    limits = decode_list(value.get("limits"), place.member("limits"), findings, source)
    requests = decode_list(value.get("requests"), place.member("requests"), findings, source)
    if source is not PodSource.RECORDING:
        check_requests(requests, limits, place.member("requests"), findings)
    _check_huge_pages_are_not_alone({**limits, **requests}, place, findings)
    return Demand(dict(sorted({**limits, **requests}.items())), limits)


def decode_list(
    value: object,
    place: Place,
    findings: Findings,
    source: PodSource = PodSource.API,
) -> dict[str, Quantity]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        typed.wrong_type(value, "an object", place, findings)
        return {}
    quantities: dict[str, Quantity] = {}
    for name, text in value.items():
        if not isinstance(name, str):
            typed.wrong_type(name, "the name of a member, a text,", place, findings)
            continue
        at = place.member(name)
        quantity = decode_quantity(text, at, findings, source)
        if quantity is not None and _is_acceptable(name, quantity, at, findings):
            quantities[name] = quantity
    return dict(sorted(quantities.items()))


def decode_quantity(
    value: object,
    place: Place,
    findings: Findings,
    source: PodSource = PodSource.API,
) -> Quantity | None:
    """After the API server's rounding."""
    match value:
        case bool():
            text = None
        case str():
            text = value
        # Kubernetes accepts a bare number as a quantity, too.
        case int() if value.bit_length() <= _MOST_BITS:
            text = str(value)
        case float():
            text = repr(value)
        case _:
            text = None
    if text is None:
        typed.wrong_type(value, "a quantity such as 500m or 4Gi", place, findings)
        return None
    try:
        return _defaulted(text) if source is PodSource.FILE else _canonical(text)
    except QuantityError as error:
        shown = typed.described(text)
        findings.add(
            input_error.Invalid(
                f"invalid quantity {shown}: {error.go_text}",
                expected="a quantity such as 500m, 4Gi or 100M",
                where=place.location,
            )
        )
        return None


@lru_cache(maxsize=4096)
def _canonical(text: str) -> Quantity:
    return Quantity.parse(text).canonical()


@lru_cache(maxsize=4096)
def _defaulted(text: str) -> Quantity:
    return Quantity.parse(text).defaulted()


def _is_acceptable(name: str, quantity: Quantity, place: Place, findings: Findings) -> bool:
    problem = _problem(name, quantity)
    if problem is None:
        return True
    findings.add(problem.at(place.location))
    return False


def _problem(name: str, quantity: Quantity) -> Finding | None:
    if quantity.sign < 0:
        return input_error.Invalid(f"{quantity} of {name!r} is negative", expected="0 or more")
    if resources.is_hugepages(name):
        return _huge_page_problem(name, quantity)
    # Extended resources are devices, so only whole ones can be requested.
    if resources.is_device(name) and quantity.milli_value % 1000:
        return input_error.Invalid(
            f"{quantity} of {name!r} is not a whole number", expected="a whole number of devices"
        )
    if not resources.is_device(name) and name not in _STANDARD:
        return input_error.NotSupported(
            f"unknown resource {name!r}",
            expected=(
                f"{typed.nearest(name, _STANDARD)}, hugepages-<size>, or a name with a domain such "
                "as example.com/gpu"
            ),
        )
    return None


def _huge_page_problem(name: str, quantity: Quantity) -> Finding | None:
    try:
        page_size = Quantity.parse(name.removeprefix(resources.HUGEPAGES_PREFIX))
    except QuantityError:
        page_size = Quantity()
    if page_size.sign <= 0 or page_size.milli_value % 1000:
        return input_error.Invalid(
            f"invalid page size in {name!r}", expected="hugepages-2Mi or hugepages-1Gi, for example"
        )
    if quantity.value % page_size.value:
        return input_error.Invalid(
            f"{quantity} of {name!r} is not a whole number of pages",
            expected="a multiple of the page size",
        )
    return None


def check_requests(
    requests: Mapping[str, Quantity],
    limits: Mapping[str, Quantity],
    place: Place,
    findings: Findings,
) -> None:
    """Findings for requests above the limit, and for limits that must equal their request."""
    for name, request in requests.items():
        limit = limits.get(name)
        # Huge pages and devices cannot be overcommitted.
        is_indivisible = resources.is_hugepages(name) or resources.is_device(name)
        # Line numbers need a second parse of the text, so only errors get them.
        if limit is None:
            if is_indivisible:
                where = place.member(name).location
                findings.add(
                    input_error.Required(
                        f"{request} of {name!r} are requested without a limit",
                        expected="an equal limit",
                        where=where,
                    )
                )
            continue
        expected = ""
        if request > limit:
            expected = "a request up to the limit"
        elif is_indivisible and request != limit:
            expected = "an equal request and limit of this resource"
        if expected:
            findings.add(
                input_error.Invalid(
                    f"{name!r} has a request of {request} and a limit of {limit}",
                    expected=expected,
                    where=place.member(name).location,
                )
            )


def _check_huge_pages_are_not_alone(
    asked: Mapping[str, Quantity], place: Place, findings: Findings
) -> None:
    pages = [name for name in asked if resources.is_hugepages(name)]
    if pages and resources.CPU not in asked and resources.MEMORY not in asked:
        findings.add(
            input_error.Required(
                f"{min(pages)!r} is requested without cpu and without memory",
                expected="a request of cpu or memory as well",
                where=place.location,
            )
        )
