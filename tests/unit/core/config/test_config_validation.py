"""What the kubelet's own validation says, text by text and in its order."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.config import feature_gates, validation
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.releases.release import V1_32_RULES
from numalet.core.config.releases.table import BASE
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import Location
from numalet.core.model.quantity import Quantity
from numalet.wording import kubelet_start as wording


def texts(**fields: Any) -> list[str]:
    config = KubeletConfig(**fields)
    gates = feature_gates.with_settings(config.feature_gates, BASE)
    found = validation.validate(config, V1_32_RULES, gates)
    assert all(str(finding) for finding in found)
    return [finding.in_kubelet_words.removeprefix("invalid configuration: ") for finding in found]


def entry(node: int, **limits: str) -> ReservedMemory:
    return ReservedMemory(
        node, {name.replace("_", "-"): Quantity.parse(text) for name, text in limits.items()}
    )


ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
CGROUPS = (
    "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup "
    "(--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
)


def test_the_defaults_are_valid() -> None:
    assert texts() == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"max_pods": -1}, ["maxPods (--max-pods) -1 must not be a negative number"]),
        ({"pods_per_core": -2}, ["podsPerCore (--pods-per-core) -2 must not be a negative number"]),
        (
            {"healthz_port": -1, "port": 0, "read_only_port": 65536},
            [
                "healthzPort (--healthz-port) -1 must be between 1 and 65535, inclusive",
                "port (--port) 0 must be between 1 and 65535, inclusive",
                "readOnlyPort (--read-only-port) 65536 must be between 0 and 65535, inclusive",
            ],
        ),
        ({"healthz_port": 0, "port": 65535, "read_only_port": 0}, []),
        (
            {"swap_behavior": "nope"},
            [
                'memorySwap.swapBehavior "nope" must be one of: "", "LimitedSwap" or "NoSwap"',
            ],
        ),
        ({"swap_behavior": "NoSwap"}, []),
        (
            {"cpu_cfs_quota_period_ns": 200_000_000},
            [
                "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {200ms} requires feature gate "
                "CustomCPUCFSQuotaPeriod"
            ],
        ),
        (
            {
                "cpu_cfs_quota_period_ns": 2_000_000_000,
                "feature_gates": {"CustomCPUCFSQuotaPeriod": True},
            },
            [
                "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms and 1sec, "
                "inclusive"
            ],
        ),
        (
            {
                "cpu_cfs_quota_period_ns": 1_000_000,
                "feature_gates": {"CustomCPUCFSQuotaPeriod": True},
            },
            [],
        ),
        (
            {"swap_behavior": "NoSwap", "feature_gates": {"NodeSwap": False}},
            ["memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled"],
        ),
        ({"feature_gates": {"NodeSwap": False}}, []),
        (
            {"memory_throttling_factor": 1.5},
            ["memoryThrottlingFactor 1.5 must be greater than 0 and less than or equal to 1.0"],
        ),
        (
            {"memory_throttling_factor": 0},
            ["memoryThrottlingFactor 0 must be greater than 0 and less than or equal to 1.0"],
        ),
        (
            {"topology_manager_policy": "bestEffort"},
            [
                'topologyManagerPolicy (--topology-manager-policy) "bestEffort" must be one of: '
                '["none" "best-effort" "restricted" "single-numa-node"]'
            ],
        ),
        (
            {"topology_manager_scope": 'a"b'},
            [
                'topologyManagerScope (--topology-manager-scope) "a\\"b" must be one of: '
                '"container", or "pod"'
            ],
        ),
        (
            {"enforce_node_allocatable": ("pods", "pods")},
            [f'duplicated enforcements "pods" in {ENFORCE}'],
        ),
        (
            {"enforce_node_allocatable": ("all",)},
            [
                f'option "all" specified for {ENFORCE}. Valid options are "pods", '
                '"system-reserved", "system-reserved-compressible", "kube-reserved", '
                '"kube-reserved-compressible" or "none"'
            ],
        ),
        (
            {"enforce_node_allocatable": ("none", "pods")},
            [f'{ENFORCE} may not contain additional enforcements when "none" is specified'],
        ),
        ({"enforce_node_allocatable": ("none",), "cgroups_per_qos": False}, []),
        (
            {"enforce_node_allocatable": ("pods",), "cgroups_per_qos": False},
            [
                'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in '
                + ENFORCE
            ],
        ),
        (
            {"enforce_node_allocatable": ("kube-reserved-compressible",)},
            [
                "kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "
                f'"kube-reserved" or "kube-reserved-compressible" included in {ENFORCE}'
            ],
        ),
        (
            {
                "enforce_node_allocatable": ("system-reserved-compressible", "system-reserved"),
                "system_reserved_cgroup": "/s",
            },
            [
                'both "system-reserved" and "system-reserved-compressible" cannot be specified '
                f"together in {ENFORCE}"
            ],
        ),
        ({"reserved_system_cpus": "0-1", "system_reserved_cgroup": "/s"}, [CGROUPS]),
        (
            {"reserved_system_cpus": "-1", "kube_reserved_cgroup": "/k"},
            [
                CGROUPS,
                "unable to parse reservedSystemCPUs (--reserved-cpus) -1, error: "
                'strconv.Atoi: parsing "": invalid syntax',
            ],
        ),
        (
            {"reserved_memory": (entry(0, cpu="1"),)},
            [
                'the limit type "cpu" for NUMA node 0 is not supported, '
                "only [memory hugepages-<HugePageSize>] is accepted"
            ],
        ),
        (
            {"reserved_memory": (entry(7, memory="0"),)},
            ['reserved memory may not be zero for NUMA node 7 and resource "memory"'],
        ),
        (
            {
                "reserved_memory": (
                    entry(0, memory="1Gi"),
                    entry(1, memory="1"),
                    entry(0, memory="1"),
                )
            },
            ['the reserved memory has a duplicate value for NUMA node 0 and resource "memory"'],
        ),
        ({"reserved_memory": (entry(0, memory="-1Gi", hugepages_2Mi="2Mi"),)}, []),
    ],
)
def test_an_invalid_field_is_found_with_the_kubelets_text(
    fields: dict[str, Any], expected: list[str]
) -> None:
    assert expected == texts(**fields)


def test_all_findings_come_in_the_kubelets_order_and_in_one_text() -> None:
    config = KubeletConfig(
        reserved_memory=(entry(0, memory="0", storage="1"),),
        topology_manager_policy="x",
        topology_manager_scope="y",
        max_pods=-1,
        origins={"topologyManagerPolicy": Location("kubelet.yaml", "$.topologyManagerPolicy", 3)},
    )
    gates = feature_gates.with_settings({}, BASE)
    found = validation.validate(config, V1_32_RULES, gates)

    assert [finding.code for finding in found] == [
        "config/field-value",
        "config/field-value",
        "config/field-value",
        "config/reserved-memory-zero",
        "config/reserved-memory-type",
    ]
    assert [finding.where.line for finding in found] == [None, 3, None, None, None]
    assert found[3].where.path == "$.reservedMemory[0].limits.memory"
    text = wording.text(StartRefused(StartStage.CONFIG_VALIDATION, found[1:3]))
    assert text == (
        '[invalid configuration: topologyManagerPolicy (--topology-manager-policy) "x" must be '
        'one of: ["none" "best-effort" "restricted" "single-numa-node"], invalid configuration: '
        'topologyManagerScope (--topology-manager-scope) "y" must be one of: '
        '"container", or "pod"]'
    )
