"""The plugin's answers to a runtime that creates, stops and removes containers."""

from itertools import combinations

import pytest

from numalet.agent.nri import seen
from numalet.agent.nri.audit import SETTLED_SECONDS, Misplaced
from numalet.agent.nri.choices import EVENTS, Mode, NriEvent, PinningChoice, mask
from numalet.agent.nri.pod_annotations import NoRoom
from numalet.agent.nri.seen import Sets
from numalet.core.model import cpu_set
from numalet.io.nri.session import CallError
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from running import fake_runtime
from running.fake_runtime import BURSTABLE, container, event, request, sandbox
from running.plugin_runtime import EVERY_CPU, PluginRuntime, permitting
from values import builders


@pytest.fixture
def runtime() -> PluginRuntime:
    return PluginRuntime(PinningChoice(Mode.ENFORCE))


def test_a_guaranteed_container_gets_cpus_and_memory_of_one_node(runtime: PluginRuntime) -> None:
    app = runtime.create(runtime.sandbox("db"))
    cpus, memory_nodes = runtime.sets(app)
    assert len(cpu_set.parse(cpus)) == 2
    assert memory_nodes == "0"


def test_the_shared_pool_shrinks_and_grows(runtime: PluginRuntime) -> None:
    web = runtime.create(runtime.sandbox("web", BURSTABLE), cpu=1)
    assert runtime.sets(web) == (EVERY_CPU, "")
    pod = runtime.sandbox("db")
    db = runtime.create(pod)
    own, shared = (cpu_set.parse(runtime.sets(each)[0]) for each in (db, web))
    assert own | shared == cpu_set.parse(EVERY_CPU)
    assert not own & shared
    runtime.remove(pod)
    # The runtime takes no updates in its answer to the end of a sandbox.
    runtime.repair()
    assert runtime.sets(web) == (EVERY_CPU, "")


def test_a_stopped_container_keeps_its_cpus_for_the_next_one(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    first = runtime.create(pod)
    had = runtime.sets(first)
    runtime.stop(first)
    runtime.create(runtime.sandbox("other"))
    assert runtime.sets(runtime.create(pod)) == had


def test_exclusive_cpus_are_never_shared(runtime: PluginRuntime) -> None:
    pods = [runtime.sandbox(f"p{at}") for at in range(5)]
    made = [runtime.create(each, cpu=1 + at % 3) for at, each in enumerate(pods)]
    made += [runtime.create(runtime.sandbox(f"b{at}", BURSTABLE), cpu=1) for at in range(3)]
    sets = [cpu_set.parse(runtime.sets(each)[0]) for each in made]
    assert all(not one & other for one, other in combinations(sets[:5], 2))
    assert all(not one & other for one in sets[:5] for other in sets[5:])


def test_without_room_the_creation_fails_with_the_reason(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("huge")
    with pytest.raises(CallError, match="no room for default/huge on this node") as raised:
        runtime.create(pod, cpu=16)
    assert raised.value.code == 9
    assert runtime.plugin.counts.containers["refused"] == 1
    assert not runtime.plugin.plan.node.snapshot.pods


def test_without_room_it_may_run_in_the_shared_pool() -> None:
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE, NoRoom.UNPINNED))
    db = runtime.create(runtime.sandbox("db"), cpu=6)
    huge = runtime.create(runtime.sandbox("huge"), cpu=16)
    own, shared = (cpu_set.parse(runtime.sets(each)[0]) for each in (db, huge))
    assert own | shared == cpu_set.parse(EVERY_CPU)
    assert not own & shared
    assert runtime.plugin.counts.unpinned_starts["no-room"] == 1


def test_audit_changes_nothing() -> None:
    runtime = PluginRuntime(PinningChoice())
    app = runtime.create(runtime.sandbox("db"))
    web = runtime.create(runtime.sandbox("web", BURSTABLE))
    runtime.synchronize()
    runtime.repair()
    assert runtime.sets(app) == runtime.sets(web) == ("", "")
    assert not runtime.containers[app.id].annotations
    assert runtime.plugin.plan.node.snapshot.cpu.exclusive
    assert "Placed" in runtime.said


