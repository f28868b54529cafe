"""Complaints about types in a KubeletConfiguration, as Go's encoding/json words them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from numalet.core.model.findings import BadInput
from numalet.io.documents.kubelet import kubelet_config, kubelet_types
from numalet.io.documents.kubelet.kubelet_types import (
    CONFIGURATION,
    Anything,
    GoType,
    Listed,
    Mapped,
    Scalar,
    Struct,
)

VALUES: tuple[Any, ...] = ("x", "", 7, -1, 2**31, 2**63, 1.5, True, [], ["x"], [[]], {}, {"x": 1})


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"maxPods": "many"}, "string into Go struct field KubeletConfiguration.maxPods of int32"),
        ({"maxPods": ""}, "string into Go struct field KubeletConfiguration.maxPods of int32"),
        (
            {"maxPods": 1.5},
            "number 1.5 into Go struct field KubeletConfiguration.maxPods of int32",
        ),
        (
            {"maxPods": 2**31},
            "number 2147483648 into Go struct field KubeletConfiguration.maxPods of int32",
        ),
        (
            {"cpuManagerPolicy": 5},
            "number into Go struct field KubeletConfiguration.cpuManagerPolicy of string",
        ),
        (
            {"reservedMemory": "x"},
            "string into Go struct field KubeletConfiguration.reservedMemory"
            " of []v1beta1.MemoryReservation",
        ),
        (
            {"reservedMemory": [[]]},
            "array into Go struct field KubeletConfiguration.reservedMemory"
            " of v1beta1.MemoryReservation",
        ),
        (
            {"reservedMemory": [{}, {"numaNode": "0"}]},
            "string into Go struct field MemoryReservation.reservedMemory.numaNode of int32",
        ),
        (
            {"reservedMemory": [{"limits": "1Gi"}]},
            "string into Go struct field MemoryReservation.reservedMemory.limits"
            " of v1.ResourceList",
        ),
        (
            {"evictionHard": {"memory.available": 5}},
            "number into Go struct field KubeletConfiguration.evictionHard of string",
        ),
        (
            {"evictionHard": []},
            "array into Go struct field KubeletConfiguration.evictionHard of map[string]string",
        ),
        (
            {"featureGates": {"CPUManager": "true"}},
            "string into Go struct field KubeletConfiguration.featureGates of bool",
        ),
        (
            {"enforceNodeAllocatable": ["pods", {}]},
            "object into Go struct field KubeletConfiguration.enforceNodeAllocatable of string",
        ),
        (
            {"enforceNodeAllocatable": "pods"},
            "string into Go struct field KubeletConfiguration.enforceNodeAllocatable of []string",
        ),
        (
            {"memorySwap": {"swapBehavior": 1}},
            "number into Go struct field MemorySwapConfiguration.memorySwap.swapBehavior of string",
        ),
        (
            {"memorySwap": "NoSwap"},
            "string into Go struct field KubeletConfiguration.memorySwap"
            " of v1beta1.MemorySwapConfiguration",
        ),
        (
            {"cpuCFSQuotaPeriod": 100},
            "number into Go struct field KubeletConfiguration.cpuCFSQuotaPeriod of string",
        ),
        (
            {"memoryThrottlingFactor": "1"},
            "string into Go struct field KubeletConfiguration.memoryThrottlingFactor of float64",
        ),
        (
            {"podPidsLimit": True},
            "bool into Go struct field KubeletConfiguration.podPidsLimit of int64",
        ),
        # What nobody reads here stops a kubelet, too.
        (
            {"authentication": {"webhook": {"enabled": "yes"}}},
            "string into Go struct field"
            " KubeletWebhookAuthentication.authentication.webhook.enabled of bool",
        ),
        (
            {"authorization": {"mode": 1}},
            "number into Go struct field KubeletAuthorization.authorization.mode"
            " of v1beta1.KubeletAuthorizationMode",
        ),
        (
            {"syncFrequency": 60},
            "number into Go struct field KubeletConfiguration.syncFrequency of string",
        ),
        (
            {"logging": {"vmodule": [{"verbosity": -1}]}},
            "number -1 into Go struct field VModuleItem.logging.vmodule.verbosity"
            " of v1.VerbosityLevel",
        ),
        (
            {"registerWithTaints": [{"effect": False}]},
            "bool into Go struct field Taint.registerWithTaints.effect of v1.TaintEffect",
        ),
        (
            {"staticPodURLHeader": {"A": ["b", 3]}},
            "number into Go struct field KubeletConfiguration.staticPodURLHeader of string",
        ),
    ],
)
def test_a_wrong_type_is_reported_as_go_reports_it(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(BadInput) as bad:
        kubelet_config.decode(fields, "config")

    (finding,) = bad.value.findings
    what, _, of_type = text.rpartition(" of ")
    complaint = f"json: cannot unmarshal {what} of type {of_type}"
    assert str(finding).endswith(f": {complaint}")


def places(of: GoType, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place of a configuration: fields, one item of each list, one key of each map."""
    yield path
    match of:
        case Struct():
            for name, inner in of.fields.items():
                yield from places(inner, (*path, name))
        case Listed(_, inner):
            yield from places(inner, (*path, 0))
        case Mapped(_, inner):
            yield from places(inner, (*path, "memory"))
        case Scalar() | Anything():
            return


def holding(path: tuple[str | int, ...], value: object) -> Any:
    """A configuration with this value at this place."""
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def test_every_value_of_every_place_is_read_or_found_wrong_there() -> None:
    for path in list(places(CONFIGURATION))[1:]:
        for value in VALUES:
            config = holding(path, value)
            wrong = kubelet_types.mismatches(config)
            try:
                kubelet_config.decode(config, "config")
            except BadInput as bad:
                found = {
                    finding.where.path.removeprefix("$.")
                    for finding in bad.findings
                    if finding.code in ("config-file/wrong-type", "config-file/out-of-range")
                }
                assert wrong.keys() == found, (path, value)
            else:
                assert wrong == {}, (path, value)
