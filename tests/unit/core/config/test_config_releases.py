"""What differs between releases in a kubelet's start: gates, options, and what their lack says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config import feature_gates, start
from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.config.releases.release import Gate, GateStage, Maturity, Release
from numalet.core.config.rules import NodeRules, StartRefused, StartStage
from numalet.core.findings.config import ConfigFieldValue
from numalet.core.model.findings import Location
from numalet.core.model.machine_info import MachineInfo
from numalet.wording import kubelet_start
from values import cpu_builders

ALPHA = Gate(GateStage.ALPHA, False)
BETA = Gate(GateStage.BETA, True)
GA = Gate(GateStage.GA, True)
LOCKED = Gate(GateStage.GA, True, is_locked=True)
WORKLOADS = dict.fromkeys(
    (
        *("CompositePodGroup", "PodGroupPreemptionPolicy"),
        *("TopologyAwareWorkloadScheduling", "WorkloadWithJob"),
    ),
    ("GenericWorkload",),
)
MERGING = (
    "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
)


@pytest.fixture
def machine() -> MachineInfo:
    return cpu_builders.machine(*[[(0, (node,), None)] for node in range(9)])


def start_text(config: KubeletConfig, machine: MachineInfo, release: str) -> str | None:
    """What a kubelet of the release ends with; None if it starts."""
    behaviour = replace(EXACT, release=table.of_name(release))
    match start.resolve(config, machine, behaviour=behaviour):
        case StartRefused() as refused:
            return kubelet_start.text(refused)
        case NodeRules():
            return None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CPUManager", (LOCKED, None, None, None, None, None)),
        ("CPUManagerPolicyOptions", (BETA, LOCKED, LOCKED, LOCKED, LOCKED, LOCKED)),
        ("MemoryManager", (LOCKED, LOCKED, LOCKED, LOCKED, None, None)),
        ("TopologyManagerPolicyOptions", (GA, GA, GA, GA, LOCKED, LOCKED)),
        ("PodLevelResources", (ALPHA, ALPHA, BETA, BETA, BETA, BETA)),
        ("InPlacePodVerticalScaling", (ALPHA, BETA, BETA, LOCKED, LOCKED, LOCKED)),
        ("CustomCPUCFSQuotaPeriod", (ALPHA, ALPHA, ALPHA, ALPHA, GA, GA)),
        ("NodeSwap", (BETA, BETA, LOCKED, LOCKED, LOCKED, LOCKED)),
        ("DevicePluginCDIDevices", (LOCKED, LOCKED, None, None, None, None)),
        ("KubeletPSI", (None, ALPHA, BETA, BETA, LOCKED, LOCKED)),
        ("LegacySidecarContainers", (None, Gate(GateStage.DEPRECATED, False), *(None,) * 4)),
        (
            "DisableCPUQuotaWithExclusiveCPUs",
            (
                *(None, BETA, BETA, BETA, Gate(GateStage.DEPRECATED, True)),
                Gate(GateStage.DEPRECATED, True, is_locked=True),
            ),
        ),
        (
            "AllowServiceLBStatusOnNonLB",
            (*(Gate(GateStage.DEPRECATED, False, is_locked=True),) * 3, None, None, None),
        ),
    ],
)
def test_a_gate_has_its_own_state_in_each_release(
    name: str, expected: tuple[Gate | None, ...]
) -> None:
    assert expected == tuple(release.gates.get(name) for release in table.RELEASES)


@pytest.mark.parametrize("release", table.RELEASES, ids=repr)
def test_what_a_gate_needs_is_a_gate_of_the_release_and_on_where_it_is(release: Release) -> None:
    needed = {name for gate in release.gates.values() for name in gate.needs}

    assert needed <= set(release.gates)
    assert not feature_gates.unmet({}, release)
    # From 1.37 on four alpha gates need one that is a beta gate and off.
    workloads = {} if release.gates.get("GenericWorkload") in (None, ALPHA) else WORKLOADS
    assert workloads == feature_gates.unmet({"AllAlpha": True}, release)
    assert not feature_gates.unmet({"AllAlpha": True, **dict.fromkeys(workloads, False)}, release)


@pytest.mark.parametrize(
    ("release", "settings", "expected"),
    [
        ("1.34", {"GracefulNodeShutdown": False}, {}),
        ("1.35", {"UserNamespacesSupport": False}, {"ProcMountType": ("UserNamespacesSupport",)}),
        (
            "1.35",
            {"InPlacePodLevelResourcesVerticalScaling": True, "PodLevelResources": False},
            {
                "InPlacePodLevelResourcesVerticalScaling": (
                    "NodeDeclaredFeatures",
                    "PodLevelResources",
                )
            },
        ),
        ("1.35", {"AllBeta": False}, {}),
        ("1.36", {"AllBeta": False}, {}),
        (
            "1.36",
            {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False},
            {},
        ),
        ("1.36", {"ResourceHealthStatusMessage": False, "ResourceHealthStatus": False}, {}),
    ],
)
def test_a_gate_that_is_on_needs_others_in_later_releases(
    release: str, settings: dict[str, bool], expected: dict[str, tuple[str, ...]]
) -> None:
    assert expected == feature_gates.unmet(settings, table.of_name(release))


def test_a_gate_without_what_it_needs_stops_the_start(machine: MachineInfo) -> None:
    config = KubeletConfig(feature_gates={"PodLevelResources": False})
    lacking = (
        "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are "
        "disabled: [PodLevelResources]"
    )

    assert start_text(config, machine, "1.35") is None
    assert f"{MERGING}{lacking}" == start_text(config, machine, "1.36")


def test_gates_of_the_command_line_are_checked_before_those_of_the_file(
    machine: MachineInfo,
) -> None:
    flag = Location("--feature-gates", "$.featureGates.UserNamespacesSupport")
    config = KubeletConfig(
        feature_gates={"UserNamespacesSupport": False, "ProcMountType": False},
        origins={"featureGates.UserNamespacesSupport": flag},
    )

    assert start_text(config, machine, "1.35") == (
        "failed to set feature gates from initial flags-based config: ProcMountType is enabled, "
        "but depends on features that are disabled: [UserNamespacesSupport]"
    )


def test_a_gate_that_can_not_be_set_is_all_that_is_complained_of(machine: MachineInfo) -> None:
    config = KubeletConfig(feature_gates={"MemoryManager": True, "PodLevelResources": False})

    assert f"{MERGING}unrecognized feature gate: MemoryManager" == start_text(
        config, machine, "1.36"
    )


def test_chance_decides_which_gates_are_named_that_can_not_be_set(machine: MachineInfo) -> None:
    config = KubeletConfig(feature_gates={"NoSuchB": True, "CPUManager": False, "NoSuchA": True})
    refused = start.resolve(config, machine)

    assert isinstance(refused, StartRefused)
    locked = "cannot set feature gate CPUManager to false, feature is locked to true"
    unknown = "unrecognized feature gate: NoSuch"
    assert len(refused.findings) == 3
    assert f"{MERGING}[{locked}, {unknown}A]" == kubelet_start.text(refused)
    assert set(kubelet_start.by_chance(refused)) == {
        f"{MERGING}{unknown}A",
        f"{MERGING}{unknown}B",
        f"{MERGING}[{locked}, {unknown}A]",
        f"{MERGING}[{locked}, {unknown}B]",
    }


def test_a_finding_about_what_a_gate_needs_stands_at_the_setting_that_is_the_cause(
    machine: MachineInfo,
) -> None:
    where = Location("kubelet.yaml", "$.featureGates.PodLevelResources", 4)
    config = KubeletConfig(
        feature_gates={"PodLevelResources": False},
        origins={"featureGates.PodLevelResources": where},
    )
    behaviour = replace(EXACT, release=table.of_name("1.36"))
    refused = start.resolve(config, machine, behaviour=behaviour)

    assert isinstance(refused, StartRefused)
    assert [where] == [finding.where for finding in refused.findings]


LEVELS = {
    "full-pcpus-only": "BSSSSS",
    "distribute-cpus-across-numa": "ABBBBB",
    "strict-cpu-reservation": "ABBSSS",
    "prefer-align-cpus-by-uncorecache": "AABBSS",
    "align-by-socket": "AAAAAA",
    "distribute-cpus-across-cores": "AAAAAA",
    "max-allowable-numa-nodes": "BBBSSS",
    "prefer-closest-numa-nodes": "SSSSSS",
}


@pytest.mark.parametrize("option", LEVELS)
def test_options_become_more_mature(option: str) -> None:
    levels = {"A": Maturity.ALPHA, "B": Maturity.BETA, "S": Maturity.STABLE}

    assert [levels[letter] for letter in LEVELS[option]] == [
        {**release.cpu_options, **release.topology_options}[option] for release in table.RELEASES
    ]


@pytest.mark.parametrize(
    ("release", "level"),
    [("1.32", "Alpha"), ("1.33", "Beta"), ("1.34", "Beta"), ("1.35", None), ("1.36", None)],
)
def test_a_stable_option_asks_no_gate(machine: MachineInfo, release: str, level: str) -> None:
    config = KubeletConfig(
        cpu_manager_policy="static",
        cpu_manager_policy_options={"strict-cpu-reservation": "true"},
        reserved_system_cpus="0",
        feature_gates={"CPUManagerPolicyBetaOptions": False},
    )
    text = (
        f"new static policy error: CPU Manager Policy {level}-level Options not enabled, but "
        'option "strict-cpu-reservation" provided'
    )

    assert (text if level else None) == start_text(config, machine, release)


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.32", "Topology Manager Policy Beta-level Options not enabled, but "),
        ("1.33", "topology manager policy beta-level options not enabled, but "),
        ("1.34", "topology manager policy beta-level options not enabled, but "),
        ("1.35", ""),
    ],
)
def test_topology_option_levels_are_lower_case_in_later_releases(
    machine: MachineInfo, release: str, text: str
) -> None:
    config = KubeletConfig(
        topology_manager_policy="restricted",
        topology_manager_policy_options={"max-allowable-numa-nodes": "12"},
        feature_gates={"TopologyManagerPolicyBetaOptions": False},
    )
    expected = text + 'option "max-allowable-numa-nodes" provided' if text else None

    assert expected == start_text(config, machine, release)


INVALID = "invalid configuration: "
AGE = "imageMinimumGCAge -1s must not be negative"
VERIFICATION = "`imagePullCredentialsVerificationPolicy` must not be set if "
UNGATED = "KubeletEnsureSecretPulledImages feature gate is not enabled"
RUN_ONCE = "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"


@pytest.mark.parametrize(
    ("others", "text", "first", "last"),
    [
        (
            {"containerLogMaxFiles": 1},
            "containerLogMaxFiles must be greater than 1",
            "1.33",
            "1.37",
        ),
        (
            {"imagePullCredentialsVerificationPolicy": "AlwaysVerify"},
            VERIFICATION + UNGATED,
            "1.33",
            "1.34",
        ),
        (
            {"userNamespaces.idsPerPod": 65537},
            "userNamespaces.idsPerPod must be a multiple of 65536",
            "1.33",
            "1.37",
        ),
        (
            {"userNamespaces.idsPerPod": 1},
            "userNamespaces.idsPerPod must not be less than 65536",
            "1.33",
            "1.37",
        ),
        (
            {"userNamespaces.idsPerPod": 1 << 32},
            "userNamespaces.idsPerPod must not be more than 4294967295",
            "1.33",
            "1.37",
        ),
        ({"imageMinimumGCAge": -(10**9)}, AGE, "1.36", "1.37"),
        ({"runOnce": True}, RUN_ONCE, "1.36", "1.37"),
        (
            {"crashLoopBackOff.maxContainerRestartPeriod": 30 * 10**9},
            "FeatureGate KubeletCrashLoopBackOffMax not enabled, "
            "CrashLoopBackOff.MaxContainerRestartPeriod must not be set",
            "1.32",
            "1.34",
        ),
    ],
)
def test_a_field_is_checked_from_some_release_on(
    machine: MachineInfo, others: dict[str, Any], text: str, first: str, last: str
) -> None:
    config = KubeletConfig(others=others)
    refusing = {
        release.name: start_text(config, machine, release.name)
        for release in table.RELEASES
        if start_text(config, machine, release.name) is not None
    }

    assert {
        release.name: INVALID + text for release in table.RELEASES if first <= release.name <= last
    } == refusing


IP_FORWARD = "net.ipv4.ip_forward"


OF_SYSCTLS = "for defaultPodSysctls"
LONG = f"net.{'x' * 250}"
KNOWN = (IP_FORWARD, "kernel.shm_rmid_forced", "fs.mqueue.msg_max", "user.max_net_namespaces")


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        ((), []),
        (KNOWN, []),
        (["Net.x"], [f'"Net.x" is not a valid sysctl name {OF_SYSCTLS}']),
        (["net.*"], [f'"net.*" is not a valid sysctl name {OF_SYSCTLS}']),
        ([LONG], [f'"{LONG}" is not a valid sysctl name {OF_SYSCTLS}']),
        (["vm.swappiness"], [f'"vm.swappiness" is not known to be namespaced {OF_SYSCTLS}']),
        (["user"], [f'"user" is not known to be namespaced {OF_SYSCTLS}']),
        (
            [IP_FORWARD, "net/ipv4/ip_forward"],
            [f'duplicate sysctl "{IP_FORWARD}" found in defaultPodSysctls'],
        ),
        (
            ["net.ipv4.conf.eno2/100.rp_filter", "net/ipv4/conf/eno2.100/rp_filter"],
            ['duplicate sysctl "net.ipv4.conf.eno2/100.rp_filter" found in defaultPodSysctls'],
        ),
        (
            ["vm.x", "vm/x"],
            [
                f'"vm.x" is not known to be namespaced {OF_SYSCTLS}',
                f'"vm/x" is not known to be namespaced {OF_SYSCTLS}',
                'duplicate sysctl "vm.x" found in defaultPodSysctls',
            ],
        ),
    ],
)
def test_default_pod_sysctls_are_checked(
    machine: MachineInfo, names: Sequence[str], texts: list[str]
) -> None:
    given = {"defaultPodSysctls": dict.fromkeys(names, "1")}
    gates = {"DefaultPodSysctls": True}
    config = KubeletConfig(others=given, feature_gates=gates)
    found = [INVALID + text for text in texts]
    expected = None if not found else found[0] if len(found) == 1 else f"[{', '.join(found)}]"
    assert start_text(config, machine, "1.37") == expected

    without = start_text(replace(config, feature_gates={}), machine, "1.37")
    needed = INVALID + (
        "DefaultPodSysctls feature gate is required for Kubelet configuration option "
        "defaultPodSysctls"
    )
    assert without == (needed if names else None)
    assert start_text(replace(config, feature_gates={}), machine, "1.36") is None


@pytest.mark.parametrize(
    ("factor", "gates", "is_refused"),
    [
        (None, {}, False),
        (0.5, {}, False),
        (None, {"MemoryQoS": False}, False),
        (0.9, {"MemoryQoS": False}, False),
        (0.5, {"MemoryQoS": False}, True),
    ],
)
def test_a_throttling_factor_needs_its_gate(
    machine: MachineInfo, factor: float | None, gates: dict[str, bool], is_refused: bool
) -> None:
    config = KubeletConfig(memory_throttling_factor=factor, feature_gates=gates)
    text = "memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled"
    assert start_text(config, machine, "1.37") == (INVALID + text if is_refused else None)
    assert start_text(config, machine, "1.36") is None


@pytest.mark.parametrize(
    ("policy", "gates", "text"),
    [
        ("None", {}, None),
        (
            "TieredReservation",
            {},
            'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be '
            "enabled",
        ),
        ("TieredReservation", {"MemoryQoS": True}, None),
        (
            "x",
            {},
            'option "x" specified for memoryReservationPolicy. Valid options are "None" or '
            '"TieredReservation"',
        ),
    ],
)
def test_the_memory_reservation_policy_is_checked_from_its_release_on(
    machine: MachineInfo, policy: str, gates: dict[str, bool], text: str | None
) -> None:
    config = KubeletConfig(memory_reservation_policy=policy, feature_gates=gates)

    assert start_text(config, machine, "1.35") is None
    assert (INVALID + text if text else None) == start_text(config, machine, "1.36")


@pytest.mark.parametrize(
    ("release", "named"),
    [
        ("1.32", "enableSystemLogHandler"),
        ("1.34", "enableSystemLogHandler"),
        ("1.35", "enableSystemLogQuery"),
    ],
)
def test_the_log_query_is_named_in_later_releases(
    machine: MachineInfo, release: str, named: str
) -> None:
    config = KubeletConfig(
        others={"enableSystemLogQuery": True},
        feature_gates={"NodeLogQuery": False},
    )

    assert f"{INVALID}NodeLogQuery feature gate is required for {named}" == start_text(
        config, machine, release
    )


def test_the_images_of_an_allowlist_need_their_policy(machine: MachineInfo) -> None:
    allowlist = {"preloadedImagesVerificationAllowlist": ("a/b",)}

    assert (
        f"{INVALID}`preloadedImagesVerificationAllowlist` must not be set if {UNGATED}"
        == start_text(KubeletConfig(others=allowlist), machine, "1.34")
    )
    assert (
        f"{INVALID}can't set `preloadedImagesVerificationAllowlist` if "
        '`imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"'
    ) == start_text(KubeletConfig(others=allowlist), machine, "1.35")


def kept_bytes(config: KubeletConfig, machine: MachineInfo, release: str) -> int:
    """The memory that a kubelet of the release keeps back."""
    behaviour = replace(EXACT, release=table.of_name(release))
    rules = start.resolve(config, machine, behaviour=behaviour)
    assert isinstance(rules, NodeRules), rules
    return rules.reservation["memory"].value if "memory" in rules.reservation else 0


@pytest.mark.parametrize(
    ("given", "merges", "old", "new"),
    [
        ({"nodefs.available": "5%"}, True, 0, 100 << 20),
        ({"nodefs.available": "5%"}, False, 0, 0),
        ({}, True, 0, 100 << 20),
        ({"memory.available": "0%"}, True, 0, 0),
        ({"memory.available": "200Mi"}, True, 200 << 20, 200 << 20),
    ],
)
def test_default_eviction_settings_are_merged_if_asked(
    machine: MachineInfo, given: dict[str, str], merges: bool, old: int, new: int
) -> None:
    config = KubeletConfig(eviction_hard=given, merge_default_eviction_settings=merges)

    assert (old, new) == (
        kept_bytes(config, machine, "1.32"),
        kept_bytes(config, machine, "1.33"),
    )


def test_another_period_of_the_quota_needs_no_gate_in_later_releases(machine: MachineInfo) -> None:
    config = KubeletConfig(cpu_cfs_quota_period_ns=10 * 10**6)

    assert start_text(config, machine, "1.35") == (
        f"{INVALID}cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{10ms}} requires feature gate "
        "CustomCPUCFSQuotaPeriod"
    )
    assert start_text(config, machine, "1.36") is None


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("AlwaysVerify", None),
        (
            "Sometimes",
            'option "Sometimes" specified for imagePullCredentialsVerificationPolicy. Valid '
            "options are ",
        ),
    ],
)
def test_the_policy_of_image_verification_is_one_that_is_known(
    machine: MachineInfo, policy: str, text: str | None
) -> None:
    config = KubeletConfig(
        others={"imagePullCredentialsVerificationPolicy": policy},
        feature_gates={"KubeletEnsureSecretPulledImages": True},
    )
    said = start_text(config, machine, "1.33")

    assert said is None if text is None else text in (said or "")


def test_gates_that_lack_others_are_complained_of_in_one_text(machine: MachineInfo) -> None:
    config = KubeletConfig(feature_gates={"PodLevelResources": False})
    refused = start.resolve(
        config, machine, behaviour=replace(EXACT, release=table.of_name("1.36"))
    )

    assert isinstance(refused, StartRefused)
    assert kubelet_start.by_chance(refused) == (kubelet_start.text(refused),)


def test_values_that_can_not_be_decoded_stop_the_start(machine: MachineInfo) -> None:
    finding = ConfigFieldValue(field="memorySwap.swapBehavior", problem="x")
    refused = start.resolve(KubeletConfig(undecoded=(finding, finding)), machine)

    assert isinstance(refused, StartRefused)
    assert (refused.stage, refused.findings) == (StartStage.CONFIG_DECODE, (finding,))


@pytest.mark.parametrize(
    ("cpu", "before", "after"),
    [
        ("0.0004", 1, None),
        ("0.0005", 1, 1),
        ("0.0004999", 1, 1),
        ("1.0004", 2, 1),
        ("1.0005", 2, 2),
    ],
)
def test_reserved_cpu_is_rounded_to_thousandths(
    machine: MachineInfo, cpu: str, before: int, after: int | None
) -> None:
    config = KubeletConfig(cpu_manager_policy="static", kube_reserved={"cpu": cpu})
    for release, expected in (("1.36", before), ("1.37", after)):
        behaviour = replace(EXACT, release=table.of_name(release))
        rules = start.resolve(config, machine, behaviour=behaviour)
        found = rules.cpu.reserved_count if isinstance(rules, NodeRules) else None
        assert found == expected
    if after is None:
        assert start_text(config, machine, "1.37") == (
            "[cpumanager] unable to determine reserved CPU resources for static policy"
        )
