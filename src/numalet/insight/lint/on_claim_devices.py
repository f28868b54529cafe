"""Rules about offered devices: their NUMA nodes, and claims that they cannot satisfy.

For an unsatisfiable claim the scheduler only reports that it cannot allocate it. These rules report
facts that are certain from the given slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numalet.core.config import node_allocatable
from numalet.core.config.rules import NodeRules
from numalet.core.model import cpu_set, resources
from numalet.core.model.device_claims import (
    AttributeValue,
    ClaimConstraint,
    ClaimRequest,
    DeviceRequest,
    ResourceClaim,
    SliceDevice,
)
from numalet.core.model.findings import Finding, Location
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.model.value import Value
from numalet.insight.lint import claim_view
from numalet.insight.lint.claim_view import CPU_DRIVER, ClaimView
from numalet.insight.lint.lint_finding import LintFinding, LintNote, LintWarning, some_of
from numalet.insight.lint.subject import LintSubject


class DeviceNumaNodeFinding(LintWarning):
    """Devices whose attribute names a NUMA node without nearby CPUs."""

    driver: str
    devices: str
    attribute: str
    numa_node: int
    near: str


class LintDeviceOnCpulessNode(DeviceNumaNodeFinding):
    sentence = "{attribute} of {driver} {devices} is {numa_node}, a NUMA node without CPUs"
    why = (
        "The memory of some accelerators is a separate NUMA node, and their drivers name that "
        "one. Devices for CPUs never have it, so a claim that wants both on one node is never met."
    )
    fix = "match another attribute, resource.kubernetes.io/pcieRoot for example; {near}"


class LintDeviceOnAbsentNode(DeviceNumaNodeFinding):
    sentence = (
        "{attribute} of {driver} {devices} is {numa_node}, which is not a NUMA node of this machine"
    )
    why = (
        "The kernel says -1 where the firmware does not know the node of a device. Other numbers "
        "mean that the slice is of another machine. Nothing can be aligned with such a node."
    )
    fix = "do not match by this attribute, or fix the NUMA node in the firmware; {near}"


class LintClaimWithoutDevices(LintWarning):
    sentence = "{claim}, request {request}: no device on {node} is of class {device_class}"
    why = "A claim is allocated on a node that has devices for all its requests, or stays pending."
    fix = "check the class and the selectors, or where the driver runs"
    claim: str
    request: str
    device_class: str
    node: str


class LintClaimTooLarge(LintFinding):
    sentence = "{claim}, request {request} asks for {asked}; {node} has {most} at most"
    why = (
        "An amount of capacity is an amount of one device: one request never spreads over several "
        "groups of CPUs or several NUMA nodes."
    )
    fix = "ask for less, or write one request for each NUMA node"
    claim: str
    request: str
    asked: str
    most: str
    node: str


class LintClaimNeverAligned(LintFinding):
    sentence = (
        "{claim} wants the same {attribute} of all its devices, and on {node} they have nothing "
        "in common: {values}"
    )
    why = (
        "matchAttribute is a condition, not a preference: without devices that share a value the "
        "claim is not allocated, and its pods stay pending."
    )
    fix = "match an attribute that the devices share, or drop the constraint"
    claim: str
    attribute: str
    values: str
    node: str


class LintDraCpusDifferFromAllocatable(LintWarning):
    sentence = (
        "{driver} offers {offered} CPUs of this node, and {allocatable} are allocatable to pods"
    )
    why = (
        "The driver has a separate setting for reserved CPUs. If it reserves less than the "
        "kubelet, pods get CPUs of the system; if more, the scheduler assigns CPUs to "
        "pods that no claim can get."
    )
    fix = "reserve the same CPUs in the driver and in the kubelet"
    driver: str
    offered: str
    allocatable: str


class LintExtendedResourceServedTwice(LintWarning):
    sentence = "{device_class} stands for {resource}, which a device plugin offers here, too"
    why = (
        "Requests for the resource become claims on some nodes and go to the device plugin on "
        "others. On a node with both, the plugin also offers devices that a claim holds."
    )
    fix = "run one of the two on a node"
    device_class: str
    resource: str


class LintSlicesOfSeveralNodes(LintNote):
    sentence = "the devices of slices are on the nodes {nodes}; not known is which of them this is"
    why = "Devices are compared with the NUMA nodes of one machine."
    fix = "name the node with --node-name"
    nodes: str


_NUMA_NAMES: Final = frozenset({"numa", "numaid", "numanode", "numanodeid"})


def slices_of_several_nodes(subject: LintSubject) -> Iterator[Finding]:
    nodes = subject.claim_view.nodes
    if len(nodes) > 1:
        yield LintSlicesOfSeveralNodes(nodes=some_of(nodes))


def devices_without_cpus_near(subject: LintSubject) -> Iterator[Finding]:
    has_cpus = {node.node_id: bool(node.cores) for node in subject.machine.nodes}
    groups: dict[tuple[str, str, int], list[SliceDevice]] = {}
    for device in subject.claim_view.local_devices:
        # Devices that are CPUs or memory of a NUMA node may be on any of them.
        if claim_view.resource_of_device(device):
            continue
        for name, number in _numa_nodes(device):
            # True for a node without CPUs and for a number that is not a node.
            if not has_cpus.get(number):
                groups.setdefault((device.driver, name, number), []).append(device)
    for (driver, name, number), devices in groups.items():
        finding = LintDeviceOnCpulessNode if number in has_cpus else LintDeviceOnAbsentNode
        yield finding(
            driver=driver,
            devices=some_of([each.name for each in devices]),
            attribute=name,
            numa_node=number,
            near=_near(subject, number),
            where=_place(subject, devices[0], f".attributes.{name}"),
        )


def _numa_nodes(device: SliceDevice) -> Iterator[tuple[str, int]]:
    for name, values in device.attributes.items():
        if _is_numa(name):
            for value in sorted(values):
                if value.type == "int":
                    yield name, int(value.value)


def _is_numa(attribute: str) -> bool:
    last = attribute.rpartition("/")[2]
    return last.lower().replace("_", "") in _NUMA_NAMES


def _near(subject: LintSubject, number: int) -> str:
    nodes = {node.node_id: node for node in subject.machine.nodes}
    with_cpus = sorted(each for each, node in nodes.items() if node.cores)
    distances = nodes[number].distances if number in nodes else None
    # A distance row is indexed by node id here; with gaps in the ids it is too short.
    if distances is None or any(each >= len(distances) for each in with_cpus) or not with_cpus:
        return f"the nodes with CPUs are {cpu_set.text(with_cpus)}"
    least = min(distances[each] for each in with_cpus)
    nearest = [each for each in with_cpus if distances[each] == least]
    return f"the nearest CPUs are on node {cpu_set.text(nearest)}"


def _place(subject: LintSubject, device: SliceDevice, path: str) -> Location:
    slices = subject.claims.slices
    of_device = next(each for each in slices if any(device is other for other in each.devices))
    return of_device.at(device.path + path)


def never_allocated(subject: LintSubject) -> Iterator[Finding]:
    view = subject.claim_view
    if not view.devices:
        return
    possible: set[str] = set()
    for claim in _asked_about(view):
        key = repr((claim.requests, claim.constraints))
        if key in possible:
            continue
        findings = [_Asking(view, claim, node).problem() for node in view.nodes]
        first = findings[0] if findings else None
        if first is not None and all(findings):
            yield first
        else:
            possible.add(key)


def _asked_about(view: ClaimView) -> Iterator[ResourceClaim]:
    """Yield claims of the pods, and those written by users, without allocated devices."""
    used = {id(view.claim_of(pod, named)) for pod in view.pods for named in pod.claims}
    for claim in view.documents.claims:
        if not claim.is_allocated and (id(claim) in used or not claim.is_from_server):
            yield claim


class _Asking(Value):
    view: ClaimView
    claim: ResourceClaim
    node: str

    def problem(self) -> Finding | None:
        """Return why the claim cannot be allocated on the node, if so."""
        # Every alternative of a request has to fail.
        for request in self.claim.requests:
            ways = [self._lacking(request, asked) for asked in request.alternatives]
            if ways and all(ways):
                return ways[0]
        problems = map(self._apart, self.claim.constraints)
        return next((each for each in problems if each is not None), None)

    def _lacking(self, request: ClaimRequest, asked: DeviceRequest) -> Finding | None:
        """Return what one alternative of a request lacks on the node."""
        if not self.view.is_decided(asked):
            return None
        devices = self.view.candidates(asked, self.node)
        where = self.claim.at(request.path)
        name = f"{request.name}/{asked.name}" if asked.name else request.name
        if not devices:
            return LintClaimWithoutDevices(
                claim=str(self.claim),
                request=name,
                device_class=asked.device_class,
                node=f"node {self.node}",
                where=where,
            )
        lacking = _lacking_capacity(asked, devices) or _lacking_count(asked, devices)
        if lacking is None:
            return None
        wanted, most = lacking
        return LintClaimTooLarge(
            claim=str(self.claim),
            request=name,
            asked=wanted,
            most=most,
            node=f"node {self.node}",
            where=where,
        )

    def _apart(self, constraint: ClaimConstraint) -> Finding | None:
        """Return a finding if devices of different requests share no value of the attribute."""
        values = {
            request.name: self._values(request, constraint.attribute)
            for request in self.claim.requests
            if constraint.covers(request.name)
        }
        known = {name: each for name, each in values.items() if each is not None}
        # A request with unknown values cannot prove anything.
        if not known or frozenset.intersection(*known.values()):
            return None
        shown = "; ".join(f"{name} {_values_text(each)}" for name, each in known.items())
        return LintClaimNeverAligned(
            claim=str(self.claim),
            attribute=constraint.attribute,
            values=shown,
            node=f"node {self.node}",
            where=self.claim.at(constraint.path),
        )

    def _values(self, request: ClaimRequest, attribute: str) -> frozenset[AttributeValue] | None:
        """Return the values that devices of the request can share, if known."""
        possible: set[AttributeValue] = set()
        for asked in request.alternatives:
            if not self.view.is_decided(asked):
                return None
            devices = self.view.candidates(asked, self.node)
            suited = [each for each in devices if _has(each, asked)]
            counts: dict[AttributeValue, list[SliceDevice]] = {}
            for device in suited:
                for value in device.attributes.get(attribute, frozenset()):
                    counts.setdefault(value, []).append(device)
            # All devices of the request need the value, so a value of too few devices does not
            # help.
            possible |= {value for value, of in counts.items() if _is_enough(asked, of)}
        return frozenset(possible)


def _has(device: SliceDevice, asked: DeviceRequest) -> bool:
    return all(
        device.capacity.get(_complete(name, device), ZERO) >= amount
        for name, amount in asked.capacity.items()
    )


def _complete(name: str, device: SliceDevice) -> str:
    return name if "/" in name else f"{device.driver}/{name}"


def _is_enough(asked: DeviceRequest, devices: list[SliceDevice]) -> bool:
    # A shared device may satisfy a request several times.
    return len(devices) >= (asked.count or 1) or any(each.is_shared for each in devices)


def _lacking_capacity(
    asked: DeviceRequest, devices: tuple[SliceDevice, ...]
) -> tuple[str, str] | None:
    """Return an amount that no device has, and the largest available one."""
    if any(_has(each, asked) for each in devices):
        return None
    for name, amount in asked.capacity.items():
        most = max(each.capacity.get(_complete(name, each), ZERO) for each in devices)
        if most < amount:
            return f"{amount} of {name}", f"{most} in one device"
    return None


def _lacking_count(
    asked: DeviceRequest, devices: tuple[SliceDevice, ...]
) -> tuple[str, str] | None:
    suited = [each for each in devices if _has(each, asked)]
    if not suited or _is_enough(asked, suited):
        return None
    return f"{asked.count} devices", f"{len(suited)}"


def _values_text(values: frozenset[AttributeValue]) -> str:
    if not values:
        return "has none"
    return "has " + some_of([str(each.value) for each in sorted(values, key=repr)])


def cpus_of_drivers(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    view = subject.claim_view
    devices = [each for each in view.local_devices if each.driver == CPU_DRIVER]
    # With a missing slice the sum would be too small.
    if not devices or CPU_DRIVER in view.incomplete_drivers:
        return
    offered = sum((claim_view.capacity_of_device(each) for each in devices), start=ZERO)
    kept = rules.reservation.get(resources.CPU, ZERO)
    allocatable = node_allocatable.capacity(rules.machine)[resources.CPU] - kept
    # A driver reserves whole CPUs, so it may offer less by a part of one.
    least = Quantity.from_int(allocatable.milli_value // 1000)
    if not least <= offered <= allocatable:
        yield LintDraCpusDifferFromAllocatable(
            driver=CPU_DRIVER,
            offered=str(offered),
            allocatable=str(allocatable),
            where=_place(subject, devices[0], ""),
        )


def served_twice(subject: LintSubject) -> Iterator[Finding]:
    for each in subject.claims.classes:
        if each.extended_resource in subject.devices:
            yield LintExtendedResourceServedTwice(
                device_class=str(each),
                resource=each.extended_resource,
                where=each.at(".spec.extendedResourceName"),
            )
