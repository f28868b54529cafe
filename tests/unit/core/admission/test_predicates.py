"""The general predicates: sums against the node, and whether a pod may be on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import (
    NotAsked,
    NothingToPreempt,
    OutOfResource,
    PredicateFailed,
    Rejection,
    Unknown,
)
from numalet.core.config import feature_gates
from numalet.core.config.behaviour import EXACT, NATIVE
from numalet.core.config.releases import table
from numalet.core.config.rules import MemoryPolicy
from numalet.core.managers.device.inventory import Device
from numalet.core.model.node_constraints import (
    HostPort,
    NodeConstraints,
    NodeIdentity,
    NodeRequirement,
    Term,
)
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import NOTHING_REQUESTED
from numalet.wording import kubelet
from values import builders
from values.builders import GI, machine, pod, rules

LABELS = {"kubernetes.io/os": "linux", "kubernetes.io/hostname": "n1"}
KNOWN = NodeIdentity(name="n1", labels=LABELS, has_all_labels=True)
GPU = "example.com/gpu"
"""The machine has one NUMA node with 2 CPUs and 8Gi."""


def _node(max_pods: int = 110, identity: NodeIdentity = KNOWN) -> Node:
    alone = rules(machine(8), policy=MemoryPolicy.NONE)
    return builders.node(replace(alone, max_pods=max_pods, identity=identity))


def _pod(uid: str, *, is_static: bool = False, **amounts: str) -> Pod:
    asked = {name.replace("_", "-"): Quantity.parse(text) for name, text in amounts.items()}
    asked = {GPU if name == "gpu" else name: each for name, each in asked.items()}
    container = Container("c", ContainerKind.APP, asked, asked)
    made = pod(uid, container, qos=QosClass.BURSTABLE)
    return replace(made, is_static=is_static, constraints=NodeConstraints())


def _decide(
    asking: Pod,
    others: Sequence[Pod] = (),
    node: Node | None = None,
    selector: Mapping[str, str] | None = None,
) -> Decision:
    """The decision beside others, who are active whatever they ask for."""
    at = node or _node()
    snapshot = at.snapshot
    for each in others:
        snapshot = snapshot.with_pod(each)
    if selector is not None and asking.constraints is not None:
        asking = replace(asking, constraints=replace(asking.constraints, selector=selector))
    return at.at(snapshot).admit(asking)[1]


def _ask(
    asking: Pod,
    others: Sequence[Pod] = (),
    node: Node | None = None,
    selector: Mapping[str, str] | None = None,
) -> Rejection | None:
    return _decide(asking, others, node, selector).rejection


def _words(found: Rejection | None) -> tuple[str, str]:
    assert found is not None
    return kubelet.reason(found), kubelet.message(found)


def test_what_is_just_free_is_enough() -> None:
    assert None is _ask(_pod("a", cpu="1", memory="4Gi"), [_pod("b", cpu="1", memory="4Gi")])


def test_the_first_resource_that_lacks_is_reported_cpu_before_memory() -> None:
    found = _ask(_pod("a", cpu="1001m", memory="9Gi"), [_pod("b", cpu="1")])
    assert OutOfResource("cpu", 1001, 1000, 2000) == found
    assert _words(found) == (
        "OutOfcpu",
        "Node didn't have enough resource: cpu, requested: 1001, used: 1000, capacity: 2000",
    )
    found = _ask(_pod("a", memory="9Gi"))
    assert OutOfResource("memory", 9 * GI, 0, 8 * GI) == found


def test_room_for_pods_comes_first() -> None:
    others = [_pod("b"), _pod("c")]
    assert OutOfResource("pods", 1, 2, 2) == _ask(_pod("a", cpu="9"), others, _node(2))
    assert None is _ask(_pod("a"), others, _node(3))


def test_a_pod_that_asks_for_nothing_lacks_nothing() -> None:
    assert None is _ask(_pod("a"), [_pod("b", cpu="9")])


def test_unknown_extended_resources_are_left_out_and_unknown_pages_are_not() -> None:
    assert None is _ask(_pod("a", gpu="1", ephemeral_storage="1Ti"))
    assert OutOfResource("hugepages-2Mi", 2 << 20, 0, 0) == _ask(_pod("a", hugepages_2Mi="2Mi"))


def test_devices_count_as_far_as_they_are_healthy_or_given_out() -> None:
    node = _node().devices_reported({GPU: [Device("d0", (0,)), Device("d1", (0,))]})
    # The managers have two to give; the sums count the one that was promised, too.
    assert OutOfResource(GPU, 2, 1, 2) == _ask(_pod("a", gpu="2"), [_pod("b", gpu="1")], node)
    node, decision = node.admit(_pod("b", gpu="2"))
    assert decision.admitted
    # Nothing of it is healthy after this, but two are given out to a pod that runs.
    stopped = node.plugin_stopped(GPU)
    ledger = replace(stopped.snapshot.device, running=frozenset([ContainerKey("b", "c")]))
    unheard = replace(stopped.snapshot, device=ledger, sources_ready=False)
    assert None is _ask(_pod("b", gpu="2"), node=stopped.at(unheard))


def test_selector_and_name_must_be_the_node_s() -> None:
    assert None is _ask(_pod("a"), selector={"kubernetes.io/os": "linux"})
    found = _ask(_pod("a"), selector={"disk": "ssd"})
    assert PredicateFailed("NodeAffinity") == found
    assert _words(found)[0] == "NodeAffinity"
    there, elsewhere = (replace(_pod("a"), node_name=name) for name in ("n1", "n2"))
    assert None is _ask(there)
    found = _ask(elsewhere)
    assert PredicateFailed("NodeName") == found
    assert "didn't match the requested node name" in _words(found)[1]


def test_nothing_is_guessed_of_a_node_whose_name_and_labels_nobody_said() -> None:
    nameless = _node(identity=NodeIdentity())
    asking = replace(_pod("a"), node_name="n2")
    found = _decide(asking, node=nameless, selector={"disk": "ssd"})
    assert found.admitted
    assert (
        NotAsked("NodeAffinity", Unknown.NODE_LABELS),
        NotAsked("NodeName", Unknown.NODE_NAME),
    ) == found.not_asked
    # The system is that of the machine, and one label that is known is enough to refuse.
    windows = {"kubernetes.io/os": "windows", "disk": "ssd"}
    assert PredicateFailed("NodeAffinity") == _ask(_pod("a"), node=nameless, selector=windows)
    linux = _decide(_pod("a"), node=nameless, selector={"kubernetes.io/os": "linux"})
    assert (linux.admitted, linux.not_asked) == (True, ())


def test_a_pod_that_is_known_without_its_manifest_is_asked_for_what_is_known() -> None:
    bare = replace(_pod("a", cpu="1"), constraints=None)
    found = _decide(bare)
    assert found.admitted
    assert (
        NotAsked("NodeAffinity", Unknown.CONSTRAINTS),
        NotAsked("NodePorts", Unknown.CONSTRAINTS),
    ) == found.not_asked
    assert OutOfResource("cpu", 1000, 1500, 2000) == _ask(bare, [_pod("b", cpu="1500m")])
    # Its ports may be those that another one asks for.
    beside = _decide(_with_ports("b", HostPort(80)), [bare])
    assert (NotAsked("NodePorts", Unknown.PORTS_OF_OTHERS),) == beside.not_asked


def test_beside_pods_that_only_state_files_know_sums_refuse_and_do_not_assure() -> None:
    node = _node().assume_running([ContainerKey("stranger", "c")])
    found = _decide(_pod("a", cpu="1", memory="1Gi"), node=node)
    assert found.admitted
    assert [(each.predicate, each.why) for each in found.not_asked] == [
        ("OutOfpods", Unknown.PODS_WITHOUT_MANIFEST),
        ("OutOfcpu", Unknown.PODS_WITHOUT_MANIFEST),
        ("OutOfmemory", Unknown.PODS_WITHOUT_MANIFEST),
    ]
    assert OutOfResource("cpu", 3000, 0, 2000) == _ask(_pod("a", cpu="3"), node=node)


def test_a_resource_that_is_not_measured_is_not_asked() -> None:
    found = _decide(_pod("a", ephemeral_storage="1Ti"))
    assert (NotAsked("OutOfephemeral-storage", Unknown.NOT_MEASURED),) == found.not_asked


def test_an_extended_resource_that_is_not_offered_is_reported_or_refused() -> None:
    asking = _pod("a", gpu="1")
    assert _decide(asking).passed_over == (GPU,)
    native = _node()
    native = builders.node(replace(native.rules, behaviour=NATIVE))
    assert OutOfResource(GPU, 1, 0, 0) == _ask(asking, node=native)


def test_native_mode_asks_for_room_and_sums_and_evicts_nobody() -> None:
    native = builders.node(replace(_node(2).rules, behaviour=NATIVE))
    assert OutOfResource("cpu", 2000, 1000, 2000) == _ask(
        _pod("s", is_static=True, cpu="2"), [_pod("b", cpu="1")], native
    )
    assert OutOfResource("pods", 1, 2, 2) == _ask(_pod("a"), [_pod("b"), _pod("c")], native)
    elsewhere = replace(_pod("a"), node_name="n2")
    assert None is _ask(elsewhere, [_with_ports("b")], native, selector={"disk": "ssd"})


def test_a_scenario_may_leave_the_decision_to_the_managers() -> None:
    alone = replace(EXACT, predicates_are_asked=False)
    node = builders.node(replace(_node().rules, behaviour=alone))
    found = _decide(_pod("a", cpu="100"), node=node)
    assert found.admitted
    assert [each.why for each in found.not_asked] == [Unknown.SWITCHED_OFF]


def _with_ports(uid: str, *ports: HostPort) -> Pod:
    return replace(_pod(uid), constraints=NodeConstraints(ports=ports))


def test_the_required_node_affinity_counts_beside_the_selector() -> None:
    term = Term((NodeRequirement("kubernetes.io/os", "In", ("linux",)),))
    named = Term((), (NodeRequirement("metadata.name", "NotIn", ("n1",)),))

    def said(selector: Mapping[str, str], *terms: Term) -> Rejection | None:
        constraints = NodeConstraints(selector=selector, affinity=terms)
        return _ask(replace(_pod("a"), constraints=constraints))

    assert None is said({}, term)
    assert None is said({}, named, term)
    assert PredicateFailed("NodeAffinity") == said({}, named)
    assert PredicateFailed("NodeAffinity") == said({"disk": "ssd"}, term)
    # A list without terms matches no node.
    assert PredicateFailed("NodeAffinity") == said({})


def test_the_field_of_another_system_decides_alone() -> None:
    windows = replace(_pod("a", cpu="9"), constraints=NodeConstraints(os_name="windows"))
    assert _words(_ask(windows)) == (
        "PodOSNotSupported",
        "Failed to admit pod as the OS field doesn't match node OS",
    )


@pytest.mark.parametrize(
    ("wanted", "taken", "is_free"),
    [
        (HostPort(80), HostPort(80), False),
        (HostPort(80), HostPort(81), True),
        (HostPort(80), HostPort(80, "UDP"), True),
        (HostPort(80, address="127.0.0.1"), HostPort(80), False),
        (HostPort(80), HostPort(80, address="127.0.0.1"), False),
        (HostPort(80, address="127.0.0.1"), HostPort(80, address="127.0.0.1"), False),
        (HostPort(80, address="127.0.0.1"), HostPort(80, address="127.0.0.2"), True),
    ],
)
def test_a_port_of_the_host_is_given_to_one_pod(
    wanted: HostPort, taken: HostPort, is_free: bool
) -> None:
    others = [_pod("b"), _with_ports("c", HostPort(1), taken)]
    found = _ask(_with_ports("a", HostPort(2), wanted), others)
    if is_free:
        assert None is found
    else:
        message = "node(s) didn't have free ports for the requested pod ports"
        assert ("NodePorts", f"Predicate NodePorts failed: {message}") == _words(found)


def test_a_critical_pod_is_refused_for_its_ports_before_anybody_is_evicted() -> None:
    constraints = NodeConstraints(ports=(HostPort(80),))
    critical = replace(_pod("s", is_static=True, cpu="3"), constraints=constraints)
    assert PredicateFailed("NodePorts") == _ask(critical, [_with_ports("b", HostPort(80))])


def test_lack_is_reported_before_a_wrong_place_but_for_critical_pods() -> None:
    assert OutOfResource("cpu", 3000, 0, 2000) == _ask(_pod("a", cpu="3"), selector={"disk": "ssd"})
    critical = _pod("a", is_static=True, cpu="3")
    assert PredicateFailed("NodeAffinity") == _ask(critical, selector={"disk": "ssd"})


def test_the_label_of_another_system_decides_alone() -> None:
    windows = replace(_pod("a", cpu="9"), labels={"kubernetes.io/os": "windows"})
    assert PredicateFailed("PodOSSelectorNodeLabelDoesNotMatch") == _ask(windows)
    linux = replace(_pod("a"), labels={"kubernetes.io/os": "linux"})
    assert None is _ask(linux)


def test_for_a_critical_pod_others_are_evicted() -> None:
    critical = _pod("s", is_static=True, cpu="2")
    others = [_pod("a", cpu="1500m"), _pod("b", cpu="500m")]
    found = _decide(critical, others)
    assert (found.admitted, found.evicted) == (True, ("a", "b"))
    # They are over: whoever comes next finds the node without them.
    assert [*found.after.pods] == ["s"]
    assert found.after.requested.amounts == {"cpu": 2000}
    refused = _decide(_pod("s", is_static=True, cpu="3"), others)
    assert NothingToPreempt((("cpu", 1000),)) == refused.rejection
    assert (refused.evicted, [*refused.after.pods]) == ((), ["a", "b"])
    assert _words(refused.rejection)[0] == "UnexpectedAdmissionError"
    assert _words(refused.rejection)[1].endswith(
        "no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]"
    )


def test_whoever_is_refused_leaves_the_sums_as_they_were() -> None:
    node = _node()
    node, _ = node.admit(_pod("a", cpu="1"))
    before = node.snapshot.requested
    node, decision = node.admit(_pod("b", cpu="2"))
    assert not decision.admitted
    assert before == node.snapshot.requested
    # Asking a second time does not count twice.
    node, decision = node.admit(_pod("a", cpu="2"))
    assert decision.admitted
    assert node.snapshot.requested.amounts == {"cpu": 2000}
    assert node.remove("a").snapshot.requested == NOTHING_REQUESTED


def test_a_decision_that_only_the_predicates_refuse_is_none_of_the_managers() -> None:
    found = _decide(_pod("a", cpu="9"))
    assert (found.admitted, found.managers_admitted) == (False, True)


def _in_release(name: str, identity: NodeIdentity = KNOWN, **gates: bool) -> Node:
    behaviour = replace(EXACT, release=table.of_name(name))
    alone = rules(machine(8), policy=MemoryPolicy.NONE)
    of_release = feature_gates.rules_of(behaviour.release, gates)
    on = replace(alone, identity=identity, behaviour=behaviour, release_rules=of_release)
    return builders.node(on)


def _said(decision: Decision) -> tuple[str, str]:
    return kubelet.reason(decision.rejection), kubelet.message(decision.rejection)


@pytest.mark.parametrize(
    ("release", "has_groups", "reason"),
    [
        ("1.32", False, ""),
        ("1.33", False, "SupplementalGroupsPolicyNotSupported"),
        ("1.36", False, "SupplementalGroupsPolicyNotSupported"),
        ("1.36", True, ""),
        ("1.36", None, ""),
    ],
)
def test_strict_groups_need_a_runtime_in_releases_that_ask(
    release: str, has_groups: bool | None, reason: str
) -> None:
    # It asks for too many CPUs as well, which is found out later.
    cpu = "9" if reason else "1"
    strict = replace(_pod("a", cpu=cpu), constraints=NodeConstraints(strict_groups=True))
    node = _in_release(release, replace(KNOWN, has_strict_groups=has_groups))
    decision = _decide(strict, node=node)
    text = "SupplementalGroupsPolicy=Strict is not supported in this node" if reason else ""
    assert (reason, text) == _said(decision)
    unknown = NotAsked("SupplementalGroupsPolicyNotSupported", Unknown.NODE_FEATURES)
    assert (has_groups is None) is (unknown in decision.not_asked)


def test_without_the_gate_sidecars_are_rejected_where_there_is_one() -> None:
    one = builders.pod("a", Container("s", ContainerKind.SIDECAR), Container("c"))
    sidecar = replace(one, constraints=NodeConstraints())
    refused = _decide(sidecar, node=_in_release("1.32", SidecarContainers=False))
    assert _said(refused) == (
        "InitContainerRestartPolicyForbidden",
        'Init container "s" may not have a non-default restartPolicy',
    )
    assert refused.managers_admitted
    assert _decide(sidecar, node=_in_release("1.32")).admitted
    assert _decide(sidecar, node=_in_release("1.33")).admitted
