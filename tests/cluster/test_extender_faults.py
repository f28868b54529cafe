"""What goes wrong with an extender, and what becomes of pods meanwhile, as is configured.

The node has room for one more pod one NUMA node big, and for two by the sums. An extender that the
scheduler may not do without (``ignorable: false``) means that nothing is bound without it; one that
it may, that the scheduler goes on by the sums, as it did before.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from cluster import accounts, manifests, storm_scene
from cluster.storm_scene import REASON, Scene
from running import extenders, jumping_numalet, storms
from running.control_plane import ControlPlane
from running.extenders import RunningExtender
from running.fleet_observer import NUMA_NODES
from running.server_programs import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("ignorable", [False, True], ids=["needed", "ignorable"]),
]
NODE: Final = "hollow-0"
REFUSED: Final = "connection refused"
TOO_SLOW: Final = "Client.Timeout exceeded"
NOT_KNOWN: Final = "numalet: the cluster is not known yet"
NOTHING_KNOWN: Final = "numalet: nothing is known of this node"
HELD: Final = ("a", "b")
"""Pods that run on the node from the beginning."""


@dataclass
class Trial:
    """A node, a scheduler, and pods that come in rounds."""

    scene: Scene
    ignorable: bool
    rounds: int = 0

    def _names(self) -> tuple[str, str, str]:
        self.rounds += 1
        return f"small-{self.rounds}", f"one-{self.rounds}", f"two-{self.rounds}"

    async def goes_by_the_engine(self) -> None:
        """Of two pods that fit by the sums, the one that fits runs, and the other one is told why.

        Nothing is rejected that was not before.
        """
        seen, before = self.scene.seen, len(self.scene.seen.rejections)
        small, *both = self._names()
        await self.scene.create(storms.small_pod(small), *map(storms.pod, both))
        await self.scene.until_in("Running", small)
        await seen.until(lambda: len({*both} & {*seen.names("Running")}) == 1)
        await seen.until(lambda: any(REASON in self.scene.why(each) for each in both))
        assert len(seen.rejections) == before, seen.rejections
        await self.clear(*both)

    async def goes_on_without(self, said: str) -> None:
        """Pods are placed by the sums, or none is, and users are told ``said``."""
        seen, before = self.scene.seen, len(self.scene.seen.rejections)
        small, *both = self._names()
        await self.scene.create(storms.small_pod(small), *map(storms.pod, both))
        if self.ignorable:
            await self.scene.until_in("Running", small)
            await seen.until(lambda: len({*both} & {*seen.names("Running")}) == 1)
            await seen.until(lambda: len({*both} & {*seen.names("Failed")}) == 1)
            await self.clear(*both)
            return
        for each in (small, *both):
            await self.scene.until_waiting(each, said)
        assert len(seen.rejections) == before, seen.rejections
        await self.clear(*both)

    async def finds_nothing_known(self) -> None:
        """Pods wait for what is not known, but for one that is not aligned."""
        small, *both = self._names()
        await self.scene.create(*map(storms.pod, both))
        for each in both:
            await self.scene.until_waiting(each, NOTHING_KNOWN)
        # From here on the node changes, so that it may publish itself anew.
        await self.scene.create(storms.small_pod(small))
        await self.scene.until_in("Running", small)
        await self.clear(*both)

    async def catches_up(self) -> None:
        """What waited for the extender runs, once something makes the scheduler try again."""
        small = f"small-{self.rounds}"
        await self.scene.wake(small)
        await self.scene.until_in("Running", small)

    async def clear(self, *names: str) -> None:
        """Delete pods, and wait until the room that they had is published."""
        # Else the scheduler would give the room of one that goes to one that is to go next.
        waiting = {*names} & {*self.scene.seen.names("Pending")}
        for some in (waiting, {*names} - waiting):
            await self.scene.delete(*some)
            await self.scene.seen.until(lambda: not any(map(self.scene.seen.pod, some)))  # noqa: B023
        await self.scene.fleet.until(lambda: not {*names} & {*self.scene.fleet.phases()})
        await self.scene.fleet.settled()


@contextlib.asynccontextmanager
async def trial(
    plane: ControlPlane, extender: RunningExtender, ignorable: bool, **configured: Any
) -> AsyncIterator[Trial]:
    """A node with room for one more pod, and a scheduler with this extender."""
    async with storm_scene.of_nodes(plane, 1) as scene:
        await scene.fill(NODE, *HELD)
        plane.start_scheduler([extender.configuration(ignorable=ignorable, **configured)])
        yield Trial(scene, ignorable)


async def test_an_extender_that_is_killed_and_started_again(
    defined: ControlPlane, ignorable: bool
) -> None:
    with extenders.running(defined.kubeconfig) as first:
        async with trial(defined, first, ignorable) as pods:
            await pods.goes_by_the_engine()
            first.end(signal.SIGKILL)
            await pods.goes_on_without(REFUSED)
            with extenders.running(defined.kubeconfig, port=first.port):
                await pods.catches_up()
                await pods.goes_by_the_engine()


async def test_an_extender_that_hangs(defined: ControlPlane, ignorable: bool) -> None:
    with extenders.running(defined.kubeconfig) as extender:
        async with trial(defined, extender, ignorable, httpTimeout="1s") as pods:
            await pods.goes_by_the_engine()
            extender.process.send_signal(signal.SIGSTOP)
            await pods.goes_on_without(TOO_SLOW)
            extender.process.send_signal(signal.SIGCONT)
            await pods.catches_up()
            await pods.goes_by_the_engine()


async def test_an_extender_that_has_not_listed_everything_lets_no_pod_pass(
    defined: ControlPlane, ignorable: bool
) -> None:
    rules = manifests.of_kind("ClusterRole")["numalet-reader"]["rules"]
    fewer = accounts.without(rules, ("", "pods", "list"))
    kubeconfig = accounts.kubeconfig(defined, fewer)
    with extenders.running(kubeconfig, is_ready=False) as extender:
        extender.until_said("serving ")
        async with trial(defined, extender, ignorable) as pods:
            assert extender.get("/readyz").status_code == 503
            await pods.goes_on_without(NOT_KNOWN)
            assert extender.metric("requests_total", verb="filter", result="not-ready") >= 3
            assert extender.metric("ready") == extender.metric("up") == 0
            accounts.allow(defined, kubeconfig, rules)
            extender.until_said("ready: ")
            assert extender.get("/readyz").status_code == 200
            assert extender.metric("ready") == 1
            await pods.catches_up()
            await pods.goes_by_the_engine()


async def test_an_api_server_that_is_started_again(defined: ControlPlane, ignorable: bool) -> None:
    with extenders.running(defined.kubeconfig) as extender:
        async with trial(defined, extender, ignorable) as pods:
            await pods.goes_by_the_engine()
            await defined.api_server.restart_meanwhile()
            extender.until_said("may be out of date: ")
            await pods.goes_by_the_engine()
            await pods.scene.seen.until(lambda: extender.metric("up") == 1)
            assert extender.metric("view_age_seconds") == 0
            assert extender.get("/readyz").status_code == 200


async def test_a_scheduler_that_is_started_again(defined: ControlPlane, ignorable: bool) -> None:
    with extenders.running(defined.kubeconfig) as extender:
        async with trial(defined, extender, ignorable) as pods:
            await pods.scene.create(*(storms.pod(f"early-{at}") for at in range(8)))
            await defined.scheduler.restart_meanwhile()
            await pods.scene.seen.until(lambda: pods.scene.seen.phases()["Running"] == 3)
            await pods.scene.seen.until(lambda: pods.scene.seen.phases()["Pending"] == 7)
            assert pods.scene.seen.rejections == {}
            await pods.clear(*(f"early-{at}" for at in range(8)))
            await pods.goes_by_the_engine()


async def test_pods_of_other_schedulers_need_no_extender(
    defined: ControlPlane, ignorable: bool
) -> None:
    """Whoever runs the extender in the cluster can start it there while none runs."""
    ours = "numalet-scheduler"
    port = free_port()
    nobody = {"urlPrefix": f"http://127.0.0.1:{port}", "filterVerb": "filter"}
    async with storm_scene.of_nodes(defined, 1) as scene:
        defined.start_scheduler()
        second = defined.another_scheduler(ours, [{**nobody, "ignorable": ignorable}])
        second.start()
        try:
            await scene.create(storms.small_pod("extender"))
            await scene.create(storms.small_pod("job", schedulerName=ours))
            await scene.until_in("Running", "extender")
            if ignorable:
                await scene.until_in("Running", "job")
            else:
                await scene.until_waiting("job", REFUSED)
                with extenders.running(defined.kubeconfig, port=port):
                    await scene.wake("extender")
                    await scene.until_in("Running", "job")
        finally:
            second.kill()


async def test_a_wall_clock_that_jumps(defined: ControlPlane, ignorable: bool) -> None:
    program = (jumping_numalet.__file__,)
    with extenders.running(defined.kubeconfig, program=program) as extender:
        async with trial(defined, extender, ignorable) as pods:
            for number, said in (
                (signal.SIGUSR1, "the clock is 86400 s ahead"),
                (signal.SIGUSR2, "the clock is -86400 s ahead"),
            ):
                extender.process.send_signal(number)
                extender.until_said(said)
                await pods.goes_by_the_engine()
                assert extender.get("/readyz").status_code == 200


def rubbish(spec: dict[str, Any]) -> None:
    """What somebody writes who has never seen one."""
    spec["state"]["pods"] = {"?": "rubbish"}


def of_a_newer_version(spec: dict[str, Any]) -> None:
    """What a pod holds has a word of which this version does not know what it means."""
    pods = spec["state"]["pods"]
    spec["state"]["pods"] = {uid: f"{text} x0=1" for uid, text in pods.items()}


def of_a_newer_class(spec: dict[str, Any]) -> None:
    """The class of the node can not be read."""
    spec["class"] = "newer"


DAMAGES: Final = {
    rubbish: "'rubbish' is no container",
    of_a_newer_version: "'x0=1' is nothing that a pod can hold",
    of_a_newer_class: "its class newer is not among the NumaNodeClasses",
}


async def test_a_published_state_that_can_not_be_used(
    defined: ControlPlane, ignorable: bool
) -> None:
    path = f"{NUMA_NODES}/{NODE}"
    with extenders.running(defined.kubeconfig, "--unknown-nodes", "refuse") as extender:
        async with trial(defined, extender, ignorable) as pods:
            await pods.scene.seen.until(
                lambda: extender.metric("cluster_nodes", origin="published") == 1
            )
            for damage, said in DAMAGES.items():
                value = defined.get(path)
                damage(value["spec"])
                assert defined.request("PUT", path, value).status_code == 200
                extender.until_said(said)
                extender.until_said("the state of a node is undecided now")
                await pods.scene.seen.until(
                    lambda: extender.metric("cluster_nodes", origin="undecided") == 1
                )
                await pods.finds_nothing_known()
                # Its publisher begins anew, and publishes all.
                pods.scene.fleet.publisher.kill()
                await pods.scene.seen.until(
                    lambda: extender.metric("cluster_nodes", origin="published") == 1
                )
                await pods.goes_by_the_engine()
            assert pods.scene.seen.rejections == {}