def test_a_kubelet_that_sets_cpus_turns_it_into_an_observer(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    made = container(pod)
    made.linux.resources.cpu.cpus = "4-5"
    payload = runtime.handlers["CreateContainer"](request(pod, made).SerializeToString())
    assert payload == b""
    assert "Only observing" in runtime.said
    other = runtime.create(runtime.sandbox("other"))
    assert runtime.sets(other) == ("", "")


def test_another_plugin_process_rebuilds_the_plan(runtime: PluginRuntime) -> None:
    pods = [runtime.sandbox(f"p{at}") for at in range(3)]
    made = [runtime.create(each) for each in pods]
    web = runtime.create(runtime.sandbox("web", BURSTABLE))
    had = {each.id: runtime.sets(each) for each in (*made, web)}
    runtime.begin()
    runtime.synchronize()
    assert {each.id: runtime.sets(each) for each in (*made, web)} == had
    assert runtime.plugin.counts.unpinned_starts["not-connected"] == 0
    later = cpu_set.parse(runtime.sets(runtime.create(runtime.sandbox("later")))[0])
    assert not any(later & cpu_set.parse(had[each.id][0]) for each in made)


def test_what_other_pods_hold_is_known_before_the_first_one_is_decided(
    runtime: PluginRuntime,
) -> None:
    first, second, third = (runtime.sandbox(name) for name in ("a", "b", "c"))
    runtime.create(first, cpu=2)
    kept = [runtime.create(second, cpu=2), runtime.create(third, cpu=2)]
    had = [runtime.sets(each) for each in kept]
    runtime.remove(first)
    # The CPUs of the first pod are free, and they are the first choice of the engine.
    runtime.begin()
    runtime.synchronize()
    assert [runtime.sets(each) for each in kept] == had


def test_a_container_that_started_without_the_plugin_is_pinned_when_it_is_back(
    runtime: PluginRuntime,
) -> None:
    pod = sandbox("missed")
    runtime.sandboxes[pod.id] = pod
    missed = container(pod)
    runtime.containers[missed.id] = missed
    runtime.synchronize()
    cpus, memory_nodes = runtime.sets(missed)
    assert len(cpu_set.parse(cpus)) == 2
    assert memory_nodes == "0"
    assert runtime.plugin.counts.unpinned_starts["not-connected"] == 1
    assert runtime.told == [
        "Unpinned default/missed: container app started unpinned while numalet was not connected"
    ]


def test_a_pod_that_ended_while_the_plugin_was_away_is_none_of_its_pods(
    runtime: PluginRuntime,
) -> None:
    job, own = runtime.sandbox("job"), runtime.sandbox("own")
    db = runtime.create(own)
    runtime.synchronize()
    assert set(runtime.plugin.plan.sandboxes) == {job.id, own.id}
    # The sandbox of a finished pod stays until the pod is deleted.
    job.pid = 0
    # Some runtimes have no process of a sandbox; they show a pod by its containers.
    own.pid = 0
    runtime.synchronize()
    assert set(runtime.plugin.plan.sandboxes) == {own.id}
    assert len(cpu_set.parse(runtime.sets(db)[0])) == 2


def test_a_container_that_the_runtime_did_not_ask_about_is_found_and_repaired(
    runtime: PluginRuntime,
) -> None:
    pod = runtime.sandbox("skipped")
    made = container(pod, pid=77)
    runtime.containers[made.id] = made
    runtime.handlers["PostStartContainer"](request(pod, made).SerializeToString())
    assert runtime.plugin.counts.unpinned_starts["not-asked"] == 1
    assert runtime.sets(made) == ("", "")
    runtime.repair()
    assert len(cpu_set.parse(runtime.sets(made)[0])) == 2
    assert runtime.plugin.counts.repaired == 1


def test_what_the_kernel_shows_is_repaired(runtime: PluginRuntime) -> None:
    app = runtime.create(runtime.sandbox("db"))
    had = runtime.sets(app)
    found = {app.id: Sets(cpu_set.parse(EVERY_CPU), frozenset({0, 1}))}
    runtime.containers[app.id].linux.resources.cpu.cpus = "9"
    runtime.repair(found)
    assert runtime.sets(app) == had
    runtime.repair(found)
    assert runtime.plugin.counts.unpinned_starts["audit"] == 1


def test_what_the_runtime_has_applied_meanwhile_is_not_reported(runtime: PluginRuntime) -> None:
    runtime.create(runtime.sandbox("db"))
    runtime.repair({})
    assert runtime.plugin.counts.unpinned_starts["audit"] == 0
    assert runtime.told == []


def test_what_ends_without_a_call_of_the_runtime_is_released(runtime: PluginRuntime) -> None:
    web = runtime.create(runtime.sandbox("web", BURSTABLE), cpu=1)
    pod = runtime.sandbox("db")
    db = runtime.create(pod)
    runtime.repairs.note_groups({pod.id, db.id})
    # A sandbox without a cgroup of its own never ends this way, nor do containers that just began.
    began = runtime.create(runtime.sandbox("began"))
    runtime.repairs.note_groups({pod.id})
    assert db.id not in runtime.plugin.plan.members
    runtime.repair()
    held = [cpu_set.parse(runtime.sets(each)[0]) for each in (began, db)]
    assert cpu_set.parse(runtime.sets(web)[0]) == cpu_set.parse(EVERY_CPU) - held[0] - held[1]
    del runtime.containers[db.id]
    runtime.repairs.note_groups({"another"})
    runtime.repair()
    assert cpu_set.parse(runtime.sets(web)[0]) == cpu_set.parse(EVERY_CPU) - held[0]


def test_a_sandbox_with_a_container_that_runs_has_not_ended(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    db = runtime.create(pod)
    runtime.repairs.note_groups({pod.id, db.id})
    runtime.repairs.note_groups({db.id})
    # Where no cgroup is found at all, nothing is known of any.
    runtime.repairs.note_groups(set())
    assert pod.id in runtime.plugin.plan.sandboxes
    runtime.repairs.note_groups({"another"})
    assert runtime.plugin.plan.sandboxes == {}
    assert runtime.plugin.plan.node.snapshot.pods == {}


@pytest.mark.parametrize(("name", "is_kept"), [("containerd", False), ("cri-o", True)])
def test_what_ends_between_a_registration_and_the_audit_is_released(
    runtime: PluginRuntime, name: str, is_kept: bool
) -> None:
    pod = runtime.sandbox("db")
    runtime.create(pod, pid=77)
    runtime.begin()
    asked = nri.ConfigureRequest(runtime_name=name)
    runtime.handlers["Configure"](asked.SerializeToString())
    runtime.synchronize()
    runtime.repairs.note_groups({"another"})
    # Sandboxes of another runtime may have no cgroup of their own.
    assert (pod.id in runtime.plugin.plan.sandboxes) is is_kept


def test_memory_that_stays_elsewhere_is_reported_once(runtime: PluginRuntime) -> None:
    app = runtime.create(runtime.sandbox("db"))
    found = {app.id: Misplaced({1: 3 << 20}, frozenset({0}), is_v1=False)}
    runtime.repairs.note_misplaced(found, 100.0)
    assert runtime.plugin.misplaced_bytes == 0
    # The kernel's figures may still be those from before a repair.
    runtime.repairs.note_misplaced(found, 100.0 + SETTLED_SECONDS)
    runtime.repairs.note_misplaced(found, 200.0)
    assert runtime.plugin.misplaced_bytes == 3 << 20
    assert runtime.plugin.counts.misplaced == 1
    assert runtime.told == [
        "MemoryMisplaced default/db: container app has 3Mi of its memory on NUMA node 1 instead "
        "of 0: the kernel moves pages only when a container's NUMA nodes change, and these "
        "stayed; a restart of the container places all of it"
    ]
    runtime.repairs.note_misplaced({}, 201.0)
    assert runtime.plugin.misplaced_bytes == 0
    # It may happen to the same container again.
    runtime.repairs.note_misplaced(found, 202.0)
    runtime.repairs.note_misplaced(found, 300.0)
    assert runtime.plugin.counts.misplaced == 2


def test_a_client_of_the_runtime_does_not_change_the_sets(runtime: PluginRuntime) -> None:
    app = runtime.create(runtime.sandbox("db"))
    had = runtime.sets(app)
    runtime.containers[app.id].linux.resources.cpu.cpus = EVERY_CPU
    asked = request(runtime.sandboxes[app.pod_sandbox_id], app)
    asked.linux_resources.cpu.cpus = EVERY_CPU
    payload = runtime.handlers["UpdateContainer"](asked.SerializeToString())
    runtime.update(nri.UpdatesResponse.FromString(payload).update)
    assert runtime.sets(app) == had


def test_with_the_pod_object_the_whole_pod_is_decided_at_once() -> None:
    pod = builders.pod("uid-both", *(builders.container(each, "1Gi") for each in ("one", "two")))
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE), {"uid-both": pod})
    of = runtime.sandbox("both")
    one = runtime.create(of, "one", cpu=3)
    assert set(runtime.plugin.plan.node.snapshot.pods) == {"uid-both"}
    assert set(runtime.plugin.plan.node.snapshot.cpu.exclusive["uid-both"]) == {"one", "two"}
    two = runtime.create(of, "two", cpu=3)
    sets = [cpu_set.parse(runtime.sets(each)[0]) for each in (one, two)]
    assert not sets[0] & sets[1]


