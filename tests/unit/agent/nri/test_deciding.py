"""Pods that choose, and the mode that gives no exclusive CPUs, as a runtime sees both."""

from typing import Any

import pytest

from numalet.agent.nri import deciding
from numalet.agent.nri.choices import Mode, PinningChoice
from numalet.agent.nri.deciding import NoSingleNode, Terms
from numalet.agent.nri.pod_annotations import (
    ALLOWED,
    Cpus,
    NoRoom,
    Permissions,
    Placement,
    PodChoice,
)
from numalet.core.admission.reasons import NotAligned
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.model import cpu_set
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import replace
from numalet.io.nri.session import CallError
from running.fake_runtime import BURSTABLE
from running.plugin_runtime import EVERY_CPU, PluginRuntime, empty_node

EVERYTHING = Permissions({"default": {name: frozenset(each) for name, each in ALLOWED.items()}})
FIRST, SECOND = "0-7", "8-15"


def runtime(mode: Mode = Mode.ENFORCE, *pods: Pod) -> PluginRuntime:
    choice = PinningChoice(mode, permissions=EVERYTHING)
    return PluginRuntime(choice, {each.uid: each for each in pods})


def burstable(name: str, *containers: tuple[str | None, str | None, str | None, str | None]) -> Pod:
    """A Burstable pod of containers with CPU request, CPU limit, memory request and limit."""

    def amounts(cpu: str | None, memory: str | None) -> dict[str, Quantity]:
        named = {"cpu": cpu, "memory": memory}
        return {key: Quantity.parse(text) for key, text in named.items() if text is not None}

    return Pod(
        uid=f"uid-{name}",
        name=name,
        app_containers=tuple(
            Container(f"c{at}", requests=amounts(cpu, memory), limits=amounts(most, size))
            for at, (cpu, most, memory, size) in enumerate(containers)
        ),
        qos_class=QosClass.BURSTABLE,
    )


def cpus(of: PluginRuntime, made: Any) -> frozenset[int]:
    return cpu_set.parse(of.sets(made)[0])


def test_a_burstable_pod_is_confined_to_one_numa_node() -> None:
    web = burstable("web", ("500m", None, "1Gi", "2Gi"), ("1", None, None, None))
    on = runtime(Mode.ENFORCE, web)
    pod = on.sandbox("web", BURSTABLE, numalet_dev__placement="one-numa-node")
    first, second = on.create(pod, "c0", cpu=1), on.create(pod, "c1", cpu=1)
    # Node 1 has more shared CPUs: CPU 0 is reserved.
    assert on.sets(first) == (SECOND, "1")
    # Without a memory request it has the memory of all nodes.
    assert on.sets(second) == (SECOND, "")
    # Exclusive CPUs shrink the pool of the node, and the others keep what they request.
    db = on.create(on.sandbox("db"), cpu=6)
    assert cpus(on, db) == frozenset(range(1, 7))
    more = on.create(on.sandbox("more"), cpu=6)
    assert cpus(on, more) == frozenset(range(8, 14))
    assert on.sets(first)[0] == on.sets(second)[0] == "14-15"
    with pytest.raises(CallError, match="no room for default/third"):
        on.create(on.sandbox("third"), cpu=1 + 1)


def test_confined_pods_are_spread_and_come_back_to_their_node() -> None:
    on = runtime()
    made = []
    for name in ("a", "b", "c"):
        pod = on.sandbox(name, BURSTABLE, numalet_dev__placement="one-numa-node")
        made.append(on.create(pod, cpu=1))
    assert [on.sets(each)[0] for each in made] == [SECOND, FIRST, SECOND]
    before = [on.sets(each) for each in made]
    on.begin()
    on.synchronize()
    assert [on.sets(each) for each in made] == before
    assert not on.plugin.counts.unpinned_starts
    # A container that was not pinned is moved to its node.
    on.containers[made[0].id].linux.resources.cpu.cpus = EVERY_CPU
    on.begin()
    on.synchronize()
    assert on.sets(made[0])[0] == SECOND
    assert on.plugin.counts.unpinned_starts["not-connected"] == 1


