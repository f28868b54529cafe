"""Every verb of every role is needed: without it a program says which one it lacks.

The programs run with the roles of the manifests, and with these but for one verb. A verb that no
program misses fails, and so does a program that lacks one while it has all of its role.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import pytest

from cli.commands import Runner
from cluster import accounts, guaranteed_pods, manifests
from cluster.manifests import Permission
from numalet.agent.nri import reporting
from numalet.agent.nri.choices import EventReason
from numalet.agent.nri.following import FollowedPods
from numalet.agent.nri.seen import SeenPod
from numalet.agent.publish import publisher
from numalet.agent.publish.pod_annotator import PodAnnotator
from numalet.agent.publish.publisher import PublishChoice
from numalet.cluster.hollow import node_document
from numalet.cluster.hollow.fleet import HollowFleet
from numalet.cluster.hollow.fleet_members import FleetOptions, members_of
from numalet.cluster.hollow.publishing import HollowPublisher
from numalet.cluster.live import LiveCluster
from numalet.cluster.waker import LABEL, Waker, WakingLimits
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.findings import Finding
from numalet.io.kube_api import access, client
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import RequestLimits
from numalet.io.kube_api.values import Access
from numalet.io.tasks import beside
from numalet.shared.kubernetes import kai
from numalet.shared.publish import node_view
from numalet.wording.log_line import LogLine
from running import hollow_fleets
from running.control_plane import ControlPlane
from values import hollow_pods, profile_bench

Program = Callable[[Access, ControlPlane, "Said"], Coroutine[Any, Any, None]]

PUBLISHER: Final = partial(HollowPublisher, has_topology=True, has_kai=True)
PATIENCE_SECONDS: Final = 60.0
NOTHING: Final = ("", "", "")
LACKS: Final = re.compile(r"cannot \w+ resource|may not \w+ ")


class Said:
    """What a program said, and what it is expected to say that it lacks."""

    def __init__(self, lacking: Permission) -> None:
        self.lines: list[str] = []
        _, resource, verb = lacking
        self.lacks_nothing = not verb
        # As the API server says it, or we.
        self._expected = re.compile(
            rf'cannot {verb} resource "{resource}"|may not [a-z, ]*\b{verb}\b \S*\b{resource}\b'
        )

    def say(self, text: str) -> None:
        self.lines.append(text)

    def names_it(self, text: str) -> bool:
        """Whether the text names the verb and the resource."""
        return self._expected.search(" ".join(text.split())) is not None

    @property
    def is_done(self) -> bool:
        """Whether it said what it lacks."""
        return not self.lacks_nothing and any(map(self.names_it, self.lines))

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it is so, or the program has said what it lacks; then for nothing more."""
        last = time.monotonic() + PATIENCE_SECONDS
        while not (self.is_done or is_so()):
            assert time.monotonic() < last, self.lines
            await asyncio.sleep(0.05)


async def publish(to: Access, plane: ControlPlane, said: Said) -> None:
    """Write the objects of a node once, of which none is there yet."""
    plane.create("/api/v1/nodes", {"metadata": {"name": "n7"}})

    def report(finding: Finding) -> None:
        said.say(str(finding))

    async with client.opened(to, limits=RequestLimits(patience_seconds=0)) as api:
        owner = await publisher.owner_of(api, "n7", report)
        writers = publisher.publisher(
            api, PublishChoice(node_name="n7"), owner, lambda: datetime.now(UTC), report
        )
        writers.offer(node_view.view_of_node(profile_bench.started("xeon-2n"), KubeletConfig(), ()))
        await writers.write_once()


async def follow(to: Access, plane: ControlPlane, said: Said) -> None:
    """Follow the cluster, as fleet, its metrics and the waker do."""
    plane.create("/api/v1/nodes", {"metadata": {"name": "n7"}})
    async with client.opened(to) as api, alive(followed := LiveCluster(), api):

        def has_all() -> bool:
            said.lines = [str(each) for each in followed.notes]
            cluster = followed.cluster()
            return followed.is_current and cluster is not None and "n7" in cluster.undecided

        # Watches begin after lists, and may be refused when all is there.
        await said.until(lambda: has_all() and said.lacks_nothing)


