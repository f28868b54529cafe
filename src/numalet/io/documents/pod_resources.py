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

from numalet.core.model import resources
from numalet.core.model.findings import Findings
from numalet.core.model.pod import Resources
from numalet.core.model.quantity import Quantity
from numalet.core.model.quantity_error import QuantityError
from numalet.io.documents import typed
from numalet.io.documents.typed import Place
from numalet.io.findings.pods import (
    PodsHugePagesAlone,
    PodsHugePageSize,
    PodsLimitMissing,
    PodsNegative,
    PodsNotWhole,
    PodsPartOfAHugePage,
    PodsQuantity,
    PodsRequestAboveLimit,
    PodsRequestIsNotLimit,
    PodsUnknownResource,
    RequestBesideLimit,
    ResourceRefused,
)

_STANDARD: Final = (resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE)
_MOST_BITS: Final = 512


class PodSource(Enum):
    """Where a kubelet got a pod from."""

    API = "api"
    """An API server, which prints quantities in canonical form: ``1.5Gi`` becomes ``1536Mi``."""
    FILE = "file"
    """A file of the node (static pod); quantities stay as written."""


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
        return _canonical(text) if source is PodSource.API else _defaulted(text)
    except QuantityError as error:
        shown = typed.described(text)
        findings.add(PodsQuantity(value=shown, cause=error.go_text, where=place.location))
        return None


@lru_cache(maxsize=4096)
def _canonical(text: str) -> Quantity:
    return Quantity.parse(text).canonical()


@lru_cache(maxsize=4096)
def _defaulted(text: str) -> Quantity:
    return Quantity.parse(text).defaulted()


def _is_acceptable(name: str, quantity: Quantity, place: Place, findings: Findings) -> bool:
    problem: type[ResourceRefused] | None = None
    if resources.is_hugepages(name):
        problem = _huge_page_problem(name, quantity)
    elif "/" in name:
        # Extended resources are devices, so only whole ones can be requested.
        problem = PodsNotWhole if quantity.milli_value % 1000 else None
    elif name not in _STANDARD:
        problem = PodsUnknownResource
    if quantity.sign < 0:
        problem = PodsNegative
    if problem is None:
        return True
    near = typed.nearest(name, _STANDARD)
    findings.add(problem(resource=name, value=str(quantity), nearest=near, where=place.location))
    return False


def _huge_page_problem(name: str, quantity: Quantity) -> type[ResourceRefused] | None:
    try:
        page_size = Quantity.parse(name.removeprefix(resources.HUGEPAGES_PREFIX))
    except QuantityError:
        return PodsHugePageSize
    if page_size.sign <= 0 or page_size.milli_value % 1000:
        return PodsHugePageSize
    return PodsPartOfAHugePage if quantity.value % page_size.value else None


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
        is_indivisible = resources.is_hugepages(name) or "/" in name
        # Line numbers need a second parse of the text, so only errors get them.
        if limit is None:
            if is_indivisible:
                where = place.member(name).location
                findings.add(PodsLimitMissing(resource=name, request=str(request), where=where))
            continue
        problem: type[RequestBesideLimit] | None = None
        if request > limit:
            problem = PodsRequestAboveLimit
        elif is_indivisible and request != limit:
            problem = PodsRequestIsNotLimit
        if problem is not None:
            where = place.member(name).location
            findings.add(
                problem(resource=name, request=str(request), limit=str(limit), where=where)
            )


def _check_huge_pages_are_not_alone(
    asked: Mapping[str, Quantity], place: Place, findings: Findings
) -> None:
    pages = [name for name in asked if resources.is_hugepages(name)]
    if pages and resources.CPU not in asked and resources.MEMORY not in asked:
        findings.add(PodsHugePagesAlone(resource=min(pages), where=place.location))
