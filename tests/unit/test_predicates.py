"""The general predicates: sums against the node, and whether a pod may be on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

import builders
from builders import GI, machine, pod, rules
from numalet.admission import predicates
from numalet.admission.host_ports import HostPort
from numalet.admission.node_affinity import Requirement, Term
from numalet.admission.predicates import Asking, Failure, Passed
from numalet.admission.preemption import Claim
from numalet.admission.reasons import NothingToPreempt, OutOfResource, PredicateFailed
from numalet.managers.device.inventory import Device
from numalet.model.pod import Container, ContainerKind, QosClass
from numalet.model.quantity import Quantity
from numalet.node.node import Node
from numalet.wording import kubelet

LABELS = {"kubernetes.io/os": "linux", "kubernetes.io/hostname": "n1"}
GPU = "example.com/gpu"
"""The machine has one NUMA node with 2 CPUs and 8Gi."""


def _node(max_pods: int = 110) -> Node:
    return builders.node(replace(rules(machine(8)), max_pods=max_pods))


def _claim(uid: str, *, is_static: bool = False, **amounts: str) -> Claim:
    asked = {name.replace("_", "-"): Quantity.parse(text) for name, text in amounts.items()}
    asked = {GPU if name == "gpu" else name: each for name, each in asked.items()}
    container = Container("c", ContainerKind.APP, asked, asked)
    return Claim(pod(uid, container, qos=QosClass.BURSTABLE), is_static)


def _ask(
    claim: Claim,
    others: Sequence[Claim] = (),
    node: Node | None = None,
    selector: Mapping[str, str] | None = None,
) -> Passed | Failure:
    of = node or _node()
    return of.predicates(LABELS, Asking(claim, selector or {}), others)


def _words(found: Passed | Failure) -> tuple[str, str]:
    assert not isinstance(found, Passed)
    return kubelet.reason(found), kubelet.message(found)


def test_what_is_just_free_is_enough() -> None:
    assert Passed() == _ask(
        _claim("a", cpu="1", memory="4Gi"), [_claim("b", cpu="1", memory="4Gi")]
    )


def test_the_first_resource_that_lacks_is_told_cpu_before_memory() -> None:
    found = _ask(_claim("a", cpu="1001m", memory="9Gi"), [_claim("b", cpu="1")])
    assert OutOfResource("cpu", 1001, 1000, 2000) == found
    assert (
        "OutOfcpu",
        "Node didn't have enough resource: cpu, requested: 1001, used: 1000, capacity: 2000",
    ) == _words(found)
    found = _ask(_claim("a", memory="9Gi"))
    assert OutOfResource("memory", 9 * GI, 0, 8 * GI) == found


def test_room_for_pods_comes_first() -> None:
    others = [_claim("b"), _claim("c")]
    assert OutOfResource("pods", 1, 2, 2) == _ask(_claim("a", cpu="9"), others, _node(2))
    assert Passed() == _ask(_claim("a"), others, _node(3))


def test_a_pod_that_asks_for_nothing_lacks_nothing() -> None:
    assert Passed() == _ask(_claim("a"), [_claim("b", cpu="9")])


def test_unknown_extended_resources_are_left_out_and_unknown_pages_are_not() -> None:
    assert Passed() == _ask(_claim("a", gpu="1", ephemeral_storage="1Ti"))
    assert OutOfResource("hugepages-2Mi", 2 << 20, 0, 0) == _ask(_claim("a", hugepages_2Mi="2Mi"))


def test_devices_count_as_far_as_they_are_healthy_or_given_out() -> None:
    node = _node().devices_reported({GPU: [Device("d0", (0,)), Device("d1", (0,))]})
    assert OutOfResource(GPU, 2, 1, 2) == _ask(_claim("a", gpu="2"), [_claim("b", gpu="1")], node)
    holder = _claim("b", gpu="2").pod
    node, decision = node.admit(holder)
    assert decision.admitted
    assert OutOfResource(GPU, 1, 2, 2) == _ask(_claim("a", gpu="1"), [_claim("b", gpu="2")], node)
    gone = node.plugin_stopped(GPU)
    # Nothing of it is healthy any more, but two are given out.
    assert OutOfResource(GPU, 1, 2, 2) == _ask(_claim("a", gpu="1"), [_claim("b", gpu="2")], gone)


def test_selector_and_name_must_be_the_node_s() -> None:
    assert Passed() == _ask(_claim("a"), selector={"kubernetes.io/os": "linux"})
    found = _ask(_claim("a"), selector={"disk": "ssd"})
    assert PredicateFailed("NodeAffinity") == found
    assert "NodeAffinity" == _words(found)[0]
    claim = _claim("a")
    there, elsewhere = (Claim(replace(claim.pod, node_name=name)) for name in ("n1", "n2"))
    assert Passed() == _ask(there)
    found = _ask(elsewhere)
    assert PredicateFailed("NodeName") == found
    assert "didn't match the requested node name" in _words(found)[1]
    nameless = predicates.ask(_node().rules, _node().snapshot, {}, Asking(elsewhere), ())
    assert Passed() == nameless


def _with_ports(uid: str, *ports: HostPort) -> Claim:
    return Claim(_claim(uid).pod, ports=ports)


def test_the_required_node_affinity_counts_beside_the_selector() -> None:
    of = _node()
    term = Term((Requirement("kubernetes.io/os", "In", ("linux",)),))
    named = Term((), (Requirement("metadata.name", "NotIn", ("n1",)),))

    def said(selector: Mapping[str, str], *terms: Term) -> Passed | Failure:
        return of.predicates(LABELS, Asking(_claim("a"), selector, terms), ())

    assert Passed() == said({}, term)
    assert Passed() == said({}, named, term)
    assert PredicateFailed("NodeAffinity") == said({}, named)
    assert PredicateFailed("NodeAffinity") == said({"disk": "ssd"}, term)
    # A list without terms matches no node.
    assert PredicateFailed("NodeAffinity") == said({})


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
    others = [_claim("b"), _with_ports("c", HostPort(1), taken)]
    found = _ask(_with_ports("a", HostPort(2), wanted), others)
    if is_free:
        assert Passed() == found
    else:
        message = "node(s) didn't have free ports for the requested pod ports"
        assert ("NodePorts", f"Predicate NodePorts failed: {message}") == _words(found)


def test_a_critical_pod_is_refused_for_its_ports_before_anybody_is_evicted() -> None:
    critical = replace(_claim("s", is_static=True, cpu="3"), ports=(HostPort(80),))
    assert PredicateFailed("NodePorts") == _ask(critical, [_with_ports("b", HostPort(80))])


def test_lack_is_told_before_a_wrong_place_but_for_critical_pods() -> None:
    assert OutOfResource("cpu", 3000, 0, 2000) == _ask(
        _claim("a", cpu="3"), selector={"disk": "ssd"}
    )
    critical = _claim("a", is_static=True, cpu="3")
    assert PredicateFailed("NodeAffinity") == _ask(critical, selector={"disk": "ssd"})


def test_the_label_of_another_system_decides_alone() -> None:
    claim = _claim("a", cpu="9")
    windows = Claim(replace(claim.pod, labels={"kubernetes.io/os": "windows"}))
    assert PredicateFailed("PodOSSelectorNodeLabelDoesNotMatch") == _ask(windows)
    linux = Claim(replace(_claim("a").pod, labels={"kubernetes.io/os": "linux"}))
    assert Passed() == _ask(linux)


def test_for_a_critical_pod_others_are_evicted() -> None:
    critical = _claim("s", is_static=True, cpu="2")
    others = [_claim("a", cpu="1500m"), _claim("b", cpu="500m")]
    assert Passed(("a", "b")) == _ask(critical, others)
    found = _ask(_claim("s", is_static=True, cpu="3"), others)
    assert NothingToPreempt((("cpu", 1000),)) == found
    assert "UnexpectedAdmissionError" == _words(found)[0]
    assert _words(found)[1].endswith(
        "no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]"
    )
