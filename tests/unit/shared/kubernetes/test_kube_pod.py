"""Pod objects and kubectl's columns, from the first moment of a pod to its last."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.findings import Findings
from numalet.core.workload import folding
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import Cause, ExitReason, PodRun, Verdict
from numalet.core.workload.spec import RestartPolicy, Workload
from numalet.io.documents.pods.workload import WorkloadOptions, decode_workload
from numalet.io.documents.text.typed import Place
from numalet.shared.findings.runtime import RuntimeProgramNotFound
from numalet.shared.kubernetes.pod_object import pod_object
from numalet.shared.kubernetes.table_columns import PodColumns, columns
from numalet.wording import kubelet
from values.pod_runs import REJECTED, accepted, at, down, ran, up

NEVER, ON_FAILURE = RestartPolicy.NEVER, RestartPolicy.ON_FAILURE


def of(*names: str, policy: RestartPolicy = RestartPolicy.ALWAYS) -> Workload:
    """A workload read from a manifest: ``i1`` init, ``s1`` sidecar, ``a1`` app container."""
    both: dict[str, list[dict[str, Any]]] = {"initContainers": [], "containers": []}
    for name in names:
        one: dict[str, Any] = {"name": name, "image": "i:1", "command": ["x"]}
        if name[0] == "s":
            one["restartPolicy"] = "Always"
        both["containers" if name[0] == "a" else "initContainers"].append(one)
    manifest = {
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"restartPolicy": policy.value, **both},
    }
    findings = Findings()
    options = WorkloadOptions(uid="uid-1", node_name="n1")
    workload = decode_workload(manifest, Place("web.yaml"), options, findings)
    assert workload is not None, findings.all
    return workload


def shown(workload: Workload, run: PodRun) -> dict[str, Any]:
    """The Pod object of this run."""
    return pod_object(PodRecord(workload, run, 12))


def status(workload: Workload, run: PodRun) -> dict[str, Any]:
    """Its status."""
    found: dict[str, Any] = shown(workload, run)["status"]
    return found


def condition(found: dict[str, Any], name: str) -> dict[str, Any]:
    """The condition of this type."""
    [one] = [each for each in found["conditions"] if each["type"] == name]
    return dict(one)


def test_the_object_shows_who_it_is_and_what_was_accepted() -> None:
    pod = shown(of("a"), accepted())
    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
    assert pod["metadata"] == {
        "name": "web",
        "namespace": "default",
        "uid": "uid-1",
        "labels": {"app": "web"},
        "resourceVersion": "12",
        "creationTimestamp": "2030-01-01T00:00:00Z",
    }
    assert pod["spec"]["nodeName"] == "n1"
    assert pod["spec"]["containers"][0]["command"] == ["x"]


def test_a_rejected_pod_looks_as_the_kubelet_leaves_it() -> None:
    found = status(of("i1", "a"), accepted(REJECTED))
    assert found == {
        "phase": "Failed",
        "reason": "TopologyAffinityError",
        "message": ("Pod was rejected: Resources cannot be allocated with Topology locality"),
        "qosClass": "BestEffort",
        "startTime": "2030-01-01T00:00:00Z",
    }


def test_an_undecided_pod_is_pending_and_scheduled() -> None:
    found = status(of("a"), accepted(None))
    assert found["phase"] == "Pending"
    assert [each["type"] for each in found["conditions"]] == ["PodScheduled"]
    assert "startTime" not in found


def test_a_running_container_is_ready() -> None:
    found = status(of("a"), up(accepted(), "a", 3))
    assert found["phase"] == "Running"
    assert found["containerStatuses"] == [
        {
            "name": "a",
            "state": {"running": {"startedAt": "2030-01-01T00:00:03Z"}},
            "lastState": {},
            "ready": True,
            "restartCount": 0,
            "image": "i:1",
            "imageID": "",
            "started": True,
            "containerID": "process://uid-1/a/1",
        }
    ]
    assert condition(found, "Ready") == {
        "type": "Ready",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": "2030-01-01T00:00:03Z",
    }
    assert [each["type"] for each in found["conditions"]] == [
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]


def test_a_container_that_waits_to_be_started_again_shows_its_last_end() -> None:
    run = ran(ran(accepted(), "a", 0, 1, 3), "a", 1, 2, code=3)
    found = status(of("a"), run)
    [one] = found["containerStatuses"]
    assert one["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": "back-off 10s restarting failed container=a pod=web_default(uid-1)",
        }
    }
    assert one["lastState"] == {
        "terminated": {
            "exitCode": 3,
            "reason": "Error",
            "startedAt": "2030-01-01T00:00:01Z",
            "finishedAt": "2030-01-01T00:00:02Z",
            "containerID": "process://uid-1/a/2",
        }
    }
    assert (one["restartCount"], one["ready"], one["started"]) == (1, False, False)
    ready = condition(found, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    assert ready["message"] == "containers with unready status: [a]"
    assert ready["lastTransitionTime"] == "2030-01-01T00:00:02Z"


def test_a_container_that_ended_for_good_is_terminated() -> None:
    killed = down(up(accepted(), "a"), "a", 5, code=137, reason=ExitReason.OOM_KILLED)
    [one] = status(of("a", policy=NEVER), killed)["containerStatuses"]
    assert one["state"]["terminated"]["reason"] == "OOMKilled"
    assert one["lastState"] == {}


def test_nobody_waits_for_a_restart_in_a_pod_that_goes() -> None:
    run = ran(ran(accepted(), "a", 0, 1, 3), "a", 1, 2, code=3)
    run = folding.deletion_requested(run, at(3), 30)
    pod = shown(of("a"), run)
    assert "terminated" in pod["status"]["containerStatuses"][0]["state"]
    assert pod["metadata"]["deletionTimestamp"] == "2030-01-01T00:00:33Z"
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30


def test_an_end_that_was_not_seen_has_the_kubelets_text() -> None:
    run = folding.lost(up(accepted(), "a"), "a", at(9))
    [one] = status(of("a", policy=NEVER), run)["containerStatuses"]
    assert one["state"]["terminated"] == {
        "exitCode": 137,
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
        "startedAt": "2030-01-01T00:00:00Z",
        "finishedAt": "2030-01-01T00:00:09Z",
        "containerID": "process://uid-1/a/1",
    }


def test_a_failed_start_says_why() -> None:
    cause = Cause.of(RuntimeProgramNotFound(program="mine"))
    run = folding.not_started(folding.starting(accepted(), "a"), "a", 1, at(1), cause)
    [one] = status(of("a", policy=NEVER), run)["containerStatuses"]
    ended = one["state"]["terminated"]
    said = "'mine' was not found; name its path, or set PATH"
    assert (ended["reason"], ended["message"]) == ("StartError", said)
    assert "startedAt" not in ended


def test_a_signal_is_reported() -> None:
    run = up(accepted(), "a")
    seen = down(run, "a", 1, code=143).of("a")
    assert seen.last_exit is not None
    signalled = replace(seen, last_exit=replace(seen.last_exit, signal=15))
    [one] = status(of("a", policy=NEVER), run.with_container(signalled))["containerStatuses"]
    assert one["state"]["terminated"]["signal"] == 15


def test_init_containers_say_whose_turn_it_is() -> None:
    found = status(of("i1", "s1", "a"), up(accepted(), "i1"))
    first, side = found["initContainerStatuses"]
    assert "running" in first["state"]
    assert first["ready"] is False
    assert side["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert found["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    initialized = condition(found, "Initialized")
    assert (initialized["status"], initialized["reason"]) == ("False", "ContainersNotInitialized")
    assert initialized["message"] == "containers with incomplete status: [i1 s1]"


def test_an_initialized_pod_is_so_since_the_last_init_container_ended() -> None:
    found = status(of("i1", "a"), ran(accepted(), "i1", 0, 4))
    assert condition(found, "Initialized")["lastTransitionTime"] == "2030-01-01T00:00:04Z"
    assert found["initContainerStatuses"][0]["ready"] is True


@pytest.mark.parametrize(
    ("code", "reason", "initialized"), [(0, "PodCompleted", "PodCompleted"), (1, "PodFailed", None)]
)
def test_a_pod_that_is_over_is_not_ready_for_that_reason(
    code: int, reason: str, initialized: str | None
) -> None:
    found = status(of("a", policy=NEVER), ran(accepted(), "a", 0, 1, code))
    assert condition(found, "Ready")["reason"] == reason
    assert condition(found, "Initialized").get("reason") == initialized


def held(run: PodRun, name: str, level: GuaranteeLevel, *shortfalls: str) -> PodRun:
    """The run after this container began, held like that."""
    run = folding.starting(run, name)
    return folding.started(run, name, 1, at(1), level, shortfalls)


def test_a_pod_that_went_for_another_has_the_condition_of_a_disruption() -> None:
    verdict = Verdict(admitted=False, reason="Preempting", message="Preempted")
    run = replace(accepted(), verdict=verdict, decided_at=at(3))
    [found] = status(of("a1"), run)["conditions"]
    assert (found["type"], found["status"]) == ("DisruptionTarget", "True")
    assert found["reason"] == "TerminationByKubelet"
    assert found["message"] == kubelet.PREEMPTED_CONDITION


def test_a_running_pod_whose_node_state_could_not_be_renewed_says_so() -> None:
    run = replace(accepted(), causes=(Cause("record/text-only", {"text": "not enough memory"}),))
    found = condition(status(of("a1"), run), "numalet.dev/Promised")
    assert (found["status"], found["reason"]) == ("False", "DoesNotFit")
    assert found["message"] == "not enough memory"


def test_how_strongly_containers_are_held_is_a_condition() -> None:
    workload = of("a1", "a2")
    kernel = held(held(accepted(), "a1", GuaranteeLevel.KERNEL), "a2", GuaranteeLevel.KERNEL)
    found = condition(status(workload, kernel), "numalet.dev/Enforced")
    assert (found["status"], found["reason"]) == ("True", "Kernel")
    assert "message" not in found
    codes = ("runtime/sizes-not-limited", "cgroup/not-writable", "runtime/new")
    kernel = held(accepted(), "a1", GuaranteeLevel.KERNEL)
    weaker = held(kernel, "a2", GuaranteeLevel.PROCESS, *codes)
    found = condition(status(workload, weaker), "numalet.dev/Enforced")
    assert (found["status"], found["reason"]) == ("False", "ProcessSettings")
    said = "sizes of memory and huge pages are accounted for, not enforced"
    assert found["message"] == f"a2: {said}, cgroups cannot be made here, runtime/new"


CRASHING = ran(ran(accepted(), "a", 0, 1, 3), "a", 1, 2, code=3)
INIT_FAILS = ran(accepted(), "i1", 0, 1, code=1)
DELETED = folding.deletion_requested(up(accepted(), "a"), at(5), 30)


@pytest.mark.parametrize(
    ("workload", "run", "ready", "text", "restarts"),
    [
        (of("a"), accepted(None), "0/1", "Pending", 0),
        (of("i1", "a"), accepted(REJECTED), "0/1", "TopologyAffinityError", 0),
        (of("a"), accepted(), "0/1", "ContainerCreating", 0),
        (of("a"), folding.starting(accepted(), "a"), "0/1", "ContainerCreating", 0),
        (of("a"), up(accepted(), "a"), "1/1", "Running", 0),
        (of("a1", "a2"), up(accepted(), "a1"), "1/2", "ContainerCreating", 0),
        (of("a"), ran(accepted(), "a", 0, 1), "0/1", "Completed", 0),
        (of("a"), ran(accepted(), "a", 0, 1, 1), "0/1", "Error", 0),
        (of("a"), CRASHING, "0/1", "CrashLoopBackOff", 1),
        (of("a"), up(CRASHING, "a"), "1/1", "Running", 2),
        (
            of("a", policy=NEVER),
            down(up(accepted(), "a"), "a", 1, 137, ExitReason.OOM_KILLED),
            "0/1",
            "OOMKilled",
            0,
        ),
        (of("a", policy=NEVER), ran(accepted(), "a", 0, 1), "0/1", "Completed", 0),
        (
            of("a1", "a2", policy=NEVER),
            ran(up(accepted(), "a2"), "a1", 0, 1),
            "1/2",
            "NotReady",
            0,
        ),
        (of("i1", "i2", "a"), accepted(), "0/1", "Init:0/2", 0),
        (of("i1", "i2", "a"), up(accepted(), "i1"), "0/1", "Init:0/2", 0),
        (of("i1", "i2", "a"), ran(accepted(), "i1", 0, 1), "0/1", "Init:1/2", 0),
        (of("i1", "a"), ran(accepted(), "i1", 0, 1), "0/1", "PodInitializing", 0),
        (of("i1", "a"), INIT_FAILS, "0/1", "Init:Error", 0),
        (of("i1", "a"), ran(INIT_FAILS, "i1", 1, 2, 1), "0/1", "Init:CrashLoopBackOff", 1),
        (of("i1", "a", policy=NEVER), INIT_FAILS, "0/1", "Init:Error", 0),
        (of("s1", "a"), up(accepted(), "s1"), "1/2", "PodInitializing", 0),
        (of("s1", "a"), up(up(accepted(), "s1"), "a"), "2/2", "Running", 0),
        (of("a"), DELETED, "1/1", "Terminating", 0),
        (of("a"), down(DELETED, "a", 6), "0/1", "Completed", 0),
    ],
)
def test_the_columns_are_those_of_kubectl(
    workload: Workload, run: PodRun, ready: str, text: str, restarts: int
) -> None:
    found = columns(shown(workload, run))
    assert (found.ready, found.status, found.restarts) == (ready, text, restarts)


def test_the_moment_of_the_last_restart_is_beside_the_number() -> None:
    assert columns(shown(of("a"), CRASHING)).restarted_at == "2030-01-01T00:00:02Z"
    assert columns(shown(of("a"), up(accepted(), "a"))).restarted_at == ""


def pod_with(*statuses: dict[str, Any], ready: str = "True") -> dict[str, Any]:
    """A Pod object of another server, with these container states."""
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": f"c{index}"} for index in range(len(statuses))]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [
                {
                    "name": f"c{index}",
                    "restartCount": 0,
                    "ready": "running" in state,
                    "state": state,
                }
                for index, state in enumerate(statuses)
            ],
        },
    }


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"terminated": {"exitCode": 3}}, "ExitCode:3"),
        ({"terminated": {"exitCode": 137, "signal": 9}}, "Signal:9"),
        ({"running": {}}, "Running"),
    ],
)
def test_ends_without_a_reason_have_columns_too(state: dict[str, Any], text: str) -> None:
    assert columns(pod_with(state)).status == text


def test_a_pod_with_one_container_left_still_runs() -> None:
    done = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    assert columns(pod_with(done, {"running": {}})) == PodColumns(
        ready="1/2", status="Running", restarts=0
    )
