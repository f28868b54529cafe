"""The audit, the pods of the cluster, and the events about pods."""

import asyncio
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from numalet.agent.nri import audit, following, reporting, seen
from numalet.agent.nri.choices import EventReason
from numalet.agent.nri.plan import MOST_OVERRIDES, Member
from numalet.agent.nri.pod_annotations import Placement, PodChoice
from numalet.agent.nri.seen import SeenPod, Sets
from numalet.core.model import cpu_set
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import replace
from numalet.io.kube_api.answers import ApiUnreachable
from numalet.io.tasks import beside
from running.fake_runtime import container, sandbox

POD = SeenPod("sandbox-1", "uid-1", "prod", "db")


def member(pid: int, cpus: str, nodes: str = "") -> Member:
    pod = sandbox("db")
    found = replace(seen.container(container(pod), pod), pid=pid)
    planned = Sets(cpu_set.parse(cpus), cpu_set.parse(nodes))
    return Member(found, ContainerKey("uid-db/app", "app"), planned)


def process(proc: Path, pid: int, cpus: str, of: str = "db-app", nodes: str = "0-1") -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "status").write_text(f"Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t{nodes}\n")
    (folder / "cgroup").write_text(f"3:cpuset:/kubepods/poduid-db/{of}\n")


def test_more_cpus_or_nodes_than_planned_are_a_difference(tmp_path: Path) -> None:
    process(tmp_path, 7, "0-15")
    every = Sets(cpu_set.parse("0-15"), frozenset({0, 1}))
    assert audit.differing([member(7, "4-5")], tmp_path) == {"db-app": every}
    assert audit.differing([member(7, "0-15", "0")], tmp_path) == {"db-app": every}


def test_fewer_cpus_are_the_programs_own_choice(tmp_path: Path) -> None:
    process(tmp_path, 7, "4")
    assert audit.differing([member(7, "4-5", "0-1")], tmp_path) == {}


def test_what_is_unknown_or_another_process_is_no_difference(tmp_path: Path) -> None:
    process(tmp_path, 7, "0-15", of="another")
    process(tmp_path, 8, "not a list")
    members = [
        member(0, "4-5"),
        member(7, "4-5"),
        member(8, "4-5"),
        member(9, "4-5"),
        member(7, ""),
    ]
    assert audit.differing(members, tmp_path) == {}
    (tmp_path / "8" / "status").unlink()
    assert audit.differing([member(8, "4-5")], tmp_path) == {}


def group(folder: Path, stat: str, container: str = "0a" * 32) -> Path:
    below = folder / "kubepods" / "poduid-db" / container
    below.mkdir(parents=True)
    (below / "memory.numa_stat").write_text(stat)
    return below


def placed(nodes: str) -> Member:
    """A container with these NUMA nodes; its id is as long as those of runtimes."""
    made = member(7, "4-5", nodes)
    return replace(made, seen=replace(made.seen, id="0a" * 32))


def misplaced(
    members: list[Member], cgroups: Path, page_sizes: tuple[int, ...] = ()
) -> Mapping[str, audit.Misplaced]:
    return audit.misplaced(members, cgroups, audit.groups(cgroups), page_sizes)


def test_pages_on_other_nodes_than_planned_are_found(tmp_path: Path) -> None:
    stat = "anon N0=4096 N1=8192\nfile N0=0 N1=9000\nshmem N0=0 N1=4096\n"
    below = group(tmp_path, stat)
    (below / "hugetlb.2MB.numa_stat").write_text("total=2097152 N0=0 N1=2097152\n")
    found = misplaced([placed("0")], tmp_path, (2 << 20,))
    assert found == {
        "0a" * 32: audit.Misplaced({1: 8192 + 4096 + (2 << 20)}, frozenset({0}), is_v1=False)
    }
    assert misplaced([placed("0-1")], tmp_path) == {}


def test_cgroup_v1_counts_pages_and_moves_none(tmp_path: Path) -> None:
    stat = "anon=9 N0=9 N1=0\nhierarchical_file=1 N0=0 N1=1\nhierarchical_anon=3 N0=1 N1=2\n"
    group(tmp_path / "memory", stat)
    (found,) = misplaced([placed("0")], tmp_path).values()
    assert found.bytes_by_node == {1: 2 * os.sysconf("SC_PAGE_SIZE")}
    assert found.is_v1
    assert "cgroup v1 moves pages only with cpuset.memory_migrate" in found.text


