"""A hollow node admits, starts, ends and forgets pods as a kubelet does, at moments given to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from numalet.cluster.hollow import node_life
from numalet.cluster.hollow.life import (
    Action,
    Announce,
    CameUp,
    HollowPod,
    LifeEvent,
    MomentCame,
    NodeLife,
    PodBound,
    PodGone,
    ReleasePod,
    ReportPod,
    WentDown,
)
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.pod import CRITICAL_PRIORITY
from numalet.core.node.node import Node
from numalet.shared.kubernetes import pod_object
from values import hollow_pods
from values.hollow_pods import EIGHT_GPUS, at, pod

RUN_90 = {"numalet.dev/runs-for": "90s"}


def play(
    life: NodeLife, *events: tuple[float, LifeEvent]
) -> tuple[NodeLife, list[tuple[float, Action]]]:
    """The life after these events, and what was to be carried out, with the seconds."""
    actions: list[tuple[float, Action]] = []
    for seconds, event in events:
        life, more = node_life.after(life, event, at(seconds))
        actions += [(seconds, each) for each in more]
    return life, actions


def status(life: NodeLife, name: str) -> dict[str, object]:
    return pod_object.status(life.pods[f"uid-{name}"].record)


def reasons(actions: list[tuple[float, Action]]) -> list[str]:
    return [each.event.reason for _, each in actions if isinstance(each, Announce)]


def restart(node: Node) -> Node | StartRefused:
    return node.restart(hollow_pods.config(), hollow_pods.machine(), node.state_files(), EIGHT_GPUS)


def test_a_pod_that_fits_runs_at_once() -> None:
    life, actions = play(hollow_pods.life(), (0, PodBound(pod("a", gpu="4", cpu="4"))))
    assert status(life, "a")["phase"] == "Running"
    assert reasons(actions) == ["Created", "Started"]
    assert ReportPod("uid-a") in [each for _, each in actions]
    assert len(life.node.snapshot.device.in_use[hollow_pods.GPU]) == 4
    assert life.due_at is None


def test_a_pod_over_both_numa_nodes_is_rejected_in_the_kubelets_words() -> None:
    life, actions = play(hollow_pods.life(), (0, PodBound(pod("a", gpu="8", cpu="4"))))
    shown = status(life, "a")
    assert (shown["phase"], shown["reason"]) == ("Failed", "TopologyAffinityError")
    assert shown["message"] == (
        "Pod was rejected: Resources cannot be allocated with Topology locality"
    )
    assert reasons(actions) == ["TopologyAffinityError"]
    assert life.node.snapshot.pods == {}


def test_a_container_ends_when_its_run_time_is_over_and_its_pod_with_it() -> None:
    life, _ = play(hollow_pods.life(), (0, PodBound(pod("a", notes=RUN_90, gpu="4"))))
    assert life.due_at == at(90)
    life, actions = play(life, (90, MomentCame()))
    assert status(life, "a")["phase"] == "Succeeded"
    assert [each for _, each in actions] == [ReportPod("uid-a")]
    assert life.node.snapshot.pods == {}
    assert life.due_at is None


def test_an_exit_code_other_than_zero_fails_the_pod() -> None:
    notes = {**RUN_90, "numalet.dev/exit-code": "3"}
    life, _ = play(hollow_pods.life(), (0, PodBound(pod("a", notes=notes))), (90, MomentCame()))
    assert status(life, "a")["phase"] == "Failed"
    assert terminated(life, "a") == {
        "exitCode": 3,
        "reason": "Error",
        "startedAt": "2030-01-01T00:00:00Z",
        "finishedAt": "2030-01-01T00:01:30Z",
        "containerID": "process://uid-a/app/1",
    }


def terminated(life: NodeLife, name: str) -> object:
    statuses = status(life, name)["containerStatuses"]
    assert isinstance(statuses, list)
    return statuses[0]["state"]["terminated"]


def test_a_pod_that_is_always_restarted_waits_longer_each_time() -> None:
    always = pod("a", notes={"numalet.dev/runs-for": "5s"}, spec={"restartPolicy": "Always"})
    life, _ = play(hollow_pods.life(), (0, PodBound(always)), (5, MomentCame()))
    assert life.due_at == at(10)
    life, _ = play(life, (10, MomentCame()))
    assert life.due_at == at(20)
    life, _ = play(life, (20, MomentCame()))
    assert life.due_at == at(25)
    assert life.pods["uid-a"].record.run.of("app").restart_count == 2


def test_a_container_that_ends_at_once_is_not_started_for_ever() -> None:
    always = pod("a", notes={"numalet.dev/runs-for": "0"}, spec={"restartPolicy": "Always"})
    life, _ = play(hollow_pods.life(), (0, PodBound(always)))
    assert life.due_at == at(10)


def test_init_containers_run_one_after_the_other_and_sidecars_until_the_end() -> None:
    inits = [
        {"name": "proxy", "restartPolicy": "Always"},
        {"name": "fetch"},
        {"name": "unpack"},
    ]
    notes = {**RUN_90, "numalet.dev/init-runs-for": "2s"}
    life, _ = play(
        hollow_pods.life(), (0, PodBound(pod("a", notes=notes, spec={"initContainers": inits})))
    )
    assert (status(life, "a")["phase"], life.due_at) == ("Pending", at(2))
    life, _ = play(life, (2, MomentCame()))
    assert life.due_at == at(4)
    life, _ = play(life, (4, MomentCame()))
    assert (status(life, "a")["phase"], life.due_at) == ("Running", at(94))
    life, _ = play(life, (94, MomentCame()))
    assert status(life, "a")["phase"] == "Succeeded"


def test_a_deleted_pod_ends_within_its_grace_period_and_is_released() -> None:
    notes = {"numalet.dev/ends-after": "4s"}
    deleted = replace(pod("a", notes=notes, gpu="1"), grace_seconds=30.0)
    life, _ = play(hollow_pods.life(), (0, PodBound(replace(deleted, grace_seconds=None))))
    life, actions = play(life, (10, PodBound(deleted)))
    assert reasons(actions) == ["Killing"]
    assert life.due_at == at(14)
    assert ReleasePod("uid-a") not in [each for _, each in actions]
    life, actions = play(life, (14, MomentCame()))
    assert [each for _, each in actions] == [ReportPod("uid-a"), ReleasePod("uid-a")]
    assert status(life, "a")["phase"] == "Succeeded"
    life, _ = play(life, (15, PodGone("uid-a")))
    assert life.pods == {}


def test_a_container_that_does_not_end_is_killed_when_its_grace_period_is_over() -> None:
    notes = {"numalet.dev/ends-after": "1h"}
    living = pod("a", notes=notes)
    life, _ = play(
        hollow_pods.life(),
        (0, PodBound(living)),
        (10, PodBound(replace(living, grace_seconds=30.0))),
    )
    assert life.due_at == at(40)
    life, _ = play(life, (20, PodBound(replace(living, grace_seconds=5.0))))
    assert life.due_at == at(25)
    life, actions = play(life, (25, MomentCame()))
    assert ReleasePod("uid-a") in [each for _, each in actions]
    ended = terminated(life, "a")
    assert isinstance(ended, dict)
    assert ended["exitCode"] == 137


def test_a_pod_deleted_by_force_holds_nothing_any_more() -> None:
    life, _ = play(hollow_pods.life(), (0, PodBound(pod("a", gpu="4"))), (1, PodGone("uid-a")))
    assert life.pods == {}
    life, _ = play(life, (2, PodBound(pod("b", gpu="4"))), (2, PodBound(pod("c", gpu="4"))))
    assert status(life, "c")["phase"] == "Running"


def test_a_pod_that_is_not_known_is_gone_without_a_word() -> None:
    before = hollow_pods.life()
    life, actions = play(before, (1, PodGone("uid-a")))
    assert (life, actions) == (before, [])


def test_a_rejected_pod_that_is_deleted_is_released_at_once() -> None:
    rejected = pod("a", gpu="8")
    life, _ = play(hollow_pods.life(), (0, PodBound(rejected)))
    life, actions = play(life, (1, PodBound(replace(rejected, grace_seconds=30.0))))
    assert ReleasePod("uid-a") in [each for _, each in actions]
    assert status(life, "a")["reason"] == "TopologyAffinityError"


def test_a_critical_pod_evicts_another_and_begins_after_its_end() -> None:
    notes = {"numalet.dev/ends-after": "3s"}
    victim = pod("victim", notes=notes, cpu="28")
    critical = pod("critical", cpu="20", spec={"priority": CRITICAL_PRIORITY})
    on = {"topologyManagerPolicy": "none", "topologyManagerScope": "container"}
    loose = hollow_pods.life(
        **on, cpuManagerPolicy="none", memoryManagerPolicy="None", reservedMemory=[]
    )
    life, actions = play(loose, (0, PodBound(victim)), (5, PodBound(critical)))
    assert reasons(actions) == ["Created", "Started", "Preempting", "Killing"]
    assert status(life, "critical")["phase"] == "Pending"
    life, _ = play(life, (8, MomentCame()))
    assert status(life, "victim")["reason"] == "Preempting"
    assert status(life, "critical")["phase"] == "Running"


def test_after_a_reboot_every_pod_asks_again_and_keeps_what_it_holds() -> None:
    always = {"restartPolicy": "Always"}
    one, two = pod("a", spec=always, gpu="4", cpu="3"), pod("b", spec=always, gpu="2", cpu="2")
    life, _ = play(hollow_pods.life(), (0, PodBound(one)), (0, PodBound(two)))
    held = life.node.snapshot
    life, actions = play(life, (10, WentDown()), (11, PodBound(pod("c"))), (12, MomentCame()))
    assert (actions, life.due_at, [*life.pods]) == ([], None, ["uid-a", "uid-b"])
    life, _ = play(life, (40, CameUp(restart, (pod("c"), two, one))))
    assert {uid: each.record.run.of("app").restart_count for uid, each in life.pods.items()} == {
        "uid-a": 1,
        "uid-b": 1,
        "uid-c": 0,
    }
    assert life.node.snapshot.cpu.exclusive == held.cpu.exclusive
    assert life.node.snapshot.device.in_use == held.device.in_use
    assert life.node.snapshot.sources_ready


def test_pods_that_were_over_before_a_reboot_stay_so() -> None:
    rejected = pod("a", gpu="8")
    life, _ = play(
        hollow_pods.life(),
        (0, PodBound(rejected)),
        (1, WentDown()),
        (9, CameUp(restart, (rejected,))),
    )
    assert status(life, "a")["reason"] == "TopologyAffinityError"


def test_a_kubelet_that_does_not_start_again_stays_down_and_says_why() -> None:
    life, _ = play(hollow_pods.life(), (1, WentDown()))
    refused = StartRefused(StartStage.MEMORY_MANAGER, ())
    life, actions = play(life, (9, CameUp(lambda _: refused, ())))
    assert (life.is_up, life.refused, actions) == (False, refused, [])


def test_a_node_that_is_up_does_not_come_up() -> None:
    before = hollow_pods.life()
    assert play(before, (9, CameUp(restart, ()))) == (before, [])


def test_what_ran_before_the_process_was_started_again_runs_on() -> None:
    document = hollow_pods.document("a", notes=RUN_90, gpu="4")
    document["status"] |= {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "app",
                "restartCount": 2,
                "state": {"running": {"startedAt": "2030-01-01T00:00:10Z"}},
            }
        ],
    }
    life, actions = play(hollow_pods.life(), (60, PodBound(hollow_pods.read(document))))
    assert (reasons(actions), life.due_at) == ([], at(100))
    assert life.pods["uid-a"].record.run.of("app").restart_count == 2
    assert len(life.node.snapshot.device.in_use[hollow_pods.GPU]) == 4


def test_pods_ask_in_the_order_of_their_creation() -> None:
    older = replace(pod("z"), created_at=at(-1))
    assert sorted([pod("b"), pod("a"), older], key=_order) == [older, pod("a"), pod("b")]


def _order(each: HollowPod) -> tuple[datetime, str]:
    return each.order


def test_a_life_is_shown_in_one_line() -> None:
    assert repr(hollow_pods.life()).startswith("<NodeLife: hollow-0, pods 0, <Node: 2 NUMA nodes")
