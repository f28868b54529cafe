"""``spec.resources`` of a pod, and the allocated resources and QoS class in its status.

Resources are read for every release; the release and its feature gates decide later whether they
apply. As for containers, the rules of the API server apply: an absent request is the sum of the
containers' requests if there are any, or else the limit. Huge pages of containers become requests
of the pod. Kubernetes v1.34: ``SetDefaults_Pod``, ``validatePodResources``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from numalet.core.model import input_error, pod_demand, resources
from numalet.core.model.findings import Findings
from numalet.core.model.pod import (
    NO_RESOURCES,
    Container,
    PodLevelResources,
    QosClass,
    Resources,
    StatusResources,
)
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import replace
from numalet.io.documents.pods import pod_resources
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place


class PodLevelContext(NamedTuple):
    """The rest of the pod as far as it matters here; ``given`` is the QoS class in its status."""

    init_containers: tuple[Container, ...]
    app_containers: tuple[Container, ...]
    given: QosClass | None
    source: PodSource = PodSource.API


def given_qos_class(given: str | None, place: Place, findings: Findings) -> QosClass | None:
    """Return the class in the status of the pod at ``place``.

    The kubelet uses it, whatever the containers request.
    """
    if not given:
        return None
    try:
        return QosClass(given)
    except ValueError:
        findings.add(
            input_error.NotSupported(
                f"unknown QoS class {given!r}",
                expected="Guaranteed, Burstable or BestEffort",
                where=place.member("status").member("qosClass").location,
            )
        )
        return None


def decode_pod_level(
    value: Mapping[str, Any] | None, context: PodLevelContext, place: Place, findings: Findings
) -> PodLevelResources | None:
    if value is None:
        return None
    limits = pod_resources.decode_list(
        value.get("limits"), place.member("limits"), findings, context.source
    )
    requests = pod_resources.decode_list(
        value.get("requests"), place.member("requests"), findings, context.source
    )
    for member, asked in (("limits", limits), ("requests", requests)):
        for name in [each for each in asked if not resources.is_pod_level(each)]:
            where = place.member(member).member(name).location
            amount = str(asked.pop(name))
            findings.add(
                input_error.NotSupported(
                    f"the pod as a whole requests {amount} of {name!r}",
                    expected=(
                        "cpu, memory or hugepages-<size>; request other resources in a container"
                    ),
                    where=where,
                )
            )
    if not limits and not requests:
        return None
    written = (dict(requests), dict(limits)) if context.source is PodSource.FILE else None
    _fill_in(requests, limits, context)
    # The API server also limits huge pages next to cpu or memory of containers; that is not checked
    # here.
    pod_resources.check_requests(requests, limits, place.member("requests"), findings)
    filled = pod_demand.of_pod_level(
        dict(sorted(requests.items())), dict(sorted(limits.items())), context.given
    )
    return filled if written is None else replace(filled, written=written)


def is_empty(resources: object) -> bool:
    """Return whether ``spec.resources`` is there and requests nothing."""
    if not isinstance(resources, Mapping):
        return False
    return not resources.get("limits") and not resources.get("requests")


def of_spec(spec: object, context: PodLevelContext) -> PodLevelResources | None:
    """``decode_pod_level`` for a spec that has been validated before."""
    value = spec.get("resources") if isinstance(spec, Mapping) else None
    given = value if isinstance(value, Mapping) else None
    return decode_pod_level(given, context, Place(""), Findings())


def _fill_in(
    requests: dict[str, Quantity], limits: dict[str, Quantity], context: PodLevelContext
) -> None:
    asked = _sums(context, lambda container: container.requests)
    for name, amount in asked.items():
        if resources.is_hugepages(name):
            limits.setdefault(name, amount)
            requests.setdefault(name, limits[name])
        elif limits and resources.is_pod_level(name):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        requests.setdefault(name, amount)


def _sums(context: PodLevelContext, asked: Callable[[Container], Resources]) -> Resources:
    return pod_demand.peak_demand(context.init_containers, context.app_containers, asked)


def decode_allocated(
    containers: Iterable[object] | None,
    init_containers: Iterable[object] | None,
    place: Place,
    findings: Findings,
) -> StatusResources | None:
    of_containers = _entries(containers, place.member("containerStatuses"), findings)
    of_init = _entries(init_containers, place.member("initContainerStatuses"), findings)
    if not of_containers and not of_init:
        return None
    return StatusResources(
        of_containers, of_init, _running((*(init_containers or ()), *(containers or ())))
    )


def _running(statuses: Iterable[object]) -> dict[str, bool]:
    return {
        each["name"]: each["state"].get("running") is not None
        for each in statuses
        if isinstance(each, Mapping)
        and isinstance(each.get("name"), str)
        and isinstance(each.get("state"), Mapping)
    }


def _entries(
    statuses: Iterable[object] | None, place: Place, findings: Findings
) -> dict[str, Resources]:
    """Allocated resources by container name; the first entry of a name wins."""
    entries: dict[str, Resources] = {}
    for index, status in enumerate(statuses or ()):
        at = place.item(index)
        if not isinstance(status, Mapping):
            typed.wrong_type(status, "an object", at, findings)
            continue
        name = status.get("name")
        if not isinstance(name, str) or name in entries:
            continue
        allocated = status.get("allocatedResources")
        entries[name] = (
            pod_resources.decode_list(allocated, at.member("allocatedResources"), findings)
            if allocated
            else NO_RESOURCES
        )
    return entries
