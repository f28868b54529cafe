"""Pods on the shared CPUs of one NUMA node, beside pods with exclusive CPUs."""

from numalet.core.admission import roster
from numalet.core.admission.reasons import AllocationRefused
from numalet.core.config.behaviour import NATIVE
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.hints.provider import Hint, Impossible, Refused
from numalet.core.managers.cpu import confinement
from numalet.core.managers.cpu.confinement import (
    SHARED_CPU,
    Confined,
    Confinement,
    SharedLedger,
    Spread,
)
from numalet.core.managers.cpu.reasons import ConfinedPodsNeedThem, NoRoomToShare
from numalet.core.model.pod import Container, ContainerKey, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import replace
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.io.documents.kubelet import kubelet_config
from running import agents


def node(spread: Spread = Spread.ANY, **more: object) -> Node:
    """Two NUMA nodes with 8 CPUs each; CPU 0 is reserved."""
    config = kubelet_config.decode(
        {
            "cpuManagerPolicy": "static",
            "topologyManagerPolicy": "restricted",
            "reservedSystemCPUs": "0",
            **more,
        },
        "kubelet.yaml",
    )
    behaviour = replace(NATIVE, predicates_are_asked=False)
    started = nodes.start(config, agents.SHAPE.open().info, behaviour=behaviour)
    assert isinstance(started, Node), started
    return replace(started, roster=roster.confining(started.roster, spread))


def sharing(name: str, milli: int, *others: int) -> Pod:
    """A pod that asks for shared CPUs of one node, by container."""
    return Pod(
        uid=name,
        name=name,
        app_containers=tuple(
            Container(f"c{at}", requests={SHARED_CPU: Quantity.from_milli(each)})
            for at, each in enumerate((milli, *others))
        ),
        qos_class=QosClass.GUARANTEED,
    )


def exclusive(name: str, cpus: int) -> Pod:
    asked = {"cpu": Quantity.from_milli(cpus * 1000)}
    container = Container("app", requests=asked, limits=asked)
    return Pod(uid=name, name=name, app_containers=(container,), qos_class=QosClass.GUARANTEED)


def confined(on: Node, pod: Pod) -> Node:
    """Admit a pod that shares; it must fit."""
    policy = TopologyPolicy.SINGLE_NUMA_NODE
    staff = roster.choosing(on.roster, policy, Scope.POD)
    after, decision = replace(on, roster=staff).admit(pod)
    assert decision.rejection is None, decision.rejection
    return on.at(after.snapshot)


def places(of: Node) -> dict[str, Confined]:
    return dict(of.snapshot.extra_ledgers[confinement.PROVIDER])


def manager(of: Node, spread: Spread = Spread.ANY) -> tuple[Confinement, SharedLedger]:
    assert of.roster.static_cpus is not None
    held = of.snapshot.extra_ledgers.get(confinement.PROVIDER, {})
    return Confinement(of.roster.static_cpus, spread), SharedLedger(of.snapshot.cpu, held)


def test_pods_fill_one_node_after_the_other() -> None:
    on = node()
    for at in range(4):
        on = confined(on, sharing(f"p{at}", 2000, 1000))
    # Of 7 shared CPUs on node 0 and 8 on node 1, three CPUs for each pod.
    assert [places(on)[f"p{at}"].node_id for at in range(4)] == [0, 0, 1, 1]
    assert on.fits(exclusive("all", 15)) is False


def test_the_roomiest_node_comes_first() -> None:
    on = node(Spread.ROOMIEST)
    for at in range(4):
        on = confined(on, sharing(f"p{at}", 500))
    assert [places(on)[f"p{at}"].node_id for at in range(4)] == [1, 1, 0, 1]


def test_without_room_nothing_is_offered() -> None:
    policy, ledger = manager(confined(node(), sharing("first", 6000)))
    (answer,) = policy.pod_hints(ledger, sharing("second", 8500)).values()
    assert answer == Impossible(NoRoomToShare(8500, 8000))
    full = replace(ledger, confined={"a": Confined(0, 9000), "b": Confined(1, 9000)})
    (answer,) = policy.pod_hints(full, sharing("third", 1)).values()
    assert answer == Impossible(NoRoomToShare(1, 0))