def test_without_a_node_that_has_room_the_reason_names_the_annotation() -> None:
    on = runtime()
    pod = on.sandbox("wide", BURSTABLE, numalet_dev__placement="one-numa-node")
    with pytest.raises(CallError, match="no single NUMA node has enough"):
        on.create(pod, cpu=9)
    on.plugin.choice = replace(on.plugin.choice, mode=Mode.SHARED_ONLY)
    on.plugin.plan = replace(on.plugin.plan, terms=Terms(Mode.SHARED_ONLY))
    assert on.sets(on.create(pod, cpu=9))[0] == EVERY_CPU
    assert on.plugin.counts.unpinned_starts["no-room"] == 1


def test_a_guaranteed_pod_is_confined_with_its_exclusive_cpus() -> None:
    on = runtime()
    on.create(on.sandbox("first"), cpu=5)
    pod = on.sandbox("db", numalet_dev__placement="one-numa-node")
    assert on.sets(on.create(pod, cpu=7))[1] == "1"
    other = on.sandbox("other", numalet_dev__placement="one-numa-node")
    with pytest.raises(CallError, match="no single NUMA node"):
        on.create(other, cpu=3)


def test_a_burstable_pod_gets_exclusive_cpus_for_whole_requests() -> None:
    pod = burstable("app", ("2", "4", "1Gi", None), ("500m", None, "1Gi", "2Gi"))
    on = runtime(Mode.ENFORCE, pod)
    sandbox = on.sandbox("app", BURSTABLE, numalet_dev__cpus="exclusive")
    own, shared = on.create(sandbox, "c0", cpu=1), on.create(sandbox, "c1", cpu=1)
    # It could outgrow any amount of memory, so it is not bound to that of one node.
    assert (len(cpus(on, own)), on.sets(own)[1]) == (2, "")
    assert on.sets(shared) == (cpu_set.text(frozenset(range(16)) - cpus(on, own)), "0")
    # The Pod itself stays Burstable.
    assert on.plugin.plan.node.snapshot.pods["uid-app"] is pod


def test_a_pod_may_choose_what_happens_without_room() -> None:
    on = runtime()
    huge = on.create(on.sandbox("huge", numalet_dev__no_room="unpinned"), cpu=16)
    assert on.sets(huge)[0] == EVERY_CPU
    on.plugin.choice = replace(on.plugin.choice, no_room=NoRoom.UNPINNED)
    with pytest.raises(CallError, match="no room"):
        on.create(on.sandbox("other", numalet_dev__no_room="reject"), cpu=16)


def test_a_pod_may_choose_policy_and_scope() -> None:
    on = runtime()
    on.create(on.sandbox("a"), cpu=5)
    on.create(on.sandbox("b"), cpu=5)
    with pytest.raises(CallError):
        on.create(on.sandbox("strict"), cpu=4)
    loose = on.create(on.sandbox("loose", numalet_dev__topology_policy="best-effort"), cpu=4)
    assert len(cpus(on, loose)) == 4
    # The next pod is decided as the configuration says.
    assert on.plugin.plan.node.rules.topology.policy is TopologyPolicy.RESTRICTED


def test_the_annotations_of_a_pod_that_do_not_count_are_reported_once() -> None:
    on = runtime()
    on.create(on.sandbox("db", numalet_dev__topology_policy="strict"), "one", cpu=1)
    on.create(on.sandboxes["sandbox-db"], "two", cpu=1)
    assert [each for each in on.told if "AnnotationIgnored" in each] == [
        "AnnotationIgnored default/db: annotation numalet.dev/topology-policy: 'strict' is "
        "unknown, so it is ignored; expected one of: none, best-effort, restricted, "
        "single-numa-node"
    ]
    on.begin()
    on.synchronize()
    assert sum("AnnotationIgnored" in each for each in on.told) == 2


def test_exclusive_cpus_without_a_whole_request_are_reported_once_for_a_pod() -> None:
    on = runtime(
        Mode.ENFORCE, burstable("app", ("500m", None, "1Gi", "2Gi"), ("1500m", None, None, None))
    )
    sandbox = on.sandbox("app", BURSTABLE, numalet_dev__cpus="exclusive")
    on.create(sandbox, "c0", cpu=1)
    on.create(sandbox, "c1", cpu=1)
    (told,) = [each for each in on.told if "AnnotationIgnored" in each]
    assert "numalet.dev/cpus: exclusive has no effect" in told