def test_a_pod_can_be_left_alone() -> None:
    runtime = PluginRuntime(
        PinningChoice(Mode.ENFORCE, permissions=permitting(placement=["ignore"]))
    )
    app = runtime.create(runtime.sandbox("alone", numalet_dev__placement="ignore"))
    assert runtime.sets(app) == ("", "")
    runtime.create(runtime.sandbox("db"))
    runtime.synchronize()
    assert runtime.sets(app) == ("", "")


def test_parts_of_a_large_list_are_one_list(runtime: PluginRuntime) -> None:
    pods = [runtime.sandbox(f"p{at}") for at in range(2)]
    made = [runtime.create(each) for each in pods]
    runtime.begin()
    first = nri.SynchronizeRequest(pods=pods, containers=made[:1], more=True)
    answer = runtime.handlers["Synchronize"](first.SerializeToString())
    assert nri.SynchronizeResponse.FromString(answer) == nri.SynchronizeResponse(more=True)
    last = nri.SynchronizeRequest(containers=made[1:])
    runtime.handlers["Synchronize"](last.SerializeToString())
    assert set(runtime.plugin.plan.members) == {each.id for each in made}


def test_it_asks_for_the_events_it_handles_and_never_for_all(runtime: PluginRuntime) -> None:
    payload = runtime.handlers["Configure"](nri.ConfigureRequest().SerializeToString())
    assert nri.ConfigureResponse.FromString(payload).events == EVENTS == 0x6CF
    repairing = runtime.repairs.handlers(dict)["Configure"](b"")
    assert nri.ConfigureResponse.FromString(repairing).events == 4
    assert mask(NriEvent.REMOVE_POD_SANDBOX) == 4


