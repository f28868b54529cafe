"""The default scheduler, the extender, and another scheduler: the same nodes, the same pods.

Hollow nodes, which publish NumaNodes and NodeResourceTopologies, are the kubelets. Pods of eight
shapes are made as fast as the API server takes them. A rejected pod is made again at once, as a
ReplicaSet does, until there are six times as many as wanted. Every 3 s a label of a Node and of a
NodeResourceTopology changes, as in a cluster in which something happens. A run ends when all pods
run, or when nothing has changed for a while.

The other scheduler is a binary that you give: kube-scheduler with the plugin
NodeResourceTopologyMatch (kubernetes-sigs/scheduler-plugins, ``cmd/scheduler``), configured as its
README says, with a cache that is read again every 5 s. Without it the page keeps its rows.

    python -m benchmarks.rival --bin FOLDER [--scheduler FILE] [--seeds 3] [--write]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks import page, rival_pods

from cluster import manifests
from numalet.io.kube_api import access, client, paths
from numalet.io.kube_api.client import ApiClient
from numalet.shared.kubernetes import node_resource_topology
from running import (
    control_plane,
    control_plane_programs,
    ending,
    extenders,
    fleet_observer,
    hollow_program,
    process_costs,
)
from running.control_plane import ControlPlane
from running.control_plane_programs import ControlPlanePrograms
from running.fleet_observer import FleetObserver

SECTION: Final = "rival"
_CLIENTS: Final = 4
_MOST_TIMES: Final = 6
_QUIET_SECONDS: Final = 20.0
_LIMIT_SECONDS: Final = 180.0
_POKE_SECONDS: Final = 3.0
_GLANCE_SECONDS: Final = 0.05
_OTHER: Final = "NodeResourceTopologyMatch"
VARIANTS: Final = {
    "default scheduler": None,
    "extender": {},
    "extender with the bind gate": {"bindVerb": "bind"},
}
"""What is added to the extender's entry in the configuration of the scheduler."""
_HEADS: Final = [
    "", "run / wanted", "all run after", "pods/s", "p50 / p99 wait", "rejected",
    "CPU s: scheduler + extender",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one order of pods; waits are from the creation to Running."""

    wanted: int
    waits: list[float]
    seconds: float
    rejected: int
    scheduler_cpu: float
    extender_cpu: float


@dataclass(frozen=True, slots=True)
class Given:
    """Options of the command line that every run uses."""

    nodes: int
    share: float


@contextlib.contextmanager
def planes(programs: ControlPlanePrograms) -> Iterator[ControlPlane]:
    """A control plane that knows the project's objects and accounts."""
    with (
        tempfile.TemporaryDirectory(prefix="rival-", ignore_cleanup_errors=True) as folder,
        control_plane.running(programs, Path(folder)) as plane,
    ):
        plane.apply(*manifests.DEFINITIONS, *manifests.ACCOUNTS)
        plane.until_established()
        yield plane


@contextlib.contextmanager
def with_scheduler(programs: ControlPlanePrograms, file: Path) -> Iterator[ControlPlanePrograms]:
    """The programs, with this scheduler in place of Kubernetes' own."""
    with tempfile.TemporaryDirectory(prefix="rival-") as folder:
        for each in programs.folder.iterdir():
            (Path(folder) / each.name).symlink_to(
                file.resolve() if each.name == "kube-scheduler" else each.resolve()
            )
        yield ControlPlanePrograms(Path(folder), programs.release)


def other_profile() -> dict[str, Any]:
    arguments = {"scoringStrategy": {"type": "LeastAllocated"}, "cacheResyncPeriodSeconds": 5}
    return {
        "schedulerName": "default-scheduler",
        "plugins": {"multiPoint": {"enabled": [{"name": _OTHER}]}},
        "pluginConfig": [{"name": _OTHER, "args": arguments}],
    }


@contextlib.asynccontextmanager
async def filled_nodes(plane: ControlPlane, given: Given) -> AsyncIterator[str]:
    """Published nodes with a daemon pod each; the path of the pods of their namespace."""
    options = ("--untaint", "--node-resource-topology", "--events", "warnings")
    with tempfile.TemporaryDirectory(prefix="rival-nodes-") as folder:
        async with hollow_program.hollow_nodes(
            plane.kubeconfig, Path(folder), given.nodes, *options, ways=rival_pods.WAYS
        ):
            published = (fleet_observer.NUMA_NODES, node_resource_topology.PATH)
            await _until(
                lambda: all(len(plane.get(each)["items"]) == given.nodes for each in published)
            )
            pods = f"/api/v1/namespaces/{plane.namespace()}/pods"
            for at in range(given.nodes):
                body = rival_pods.pod(f"daemon-{at}", rival_pods.DAEMON, nodeName=f"hollow-{at}")
                plane.request("POST", pods, body)
            await _until(
                lambda: {x["status"]["phase"] for x in plane.get(pods)["items"]} == {"Running"}
            )
            yield pods


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(_LIMIT_SECONDS):
        while not await asyncio.to_thread(is_so):  # noqa: ASYNC110
            await asyncio.sleep(_GLANCE_SECONDS)


class Pods:
    """The pods of one run: each wanted one, and those that replace rejected ones."""

    def __init__(self, api: ApiClient, path: str, seen: FleetObserver, shapes: list[str]) -> None:
        self._api = api
        self._path = path
        self._seen = seen
        self._now = asyncio.get_running_loop().time
        self.wanted = len(shapes)
        self.shapes = {f"p-{at}": shape for at, shape in enumerate(shapes)}
        self.made_at: dict[str, float] = {}
        self._replaced: set[str] = set()

    async def make(self, name: str) -> None:
        self.made_at[name] = self._now()
        await self._api.create(
            self._path, rival_pods.pod(name, rival_pods.SHAPES[self.shapes[name]])
        )

    async def make_all(self) -> None:
        left = iter(tuple(self.shapes))

        async def work() -> None:
            for name in left:
                await self.make(name)

        async with asyncio.TaskGroup() as group:
            for _ in range(_CLIENTS):
                group.create_task(work())

    async def make_again(self) -> None:
        for name in [*self.of("Failed")]:
            if name not in self._replaced and len(self.made_at) < _MOST_TIMES * self.wanted:
                self._replaced.add(name)
                again = f"again-{len(self.shapes)}"
                self.shapes[again] = self.shapes[name]
                await self.make(again)

    def of(self, phase: str) -> Iterator[str]:
        """The names of pods in this phase."""
        seen = self._seen.pods
        return (name for name in self.made_at if name in seen and seen[name].phase == phase)

    def waits(self) -> list[float]:
        decided = self._seen.decided
        return [float(decided[name].decided_at or 0) - self.made_at[name]
                for name in self.of("Running") if name in decided]  # fmt: skip


async def until_all_run(api: ApiClient, pods: Pods) -> None:
    """Replace rejected pods until all run, nothing changes any more, or time is over."""
    began = changed_at = poked_at = time.monotonic()
    before: object = None
    while time.monotonic() - began < _LIMIT_SECONDS:
        await pods.make_again()
        now, running = time.monotonic(), sum(1 for _ in pods.of("Running"))
        state = (running, len(pods.made_at))
        if running >= pods.wanted or now - changed_at > _QUIET_SECONDS:
            return
        if state != before:
            before, changed_at = state, now
        if now - poked_at > _POKE_SECONDS:
            poked_at = now
            body = {"metadata": {"labels": {"example.com/poked": f"{now:.0f}"}}}
            await api.patch(paths.node("hollow-0"), body)
            await api.patch(f"{node_resource_topology.PATH}/hollow-0", body)
        await asyncio.sleep(_GLANCE_SECONDS)


async def run(
    plane: ControlPlane,
    given: Given,
    verbs: Mapping[str, str] | None,
    seed: int,
    **settings: Any,
) -> Run:
    """Let a scheduler place pods of this seed; ``verbs`` of the extender, None without one."""
    shapes = rival_pods.in_order(seed, given.nodes, given.share)
    admin = access.of(plane.kubeconfig)
    async with contextlib.AsyncExitStack() as stack:
        path = await stack.enter_async_context(filled_nodes(plane, given))
        entries, extender = [], None
        if verbs is not None:
            words = ("--bind",) if verbs else ()
            extender = stack.enter_context(extenders.running(plane.kubeconfig, *words))
            entry = extender.configuration(
                prioritizeVerb="prioritize", preemptVerb="preempt", weight=150, httpTimeout="5s",
                **verbs,
            )  # fmt: skip
            entries.append(entry)
        plane.start_scheduler(entries, percentageOfNodesToScore=100, **settings)
        stack.callback(plane.scheduler.kill)
        processes = [plane.scheduler.pid, *([] if extender is None else [extender.process.pid])]
        seen = await stack.enter_async_context(fleet_observer.observing(admin))
        api = await stack.enter_async_context(client.opened(admin))
        pods = Pods(api, path, seen, shapes)
        used = [process_costs.cpu_seconds(pid) for pid in processes]
        began = asyncio.get_running_loop().time()
        await pods.make_all()
        await until_all_run(api, pods)
        costs = [
            process_costs.cpu_seconds(pid) - before
            for pid, before in zip(processes, used, strict=True)
        ]
        last = max((each.decided_at or 0 for each in seen.decided.values()), default=began)
        done = Run(
            pods.wanted, pods.waits(), last - began, sum(1 for _ in pods.of("Failed")),
            costs[0], sum(costs[1:]),
        )  # fmt: skip
    plane.clear()
    return done


def row(name: str, runs: list[Run]) -> list[str]:
    """One line of the table, of all seeds together."""
    wanted, rejected = sum(each.wanted for each in runs), sum(each.rejected for each in runs)
    waits = [wait for each in runs for wait in each.waits]
    all_run = all(len(each.waits) >= each.wanted for each in runs)
    middle = statistics.median
    cpu = f"{middle(each.scheduler_cpu for each in runs):.1f}"
    extender_cpu = middle(each.extender_cpu for each in runs)
    return [
        name,
        f"{len(waits)} / {wanted}",
        f"{middle(each.seconds for each in runs):.1f} s" if all_run else "never",
        f"{middle(len(each.waits) / each.seconds for each in runs):.0f}",
        f"{fleet_observer.at_part(waits, 0.5):.1f} / {fleet_observer.at_part(waits, 0.99):.1f} s",
        f"{rejected} ({1000 * rejected / wanted:.1f} per 1,000)",
        f"{cpu} + {extender_cpu:.1f}" if extender_cpu else cpu,
    ]


def measured(
    name: str, plane: ControlPlane, given: Given, seeds: int, verbs: Any, **settings: Any
) -> list[str]:
    runs = []
    for seed in range(1, seeds + 1):
        runs.append(asyncio.run(run(plane, given, verbs, seed, **settings)))
        print(" | ".join(row(f"{name}, seed {seed}", runs[-1:])), "| load", page.load(), flush=True)
    return row(name, runs)


def kept_rows() -> list[list[str]]:
    """The rows of the other scheduler that the page has."""
    lines = page.section(SECTION).splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    return [each for each in rows if each[0].startswith(_OTHER)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--bin", type=Path, required=True, help="a folder of .ci/control-plane")
    parser.add_argument("--scheduler", type=Path, help=f"kube-scheduler with {_OTHER}")
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--share", type=float, default=0.8, help="of the CPUs that pods ask for")
    parser.add_argument("--seeds", type=int, default=3, help="orders of pods of each variant")
    parser.add_argument("--only", choices=VARIANTS, action="append", help="variants, default all")
    parser.add_argument("--write", action="store_true", help="write it into docs/benchmarks.md")
    options = parser.parse_args()
    ending.by_exception()
    programs = control_plane_programs.in_folder(options.bin)
    if isinstance(programs, str):
        parser.error(programs)
    given = Given(options.nodes, options.share)
    with planes(programs) as plane:
        rows = [
            measured(name, plane, given, options.seeds, VARIANTS[name])
            for name in options.only or VARIANTS
        ]
    if options.scheduler is None:
        rows += kept_rows()
    else:
        with with_scheduler(programs, options.scheduler) as others, planes(others) as plane:
            name = f"{_OTHER} ({options.scheduler.name})"
            rows.append(
                measured(name, plane, given, options.seeds, None, profiles=[other_profile()])
            )
    text = (
        f"{given.nodes} nodes, {options.seeds} orders of pods for {given.share:.0%} of their CPUs; "
        f"{page.machine()}; the load at the end was {page.load()}.\n\n{page.table(_HEADS, rows)}"
    )
    print(text)
    if options.write:
        page.write_section(SECTION, text)


if __name__ == "__main__":
    main()