def test_shared_only_gives_no_exclusive_cpus_and_refuses_nothing() -> None:
    on = runtime(Mode.SHARED_ONLY)
    db, web = on.create(on.sandbox("db"), cpu=4), on.create(on.sandbox("web"), cpu=4)
    assert on.sets(db) == (SECOND, "1")
    assert on.sets(web) == (FIRST, "0")
    wide = on.create(on.sandbox("wide"), cpu=16)
    assert on.sets(wide) == (EVERY_CPU, "")
    # It would fit on a node without pods, but not now.
    full = on.create(on.sandbox("full"), cpu=6)
    assert on.sets(full) == (EVERY_CPU, "")
    assert on.plugin.counts.containers == {"placed": 2, "shared": 2}
    assert not on.plugin.plan.node.snapshot.cpu.exclusive


def test_shared_only_leaves_pods_without_limits_on_the_whole_pool() -> None:
    endless = burstable("endless", ("1", None, "1Gi", "2Gi"))
    wide = burstable("wide", ("1", "12", "1Gi", "2Gi"))
    on = runtime(Mode.SHARED_ONLY, endless, wide)
    for name in ("endless", "wide"):
        assert on.sets(on.create(on.sandbox(name, BURSTABLE), "c0")) == (EVERY_CPU, "")


def test_shared_only_does_not_move_what_has_exclusive_cpus() -> None:
    on = runtime()
    pod = on.sandbox("db")
    db = on.create(pod, cpu=3)
    had = on.sets(db)
    on.choice = PinningChoice(Mode.SHARED_ONLY)
    on.begin()
    on.synchronize()
    assert on.sets(db) == had
    other = on.create(on.sandbox("other"), cpu=1)
    assert not cpus(on, other) & cpus(on, db)
    # The pod's next container gets them too.
    on.stop(db)
    assert on.sets(on.create(pod, cpu=3)) == had


def test_a_restart_in_enforce_gives_confined_pods_their_exclusive_cpus() -> None:
    on = runtime(Mode.SHARED_ONLY)
    # More than half of the node: what it requested itself must not stand in its way.
    db = on.create(on.sandbox("db"), cpu=5)
    assert on.sets(db) == (SECOND, "1")
    on.choice = PinningChoice(Mode.ENFORCE)
    on.begin()
    on.synchronize()
    assert cpus(on, db) == frozenset({8, 9, 10, 11, 12})


def guaranteed(name: str, cpu: str, memory: str) -> Pod:
    asked = {"cpu": Quantity.parse(cpu), "memory": Quantity.parse(memory)}
    container = Container("app", requests=asked, limits=asked)
    return Pod(uid=name, name=name, app_containers=(container,), qos_class=QosClass.GUARANTEED)


def test_memory_of_another_class_is_for_pods_that_choose_it() -> None:
    # Both nodes have CPUs, so nothing has memory alone.
    terms = Terms(Mode.ENFORCE, frozenset({NodeClass.CPU}))
    node = empty_node()
    choice = PodChoice(memory_nodes=frozenset({NodeClass.MEMORY}), policy=TopologyPolicy.NONE)
    same, refusal = deciding.admitted(node, guaranteed("db", "1", "1Gi"), terms, choice)
    assert refusal is not None
    assert same.snapshot.memory == node.snapshot.memory
    after, refusal = deciding.admitted(node, guaranteed("db", "1", "1Gi"), terms)
    assert refusal is None
    assert set(after.snapshot.memory.nodes) == {0, 1}


def test_a_refusal_says_what_the_engine_says() -> None:
    node, terms = empty_node(), Terms()
    _, refusal = deciding.admitted(node, guaranteed("db", "16", "1Gi"), terms)
    assert isinstance(refusal, NotAligned)
    confined = PodChoice(placement=Placement.ONE_NUMA_NODE, cpus=Cpus.EXCLUSIVE)
    _, refusal = deciding.admitted(node, guaranteed("db", "9", "1Gi"), terms, confined)
    assert refusal == NoSingleNode()
    assert Scope.POD is not node.rules.topology.scope