def test_pages_that_nothing_is_known_of_are_not_misplaced(tmp_path: Path) -> None:
    assert misplaced([placed("0")], tmp_path) == {}
    group(tmp_path, "anon N0=x\n")
    assert misplaced([placed("0")], tmp_path) == {}
    # Without NUMA nodes of its own a container may have its memory anywhere.
    assert misplaced([placed("")], tmp_path) == {}


def test_what_others_set_is_no_difference_from_the_plan(tmp_path: Path) -> None:
    group(tmp_path, "anon N0=0 N1=4096\n")
    process(tmp_path, 7, "0-15")
    mine, of_others = placed("0"), PodChoice(placement=Placement.IGNORE)
    assert misplaced([mine], tmp_path)
    ignored = replace(mine, seen=replace(mine.seen, pod=replace(POD, choice=of_others)))
    left = replace(mine, overrides=(1.0,) * MOST_OVERRIDES)
    assert misplaced([ignored, left], tmp_path) == {}
    running = member(7, "4-5")
    assert audit.differing([running], tmp_path)
    ignored = replace(running, seen=replace(running.seen, pod=ignored.seen.pod))
    assert audit.differing([ignored], tmp_path) == {}


def pod_object(**metadata: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "db", "namespace": "prod", "uid": "uid-1", **metadata},
        "spec": {"nodeName": "n", "containers": [{"name": "app", "image": "x"}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {"name": "app", "containerID": "containerd://abc", "state": {"running": {}}},
                {"name": "old", "containerID": "containerd://def", "state": {"terminated": {}}},
                {"name": "new", "state": {"running": {}}},
            ],
        },
    }


def decoded(value: dict[str, object]) -> following.FollowedPod | None:
    return following._decoded(json.dumps(value).encode())


def test_a_pod_of_the_cluster_has_its_containers_that_run() -> None:
    found = decoded(pod_object())
    assert found is not None
    assert found.pod.uid == "uid-1"
    assert found.running == {"abc"}


def test_a_static_pod_has_the_uid_of_its_file() -> None:
    found = decoded(pod_object(annotations={"kubernetes.io/config.hash": "of-the-file"}))
    assert found is not None
    assert found.pod.uid == "of-the-file"


def test_a_pod_that_cannot_be_read_is_left_out() -> None:
    value = pod_object()
    value["spec"] = {"nodeName": "n", "containers": [{"name": "app", "resources": {"limits": 1}}]}
    assert decoded(value) is None


def test_an_event_names_the_pod_and_the_cause() -> None:
    at = datetime(2026, 11, 28, 22, 0, tzinfo=UTC)
    made = reporting.event(
        POD, "container app runs in the shared pool", EventReason.UNPINNED, "node-1", at
    )
    assert made["involvedObject"]["uid"] == "uid-1"
    assert (made["type"], made["reason"]) == ("Warning", "Unpinned")
    assert made["message"] == "container app runs in the shared pool"
    assert made["lastTimestamp"] == "2026-11-28T22:00:00Z"


class Api:
    """A client that refuses its first event."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.has_both = asyncio.Event()

    async def create(self, path: str, body: object) -> bytes:
        self.paths.append(path)
        if len(self.paths) == 1:
            raise ApiUnreachable("refused", "https://api")
        self.has_both.set()
        return b"{}"


def test_a_failed_event_does_not_stop_the_next_one() -> None:
    async def scene() -> tuple[list[str], list[str]]:
        api = Api()
        said: list[str] = []
        reports: reporting.Reports = asyncio.Queue()
        reports.put_nowait((POD, "one", EventReason.UNPINNED))
        reports.put_nowait((POD, "two", EventReason.MISPLACED))
        writing = reporting.write(
            reports, cast(Any, api), "n", lambda line: said.append(line.message)
        )
        async with beside(writing):
            await api.has_both.wait()
        return api.paths, said

    paths, said = asyncio.run(scene())
    assert paths == ["/api/v1/namespaces/prod/events"] * 2
    assert said == ["Event not written"]