async def pin(to: Access, plane: ControlPlane, said: Said) -> None:
    """Follow the pods of a node and write an event, as the plugin of a runtime does."""
    reports: reporting.Reports = asyncio.Queue()
    reports.put_nowait(
        (SeenPod("sandbox", "uid", "default", "pinned"), "runs unpinned", EventReason.UNPINNED)
    )
    pods = FollowedPods()

    def say(line: LogLine) -> None:
        said.say(f"{line.message} {line.keys.get('why', '')}")

    def has_all() -> bool:
        events = plane.get("/api/v1/namespaces/default/events")["items"]
        is_written = "pinned" in {each["involvedObject"].get("name") for each in events}
        return is_written and pods.are_known.is_set()

    async with (
        client.opened(to) as api,
        beside(pods.follow(api, "n7", say)),
        beside(reporting.write(reports, api, "n7", say)),
    ):
        # A watch begins after its list, and may be refused when all is there.
        await said.until(lambda: said.lacks_nothing and has_all())


@contextlib.asynccontextmanager
async def alive(followed: LiveCluster, api: client.ApiClient) -> AsyncIterator[None]:
    """The cluster is followed until the end of the block."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(followed.follow(api))
        yield
        task.cancel()


async def wake(to: Access, plane: ControlPlane, said: Said) -> None:
    """Touch a node for a pod that waits, once there is room for it."""
    plane.create("/api/v1/nodes", {"metadata": {"name": "hollow-0"}})
    async with client.opened(to) as api:
        one = Waker(api, said.say, WakingLimits(patience_seconds=0.0))
        for held in (("4", "4"), ("4",)):
            await one.wake(hollow_pods.with_waiting(*held))
    labels = plane.get("/api/v1/nodes/hollow-0")["metadata"].get("labels", {})
    assert said.is_done or LABEL in labels


async def hollow(to: Access, plane: ControlPlane, said: Said) -> None:
    """Two nodes, of which one is there already, and a pod that comes and goes."""
    kind = hollow_fleets.gpu_kind()
    members = members_of(hollow_fleets.namings(2, [kind], "hollow"), [kind])
    first, second = members
    labels = {node_document.HOLLOW: "hollow"}
    plane.create("/api/v1/nodes", {"metadata": {"name": first, "labels": labels}})
    pods = f"/api/v1/namespaces/{plane.namespace()}/pods"
    options = FleetOptions(untaints=True, renew_seconds=0.2, writers=2)
    async with client.opened(to) as api, asyncio.TaskGroup() as group:
        fleet = HollowFleet(api, members, options, said.say, PUBLISHER)
        task = group.create_task(fleet.run())
        try:
            await fleet.register()
            await said.until(fleet.has_pods.is_set)
            plane.create(pods, guaranteed_pods.on(second))
            await said.until(lambda: plane.get(f"{pods}/pod")["status"]["phase"] == "Running")
            await said.until(lambda: kai.PLACEMENT in guaranteed_pods.notes(plane, pods))
            await said.until(lambda: fleet.writer.counts.events > 0)
            plane.request("DELETE", f"{pods}/pod")
            await said.until(lambda: fleet.writer.counts.released > 0)
            await said.until(lambda: fleet.leases.renewed > len(members))
            published = "/apis/numalet.dev/v1alpha1/numanodes"
            await said.until(lambda: len(plane.get(published)["items"]) == len(members))
            await fleet.remove()
            await said.until(lambda: said.lacks_nothing)
        except ApiRefused as refused:
            said.say(str(refused))
        finally:
            task.cancel()


async def bind(to: Access, plane: ControlPlane, said: Said) -> None:
    """Bind a pod that waits, as an extender that binds does."""
    plane.create("/api/v1/nodes", {"metadata": {"name": "n7"}})
    pods = f"/api/v1/namespaces/{plane.namespace()}/pods"
    waiting = pod_on("n7")
    del waiting["spec"]["nodeName"]
    plane.create(pods, waiting)
    target = {"apiVersion": "v1", "kind": "Node", "name": "n7"}
    binding = {"kind": "Binding", "metadata": {"name": "pod"}, "target": target}
    async with client.opened(to) as api:
        try:
            await api.create(f"{pods}/pod/binding", {"apiVersion": "v1", **binding})
        except ApiRefused as refused:
            said.say(str(refused))
    assert said.is_done or plane.get(f"{pods}/pod")["spec"]["nodeName"] == "n7"


def pod_on(node: str) -> dict[str, Any]:
    """A pod that is bound to the node."""
    spec = {
        "nodeName": node,
        "automountServiceAccountToken": False,
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "none"}],
    }
    return {"metadata": {"name": "pod"}, "spec": spec}


async def annotate(to: Access, plane: ControlPlane, said: Said) -> None:
    """Write what a pod holds into its annotations."""
    pods = f"/api/v1/namespaces/{plane.namespace()}/pods"
    view = guaranteed_pods.held(plane.create(pods, guaranteed_pods.on("n7")))

    def report(finding: Finding) -> None:
        said.say(str(finding))

    async with client.opened(to) as api, asyncio.TaskGroup() as group:
        annotator = PodAnnotator(api=api, node_name="n7", force=False, report=report)
        annotator.offer(view)
        task = group.create_task(annotator.run())
        await said.until(lambda: kai.PLACEMENT in guaranteed_pods.notes(plane, pods))
        task.cancel()


PROGRAMS: Final[dict[str, Program]] = {
    "numalet-publisher": publish,
    "numalet-reader": follow,
    "numalet-waker": wake,
    "numalet-hollow": hollow,
    "numalet-binder": bind,
    "numalet-annotator": annotate,
    "numalet-nri": pin,
}
COMMANDS: Final = {"numalet-reader": (("fleet", "fit", "cpu=1"), ("doctor", "cluster"))}
"""What answers once, with what it can list."""
ROLES: Final = manifests.of_kind("ClusterRole")
NEEDS: Final = [
    pytest.param(name, permission, id=f"{name}: {permission[2]} {permission[1]}")
    for name, role in ROLES.items()
    if name in PROGRAMS
    for permission in manifests.permissions(role)
]


@pytest.mark.parametrize("role", PROGRAMS)
def test_a_program_lacks_nothing_with_its_role(
    defined: ControlPlane, capsys: pytest.CaptureFixture[str], role: str
) -> None:
    kubeconfig = accounts.kubeconfig(defined, ROLES[role]["rules"])
    said = Said(NOTHING)
    asyncio.run(PROGRAMS[role](access.of(kubeconfig), defined, said))
    assert [each for each in said.lines if LACKS.search(each)] == []
    for words in COMMANDS.get(role, ()):
        ended = Runner(capsys)(*words, "--kubeconfig", str(kubeconfig))
        assert not LACKS.search(ended.out + ended.err)


@pytest.mark.parametrize(("role", "permission"), NEEDS)
def test_a_program_says_which_verb_it_lacks(
    defined: ControlPlane,
    capsys: pytest.CaptureFixture[str],
    role: str,
    permission: Permission,
) -> None:
    kubeconfig = accounts.kubeconfig(defined, accounts.without(ROLES[role]["rules"], permission))
    said = Said(permission)
    asyncio.run(PROGRAMS[role](access.of(kubeconfig), defined, said))
    assert said.is_done, said.lines
    for words in COMMANDS.get(role, ()) if permission[2] == "list" else ():
        ended = Runner(capsys)(*words, "--kubeconfig", str(kubeconfig))
        assert said.names_it(ended.out + ended.err)
        assert ended.status != 0


def test_every_role_is_that_of_a_program() -> None:
    # Those of the breaker are held against its page, in test_scheduling_manifests.
    others = {name for name in ROLES if name.startswith("numalet-breaker")}
    assert ROLES.keys() - others == PROGRAMS.keys()
