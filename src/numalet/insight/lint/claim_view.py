"""Claims, the pods that use them, and the offered devices, joined for the rules.

If documents are incomplete (a missing class, missing slices of a pool), the answers err towards
"possible", so that no rule reports a false error.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from numalet.core.model import resources
from numalet.core.model.device_claims import (
    ClaimDocuments,
    ClaimRequest,
    DeviceClass,
    DeviceRequest,
    ResourceClaim,
    ResourceSlice,
    SliceDevice,
)
from numalet.core.model.pod import Container, ContainerClaim, Pod, PodClaim, Resources
from numalet.core.model.quantity import ZERO, Quantity, QuantityFormat
from numalet.core.model.value import Value
from numalet.insight.lint import device_selectors

CPU_DRIVER: Final = "dra.cpu"
_RESOURCE_OF_DRIVER: Final = {
    CPU_DRIVER: resources.CPU,
    "dra.memory": resources.MEMORY,
    "dra.hugepages-2m": "hugepages-2Mi",
    "dra.hugepages-1g": "hugepages-1Gi",
}
"""Drivers whose devices are CPUs or memory, with the matching node resource."""
_CAPACITY_OF_DRIVER: Final = {
    driver: f"{driver}/cpu" if driver == CPU_DRIVER else f"{driver}/size"
    for driver in _RESOURCE_OF_DRIVER
}


class ClaimUse(Value):
    """A container that uses a claim; ``claim`` and ``requests`` are empty if unknown."""

    pod: Pod
    container: Container
    used: ContainerClaim
    named: PodClaim | None
    claim: ResourceClaim | None
    requests: tuple[ClaimRequest, ...]


class ClaimView(Value, dict=True):
    documents: ClaimDocuments
    pods: tuple[Pod, ...]
    node_name: str = ""

    @cached_property
    def slices(self) -> tuple[ResourceSlice, ...]:
        """The slices in force: those of the latest generation of each pool."""
        latest: dict[tuple[str, str], int] = {}
        for each in self.documents.slices:
            pool = each.driver, each.pool
            latest[pool] = max(latest.get(pool, each.generation), each.generation)
        return tuple(
            each
            for each in self.documents.slices
            if latest[each.driver, each.pool] == each.generation
        )

    @cached_property
    def devices(self) -> tuple[SliceDevice, ...]:
        return tuple(device for each in self.slices for device in each.devices)

    @cached_property
    def incomplete_drivers(self) -> frozenset[str]:
        counts: dict[tuple[str, str], int] = {}
        for each in self.slices:
            counts[each.driver, each.pool] = counts.get((each.driver, each.pool), 0) + 1
        return frozenset(
            each.driver for each in self.slices if counts[each.driver, each.pool] < each.slice_count
        )

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Nodes to check: this one if it is known, else all nodes that slices name."""
        named = sorted({each.node for each in self.devices if each.node})
        return (self.node_name,) if self.node_name else tuple(named)

    def devices_of(self, node: str) -> tuple[SliceDevice, ...]:
        return tuple(each for each in self.devices if each.may_be_on(node))

    @cached_property
    def local_devices(self) -> tuple[SliceDevice, ...]:
        """The devices of this node alone; empty if the node is unknown."""
        if len(self.nodes) != 1:
            return ()
        return tuple(each for each in self.devices if each.node == self.nodes[0])

    @cached_property
    def _classes(self) -> dict[str, DeviceClass]:
        return {each.name: each for each in self.documents.classes}

    @cached_property
    def _claims(self) -> dict[tuple[bool, str, str], ResourceClaim]:
        return {(c.is_template, c.namespace, c.name): c for c in self.documents.claims}

    @cached_property
    def uses(self) -> tuple[ClaimUse, ...]:
        """Every use of a claim by a container of the pods, in their order."""
        return tuple(
            self._use(pod, container, used)
            for pod in self.pods
            for container in pod.containers()
            for used in container.claims
        )

    @cached_property
    def _uses_by_pod(self) -> dict[str, list[ClaimUse]]:
        by_pod: dict[str, list[ClaimUse]] = {}
        for use in self.uses:
            by_pod.setdefault(use.pod.uid, []).append(use)
        return by_pod

    def uses_of(self, pod: Pod) -> list[ClaimUse]:
        return self._uses_by_pod.get(pod.uid, [])

    @cached_property
    def alike(self) -> tuple[list[Pod], ...]:
        """Pods with claims, in groups with equal claims and requests."""
        groups: dict[str, list[Pod]] = {}
        for pod in self.pods:
            if pod.claims:
                parts = [
                    (each.name, each.claims, *_amounts(each.requests, each.limits))
                    for each in pod.containers()
                ]
                whole = pod.pod_level
                amounts = None if whole is None else _amounts(whole.requests, whole.limits)
                key = repr((pod.namespace, pod.claims, parts, amounts))
                groups.setdefault(key, []).append(pod)
        return tuple(groups.values())

    def _use(self, pod: Pod, container: Container, used: ContainerClaim) -> ClaimUse:
        named = next((each for each in pod.claims if each.name == used.name), None)
        claim = None if named is None else self.claim_of(pod, named)
        wanted = used.request.partition("/")[0]
        requests = () if claim is None else claim.requests
        chosen = tuple(each for each in requests if wanted in ("", each.name))
        return ClaimUse(pod, container, used, named, claim, chosen)

    def claim_of(self, pod: Pod, named: PodClaim) -> ResourceClaim | None:
        """Return the claim or claim template that a pod names, if the input contains it."""
        claim = self._claims.get((False, pod.namespace, named.claim)) if named.claim else None
        return claim or self._claims.get((True, pod.namespace, named.template))

    def candidates(self, asked: DeviceRequest, node: str = "") -> tuple[SliceDevice, ...]:
        """Return the devices of a node, or of all, that the selectors of a request may accept."""
        # Cached, because hundreds of pods make the same request.
        key = asked.device_class, asked.selectors, node
        kept = self._candidates.get(key)
        if kept is None:
            devices = self.devices_of(node) if node else self.devices
            kept = self._candidates[key] = self._accepted(asked, devices)
        return kept

    @cached_property
    def _candidates(self) -> dict[tuple[str, tuple[str, ...], str], tuple[SliceDevice, ...]]:
        return {}

    def _accepted(
        self, asked: DeviceRequest, devices: tuple[SliceDevice, ...]
    ) -> tuple[SliceDevice, ...]:
        selectors = asked.selectors
        of_class = self._classes.get(asked.device_class)
        if of_class is not None:
            selectors += of_class.selectors
        elif asked.device_class in self._drivers:
            # The class is missing: drivers name the class of all their devices after themselves.
            devices = tuple(each for each in devices if each.driver == asked.device_class)
        return tuple(
            device
            for device in devices
            if all(device_selectors.accepts(each, device) for each in selectors)
        )

    @cached_property
    def _drivers(self) -> frozenset[str]:
        return frozenset(each.driver for each in self.devices)

    @cached_property
    def _resources(self) -> dict[tuple[str, tuple[str, ...]], str]:
        return {}

    @cached_property
    def _whole_devices(self) -> dict[tuple[str, tuple[str, ...]], list[Quantity]]:
        return {}

    def is_decided(self, asked: DeviceRequest) -> bool:
        """Return whether the input has all devices that could match the request."""
        of_class = self._classes.get(asked.device_class)
        if of_class is None:
            drivers = {asked.device_class} & self._drivers
        else:
            drivers = _named_drivers(of_class.selectors) or {*self._drivers}
        return bool(drivers) and not drivers & self.incomplete_drivers

    def resource_of(self, asked: DeviceRequest) -> str:
        """Return the node resource, such as cpu, of the requested devices; empty for others."""
        key = asked.device_class, asked.selectors
        if key not in self._resources:
            of_class = self._classes.get(asked.device_class)
            named = _named_drivers(() if of_class is None else of_class.selectors)
            drivers = {each.driver for each in self.candidates(asked)} or (
                {asked.device_class} if of_class is None else named
            )
            known = {_RESOURCE_OF_DRIVER.get(each, "") for each in drivers}
            self._resources[key] = known.pop() if len(known) == 1 else ""
        return self._resources[key]

    def amount_of(self, request: ClaimRequest, resource: str) -> Quantity | None:
        """Return the requested amount of a node resource, if the input determines it."""
        amounts = [self._asked(each, resource) for each in request.alternatives]
        first = amounts[0] if amounts else ZERO
        # Any of the alternatives may be allocated, so they must agree.
        return first if all(each == first for each in amounts) else None

    def _asked(self, asked: DeviceRequest, resource: str) -> Quantity | None:
        if self.resource_of(asked) != resource:
            return ZERO
        if asked.count is None:
            return None
        names = {
            name
            for driver, capacity in _CAPACITY_OF_DRIVER.items()
            if _RESOURCE_OF_DRIVER[driver] == resource
            for name in (capacity, capacity.partition("/")[2])
        }
        amounts = [amount for name, amount in asked.capacity.items() if name in names]
        if not amounts:
            # Without an amount, a request takes the whole device: its capacity, or the one CPU of
            # the device.
            key = asked.device_class, asked.selectors
            if key not in self._whole_devices:
                whole = {capacity_of_device(each) for each in self.candidates(asked)}
                self._whole_devices[key] = sorted(whole)
            amounts = self._whole_devices[key]
        return None if len(amounts) != 1 else _times(amounts[0], asked.count)


def resource_of_device(device: SliceDevice) -> str:
    """Return the node resource that a device is a part of; empty for a device of another kind."""
    return _RESOURCE_OF_DRIVER.get(device.driver, "")


def capacity_of_device(device: SliceDevice) -> Quantity:
    name = _CAPACITY_OF_DRIVER.get(device.driver, "")
    single = Quantity.from_int(1) if device.driver == CPU_DRIVER else ZERO
    return device.capacity.get(name, single)


def _amounts(requests: Resources, limits: Resources) -> tuple[object, ...]:
    return sorted(requests.items()), sorted(limits.items())


def _times(amount: Quantity, count: int) -> Quantity:
    if amount.milli_value % 1000:
        return Quantity.from_milli(amount.milli_value * count)
    if amount.format is QuantityFormat.BINARY_SI:
        return Quantity.from_bytes(amount.value * count)
    return Quantity.from_int(amount.value * count)


def _named_drivers(selectors: tuple[str, ...]) -> set[str]:
    return {
        str(term.value.value)
        for selector in selectors
        for term in device_selectors.terms(selector)
        if term.attribute == device_selectors.DRIVER
    }