def test_a_pod_without_a_request_is_confined_too() -> None:
    assert places(confined(node(), sharing("none", 0))) == {"none": Confined(0, 0)}


def test_a_confined_pod_stays_on_its_node() -> None:
    on = confined(node(), sharing("first", 2000))
    on = confined(on, sharing("first", 3000))
    assert places(on) == {"first": Confined(0, 3000)}
    policy, ledger = manager(on)
    container = sharing("first", 3000).app_containers[0]
    same = policy.allocate(ledger, sharing("first", 3000), container, Hint(2, True))
    assert same is ledger
    hints = policy.container_hints(ledger, sharing("first", 3000), container)
    assert hints == policy.pod_hints(ledger, sharing("first", 3000))


def test_exclusive_cpus_go_where_confined_pods_keep_enough() -> None:
    on = confined(node(), sharing("web", 4500))
    after, decision = on.admit(exclusive("db", 3))
    assert decision.rejection is None
    assert after.snapshot.cpu.cpus_of("db", "app") == frozenset({8, 9, 10})
    pod_scope = replace(on, roster=roster.choosing(on.roster, scope=Scope.POD))
    after, decision = pod_scope.admit(exclusive("db", 3))
    assert after.snapshot.cpu.cpus_of("db", "app") == frozenset({8, 9, 10})
    # Seven CPUs are free on node 0, and one of them is left for nobody who needs four and a half.
    assert not on.fits(exclusive("large", 11))
    assert on.fits(exclusive("fitting", 2))


def test_a_holder_of_exclusive_cpus_has_no_new_wish() -> None:
    on, _ = confined(node(), sharing("web", 1000)).admit(exclusive("db", 7))
    policy, ledger = manager(on)
    db = exclusive("db", 7)
    assert policy.pod_hints(ledger, db) == {}
    assert policy.container_hints(ledger, db, db.app_containers[0]) == {}


def test_without_a_topology_policy_too_many_exclusive_cpus_are_refused() -> None:
    on = confined(node(topologyManagerPolicy="none"), sharing("web", 4500))
    _, decision = on.admit(exclusive("db", 5))
    assert isinstance(decision.rejection, AllocationRefused)
    assert decision.rejection.cause == ConfinedPodsNeedThem(0, 2500)
    _, decision = on.admit(sharing("other", 100))
    # No node was chosen for it.
    assert isinstance(decision.rejection, AllocationRefused)
    assert decision.rejection.cause == NoRoomToShare(100, 0)


def test_a_pod_that_ends_or_is_no_longer_confined_gives_its_room_back() -> None:
    on = confined(confined(node(), sharing("first", 7000)), sharing("second", 8000))
    assert places(on.remove("first")) == {"second": Confined(1, 8000)}
    policy, ledger = manager(on)
    kept = policy.forget_stale(ledger, {ContainerKey("second", "c0")})
    assert kept.confined == {"second": Confined(1, 8000)}
    plain = replace(sharing("second", 0), app_containers=(Container("c0"),))
    after = policy.allocate(ledger, plain, plain.app_containers[0], Hint(None, True))
    assert not isinstance(after, Refused)
    assert set(after.confined) == {"first"}
    assert policy.container_started(ledger, plain, plain.app_containers[0]) is ledger
    assert not policy.holders(ledger)


def test_a_node_without_a_shared_pool_confines_nothing() -> None:
    started = node(cpuManagerPolicy="none", reservedSystemCPUs="")
    assert roster.confining(started.roster) is started.roster


def test_without_confined_pods_exclusive_cpus_are_anywhere() -> None:
    assert node().fits(exclusive("large", 15))


def test_the_cpus_of_a_node() -> None:
    policy, _ = manager(node())
    assert confinement.cpus_of(policy.policy, 1) == 0xFF00
    assert confinement.cpus_of(policy.policy, 7) == 0