def test_an_unknown_event_is_no_error(runtime: PluginRuntime) -> None:
    assert runtime.handlers["StateChange"](event(14, sandbox("x")).SerializeToString()) == b""


@pytest.mark.parametrize(
    ("parent", "scores", "expected"),
    [
        ("/kubepods/pod1", 0, "Guaranteed"),
        ("/kubepods/besteffort/pod1", 0, "BestEffort"),
        ("kubepods-burstable-pod1.slice", 0, "Burstable"),
        ("/other", -997, "Guaranteed"),
        ("/other", 1000, "BestEffort"),
        ("/other", 500, "Burstable"),
    ],
)
def test_the_class_of_a_container_without_a_pod_object(
    parent: str, scores: int, expected: str
) -> None:
    pod = sandbox("x")
    pod.linux.cgroup_parent = parent
    made = container(pod)
    made.linux.oom_score_adj.value = scores
    assert seen.container(made, pod).alone.qos_class.value == expected


@pytest.mark.parametrize("milli", [1, 2, 3, 100, 999, 1000, 1999, 2000, 2001, 64_000])
def test_requests_come_back_from_shares_that_the_kubelet_rounded(milli: int) -> None:
    pod = sandbox("x")
    made = container(pod)
    made.linux.resources.cpu.ClearField("quota")
    made.linux.resources.cpu.shares.value = milli * 1024 // 1000
    limits = seen.container(made, pod).alone.app_containers[0].limits
    found = limits["cpu"].milli_value if "cpu" in limits else 0
    # Two shares are the least, so the smallest requests are lost.
    assert found == (milli if milli * 1024 // 1000 > 2 else 0)


def test_huge_pages_have_the_names_of_kubernetes() -> None:
    pod = sandbox("x")
    made = container(pod)
    made.linux.resources.hugepage_limits.add(page_size="2MB", limit=4 << 20)
    made.linux.resources.hugepage_limits.add(page_size="odd", limit=1)
    made.linux.resources.cpu.cpus = "not a list"
    made.annotations[seen.RECORD] = "{"
    found = seen.container(made, pod)
    assert found.alone.app_containers[0].limits["hugepages-2Mi"].value == 4 << 20
    assert found.in_force == Sets()
    assert found.record is None


def test_a_newer_sandbox_keeps_what_its_pod_holds(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    app = runtime.create(pod)
    had = runtime.sets(app)
    again = fake_runtime.sandbox("db")
    again.id = "sandbox-db-again"
    runtime.sandboxes[again.id] = again
    newer = event(NriEvent.RUN_POD_SANDBOX.value, again)
    runtime.handlers["StateChange"](newer.SerializeToString())
    runtime.remove(pod)
    assert runtime.sets(runtime.create(again)) == had


def test_sandboxes_and_containers_end_by_calls_of_their_own(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    app = runtime.create(pod)
    runtime.handlers["RemoveContainer"](request(pod, app).SerializeToString())
    assert app.id not in runtime.plugin.plan.members
    runtime.handlers["RemovePodSandbox"](request(pod).SerializeToString())
    assert not runtime.plugin.plan.node.snapshot.cpu.exclusive
    assert runtime.plugin.plan.node.snapshot.cpu.default == cpu_set.parse(EVERY_CPU)
