"""Pods that ask for CPUs and memory as a whole: passed over, refused, or placed at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.core.config.releases import table
from numalet.core.config.rules import StartRefused
from numalet.core.hints.provider import NO_HINTS, ActiveContainers, Hint, ProviderHints, Refused
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.snapshot import invariants
from numalet.core.snapshot.slots import ExtraManager
from numalet.wording import kubelet, kubelet_start
from values import whole_pods
from values.whole_pods import asked, config, cpus, mib, pod, reserved_mib

GPU = "example.com/gpu"


def started(of: Node, new: Pod) -> Node:
    after, decision = of.admit(new)
    assert decision.admitted, kubelet.message(decision.rejection)
    return after.pod_started(new.uid)


def refusal(of: Node, new: Pod) -> tuple[str, str]:
    rejection = of.admit(new)[1].rejection
    return kubelet.reason(rejection), kubelet.message(rejection)


def whole() -> Pod:
    parts = {
        "i0": asked("4", "1536Mi"),
        "i1": asked("2", "768Mi"),
        "c0": asked("2", "768Mi"),
        "c1": None,
    }
    return pod("u", asked("4", "1536Mi"), parts)


@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36"])
def test_a_pod_level_pod_is_passed_over(release: str, scope: str) -> None:
    devices = {GPU: [Device("gpu0", (1,))]}
    gpu = {**asked("2", "1Gi", **{GPU: "1"})}
    of = pod("u", asked("4", "2Gi"), {"c0": gpu, "c1": asked("2", "1Gi")})
    after, decision = whole_pods.node(
        config("restricted", scope, {}), release, devices=devices
    ).admit(of)

    assert decision.admitted
    assert (cpus(after, "u"), mib(after, "u")) == ({}, {})
    assert decision.placements["c0"].devices == {GPU: ("gpu0",)}
    assert decision.affinities["c0"].mask == 0b10


@pytest.mark.parametrize("release", ["1.32", "1.33"])
def test_before_that_it_is_a_pod_of_its_containers(release: str) -> None:
    of = pod("u", asked("4", "2Gi"), {"c0": asked("2", "1Gi"), "c1": asked("2", "1Gi")})
    after = started(whole_pods.node(config(gates={}), release), of)

    assert cpus(after, "u") == {"c0": "1,9", "c1": "2,10"}
    assert mib(after, "u") == {"c0": {"memory": 1024}, "c1": {"memory": 1024}}


@pytest.mark.parametrize(("release", "held"), [("1.34", "1,9"), ("1.35", "1,9"), ("1.36", "")])
def test_without_the_gate_a_pod_level_pod_is_refused_at_last(release: str, held: str) -> None:
    off = {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False}
    known = table.of_name(release).gates
    gates = {name: value for name, value in off.items() if name in known}
    of = pod("u", asked("2", "1Gi"), {"c0": asked("2", "1Gi")})
    after, decision = whole_pods.node(config(gates=gates), release).admit(of)

    assert (kubelet.reason(decision.rejection), kubelet.message(decision.rejection)) == (
        "PodLevelResourcesNotSupported",
        "PodLevelResources feature gate is disabled",
    )
    assert cpus(after, "u").get("c0", "") == held
    assert decision.managers_admitted


def test_a_pod_level_pod_is_placed_whole() -> None:
    after, decision = whole_pods.node().admit(whole())

    assert cpus(after, "u") == {"i0": "1-2,9-10", "i1": "1,9", "c0": "1,9", "c1": "2,10"}
    assert mib(after, "u") == {
        "i0": {"memory": 1536},
        "i1": {"memory": 768},
        "c0": {"memory": 768},
        "c1": {"memory": 768},
    }
    assert reserved_mib(after) == [1536, 0]
    assert {hint.mask for hint in decision.affinities.values()} == {0b01}
    assert not invariants.violations(after.snapshot)


@pytest.mark.parametrize(
    ("total", "parts", "expected"),
    [
        (
            asked("6", "1Gi"),
            {"s0": asked("3", "1Mi"), "i0": None, "c0": None},
            {"s0": "1-2,9", "i0": "3,10-11", "c0": "3,10-11"},
        ),
        (
            asked("4", "1Gi"),
            {"c0": asked("500m", "64Mi"), "c1": None},
            {"c0": "1-2,9-10", "c1": "1-2,9-10"},
        ),
        (asked("6500m", "1Gi"), {"c0": asked("3", "64Mi"), "c1": None}, {}),
    ],
    ids=["sidecar", "fraction-shares", "fraction-of-the-pod"],
)
def test_the_containers_divide_the_pods_cpus(
    total: dict[str, dict[str, str]],
    parts: dict[str, dict[str, dict[str, str]] | None],
    expected: dict[str, str],
) -> None:
    after = started(whole_pods.node(), pod("u", total, parts))
    assert cpus(after, "u") == expected


def test_what_containers_share_is_what_is_left_of_each_type() -> None:
    page = {"hugepages-1Gi": "1Gi"}
    parts = {"s0": asked("1", "64Mi", **page), "c0": asked("500m", "64Mi"), "c1": None}
    of = pod("u", asked("4", "2Gi", **{"hugepages-1Gi": "2Gi"}), parts)
    after = started(whole_pods.node(pages_1gi=4), of)

    assert mib(after, "u") == {
        "s0": {"hugepages-1Gi": 1024, "memory": 64},
        "c0": {"memory": 64},
        "c1": {"hugepages-1Gi": 1024, "memory": 1920},
    }


@pytest.mark.parametrize(
    ("policy", "scope", "message"),
    [
        ("single-numa-node", "pod", "under pod-scope topology manager"),
        ("single-numa-node", "container", "with a container-level topology manager"),
    ],
)
def test_a_policy_refuses_it_in_its_own_words(policy: str, scope: str, message: str) -> None:
    of = pod("u", asked("12", "2Gi"), {"c0": asked("12", "1Gi"), "c1": None})
    assert refusal(whole_pods.node(config(policy, scope)), of) == (
        "TopologyAffinityError",
        f"Pod Scope pod with pod-level resources failed admission {message}",
    )


CPUS_GONE = (
    "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for"
    " shared containers"
)
MEMORY_GONE = (
    "pod rejected, sum of exclusive container memory requests equals pod budget, leaving no memory"
    " for shared containers"
)


@pytest.mark.parametrize(
    ("total", "parts", "message"),
    [
        (asked("3", "1Gi"), {"c0": asked("3", "64Mi"), "c1": None}, CPUS_GONE),
        (asked("3", "1Gi"), {"c0": asked("2", "1Gi"), "c1": None}, MEMORY_GONE),
        (
            asked("3", "1Gi"),
            {"s0": asked("3", "64Mi"), "i0": None, "c0": asked("1", "64Mi")},
            "pod rejected, pod has shared init containers but no cpus available for them",
        ),
        (
            asked("3", "1Gi"),
            {"s0": asked("1", "1Gi"), "i0": None, "c0": asked("1", "64Mi")},
            "pod rejected, pod has shared init containers but no memory available for them",
        ),
    ],
)
def test_a_pod_that_leaves_nothing_to_share_is_refused(
    total: dict[str, dict[str, str]],
    parts: dict[str, dict[str, dict[str, str]] | None],
    message: str,
) -> None:
    of = pod("u", total, parts)

    assert refusal(whole_pods.node(), of) == ("EmptyPodSharedPoolError", message)
    # A policy that insists refuses it before that, because nothing is offered.
    assert refusal(whole_pods.node(config("restricted")), of)[0] == "TopologyAffinityError"


def test_in_container_scope_containers_get_their_own_and_nothing_is_pooled() -> None:
    of = pod("u", asked("4", "2Gi"), {"c0": asked("2", "512Mi"), "c1": asked("1", "512Mi")})
    after = started(whole_pods.node(config(scope="container")), of)

    assert cpus(after, "u") == {"c0": "1,9", "c1": "8"}
    assert (after.snapshot.cpu.pods, after.snapshot.memory.pods) == ({}, {})


def test_the_pods_share_goes_with_its_last_container() -> None:
    after = started(whole_pods.node(), whole())
    assert mib(after, "u").keys() == {"c0", "c1"}
    assert reserved_mib(after) == [1536, 0]

    gone = after.remove("u").release_stale()
    assert gone.snapshot.cpu == whole_pods.node().snapshot.cpu
    assert gone.snapshot.memory.pods == {}
    assert reserved_mib(gone) == [0, 0]


def test_full_cores_are_asked_of_the_pod_and_not_of_its_containers() -> None:
    full = replace(config(), cpu_manager_policy_options={"full-pcpus-only": "true"})
    odd = pod("u", asked("4", "1Gi"), {"c0": asked("1", "64Mi"), "c1": None})
    after = started(whole_pods.node(full), odd)

    assert cpus(after, "u") == {"c0": "1", "c1": "2,9-10"}
    of = pod("v", asked("3", "1Gi"), {"c0": asked("2", "64Mi"), "c1": None})
    assert refusal(after, of) == (
        "SMTAlignmentError",
        "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
    )


def test_a_restarted_kubelet_picks_its_cpus_again_and_loses_the_first() -> None:
    of = pod("u", asked("4", "2Gi"), {"c0": asked("2", "1Gi"), "c1": None})
    alone = replace(config(), memory_manager_policy="None", reserved_memory=())
    before = started(whole_pods.node(alone), of)
    after, decision = whole_pods.restarted(before, alone).admit(of)

    assert decision.admitted
    assert cpus(before, "u") == {"c0": "1,9", "c1": "2,10"}
    assert cpus(after, "u").keys() == {"c0", "c1"}
    assert not after.snapshot.cpu.pods["u"] & before.snapshot.cpu.pods["u"]
    # The next start does not know of the first CPUs any more.
    refused = after.restart(alone, after.rules.machine, after.state_files())
    assert isinstance(refused, StartRefused)
    assert "doesn't match with CPUs in state" in kubelet_start.text(refused)


def test_a_restarted_kubelet_counts_its_memory_again() -> None:
    single = config("single-numa-node")
    of = pod("u", asked("3500m", "2Gi"), {"c0": asked("1", "1Gi"), "c1": None})
    before = started(whole_pods.node(single), of)
    after, decision = whole_pods.restarted(before, single).admit(of)

    assert decision.admitted
    assert (reserved_mib(before), reserved_mib(after)) == ([2048, 0], [4096, 0])
    assert after.snapshot.memory.pods == before.snapshot.memory.pods
    refused = after.restart(single, after.rules.machine, after.state_files())
    assert isinstance(refused, StartRefused)
    assert "expected machine state is different" in kubelet_start.text(refused)


def test_a_restarted_kubelet_refuses_containers_that_share() -> None:
    of = pod("u", asked("4", "2Gi"), {"c0": asked("2", "1Gi"), "c1": None})
    before = started(whole_pods.node(config("restricted")), of)
    again = whole_pods.restarted(before, config("restricted"))

    assert refusal(again, of)[0] == "TopologyAffinityError"


@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
def test_in_native_mode_it_keeps_what_it_has_after_a_restart(policy: str) -> None:
    of = whole()
    before = started(whole_pods.node(config(policy), behaviour=NATIVE), of)
    again = whole_pods.restarted(before, config(policy))
    after, decision = again.admit(of)

    assert decision.admitted
    assert (after.snapshot.cpu, after.snapshot.memory.nodes) == (
        before.snapshot.cpu,
        before.snapshot.memory.nodes,
    )
    assert after.state_files() == before.state_files()
    assert isinstance(after.restart(config(policy), after.rules.machine, after.state_files()), Node)


def with_gpus(uid: str, count: int) -> Pod:
    return pod(uid, asked("2", "512Mi"), {"c0": {**asked(**{GPU: str(count)})}, "c1": None})


def test_its_devices_are_allocated_when_a_container_starts() -> None:
    devices = {GPU: [Device(f"gpu{at}", (1,)) for at in range(3)]}
    on = whole_pods.node(config("restricted"), devices=devices)
    first, decided = on.admit(with_gpus("u", 2))
    second, decision = first.admit(with_gpus("v", 2))

    assert decided.admitted
    assert decision.admitted
    assert decided.placements["c0"].devices == {}
    one = second.pod_started("u")
    assert {r.device_ids for r in one.snapshot.device.records["u"]["c0"].values()} == {
        frozenset({"gpu0", "gpu1"})
    }
    # The node has admitted more than it has: this container can not be created.
    assert "v" not in one.pod_started("v").snapshot.device.records
    assert one.container_started(ContainerKey("u", "c1")).snapshot.device == one.snapshot.device


def test_in_native_mode_its_devices_are_allocated_with_it() -> None:
    devices = {GPU: [Device(f"gpu{at}", (1,)) for at in range(3)]}
    on = whole_pods.node(config("restricted"), behaviour=NATIVE, devices=devices)
    first, decision = on.admit(with_gpus("u", 2))

    assert decision.placements["c0"].devices == {GPU: ("gpu0", "gpu1")}
    assert not first.admit(with_gpus("v", 2))[1].admitted


@pytest.mark.parametrize(("policy", "scope"), [("none", "pod"), ("best-effort", "container")])
def test_a_container_that_shares_is_refused_without_a_node_in_exact_mode_alone(
    policy: str, scope: str
) -> None:
    of = pod("u", asked("4", "2Gi"), {"c0": asked("1", "64Mi"), "c1": None})
    exact = whole_pods.node(config("none")).admit(of)[1]
    native, decision = whole_pods.node(config(policy, scope), behaviour=NATIVE).admit(of)

    assert "no NUMA nodes with enough memory" in kubelet.message(exact.rejection)
    assert decision.admitted
    assert mib(native, "u") == {"c0": {"memory": 64}}


def test_a_pod_that_is_not_guaranteed_as_a_whole_shares_the_nodes_pool() -> None:
    more = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "3", "memory": "1Gi"}}
    after = started(whole_pods.node(), pod("u", more, {"c0": asked("1", "64Mi")}))

    assert (cpus(after, "u"), mib(after, "u"), after.snapshot.cpu.pods) == ({}, {}, {})


ODD = Quantity.parse("1.5Gi")
"""A whole number of bytes that the kubelet can not represent as one."""


def test_a_size_of_the_pod_that_is_no_integer_gets_no_memory() -> None:
    of = pod("u", asked("4", "2Gi"), {"c0": asked("2", "1Gi"), "c1": None})
    assert of.pod_level is not None
    amounts = {**of.pod_level.requests, "memory": ODD}
    odd = replace(of, pod_level=replace(of.pod_level, requests=amounts, limits=amounts))
    after, decision = whole_pods.node().admit(odd)

    assert decision.admitted
    assert (mib(after, "u"), cpus(after, "u")) == ({}, {"c0": "1,9", "c1": "2,10"})
    assert decision.alignments["pod"].hints["memory"] == {}


def test_a_size_of_a_container_that_is_no_integer_is_refused() -> None:
    of = pod("u", asked("4", "2Gi"), {"c0": asked("2", "1Gi"), "c1": None})
    amounts = {**of.app_containers[0].requests, "memory": ODD}
    odd = replace(of.app_containers[0], requests=amounts, limits=amounts)
    reason, message = refusal(
        whole_pods.node(), replace(of, app_containers=(odd, of.app_containers[1]))
    )

    assert reason == "EmptyPodSharedPoolError"
    assert "failed to represent quantity as int64" in message


@pytest.mark.parametrize("behaviour", [EXACT, NATIVE])
def test_containers_that_ask_for_more_than_the_pod_has_are_refused(behaviour: Behaviour) -> None:
    of = pod("u", asked("4", "2Gi"), {"c0": asked("3", "1Gi"), "c1": asked("3", "1Gi")})
    after, decision = whole_pods.node(behaviour=behaviour).admit(of)

    assert "not enough cpus available" in kubelet.message(decision.rejection)
    # The kubelet keeps what it picked for the pod until the next admission.
    assert bool(after.snapshot.cpu.pods) is (behaviour is EXACT)


def test_pages_of_a_sidecar_that_the_pod_does_not_ask_for_are_not_taken_from_it() -> None:
    sidecar = asked("1", "64Mi", hugepages_1Gi="1Gi")
    of = pod("u", asked("3", "1Gi"), {"s0": sidecar, "c0": asked("2", "960Mi")})
    assert of.pod_level is not None
    # The API server would add the pages to what the pod asks for.
    amounts = {name: of.pod_level.requests[name] for name in ("cpu", "memory")}
    bare = replace(of, pod_level=replace(of.pod_level, requests=amounts, limits=amounts))
    after = started(whole_pods.node(pages_1gi=1), bare)

    assert mib(after, "u")["c0"] == {"memory": 960}


class Busy:
    """A manager that prefers nothing and gives nothing."""

    def container_hints(self, ledger: int, pod: Pod, container: Container) -> ProviderHints:
        return NO_HINTS

    def pod_hints(self, ledger: int, pod: Pod) -> ProviderHints:
        return NO_HINTS

    def allocate(
        self, ledger: int, pod: Pod, container: Container, affinity: Hint
    ) -> int | Refused:
        return Refused(NotAnInteger(container.name, "memory", "1.5Gi"))

    def forget_stale(self, ledger: int, active: ActiveContainers) -> int:
        return ledger

    def holders(self, ledger: int, pod_uid: str | None = None) -> tuple[ContainerKey, ...]:
        return ()

    def container_started(self, ledger: int, pod: Pod, container: Container) -> int:
        return ledger


def test_a_manager_that_refuses_at_the_start_of_a_container_changes_nothing() -> None:
    of = pod("u", asked("2", "512Mi"), {"c0": asked("1", "64Mi"), "c1": None})
    on = whole_pods.node()
    again = nodes.start(
        config(),
        on.rules.machine,
        behaviour=on.rules.behaviour,
        managers=[ExtraManager("busy", Busy(), 0)],
    )
    assert isinstance(again, Node)
    after, decision = again.admit(of)

    assert decision.admitted
    assert after.pod_started("u").snapshot.cpu == after.snapshot.cpu


def test_what_the_pods_of_old_ask_for_as_a_whole_is_nothing() -> None:
    ordinary = pod("u", None, {"c0": asked("1", "64Mi")})

    assert memory_demand.of_pod_level(ordinary) == {}
    assert cpu_demand.of_pod_level(ordinary) == 0
