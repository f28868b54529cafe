"""``numalet nri`` as a process, and a container runtime of the test's own at the other end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import tempfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import grpc
import pytest

from numalet.agent.nri.choices import EVENTS
from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model import cpu_set
from numalet.io.rpc import methods
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from numalet.io.rpc import pod_resources_v1_pb2 as v1
from numalet.io.rpc import ttrpc_pb2 as ttrpc
from running.fake_api_server import FakeApiServer
from running.fake_runtime import (
    BURSTABLE,
    GUARANTEED,
    PLUGIN,
    FakeRuntime,
    container,
    event,
    request,
    sandbox,
)
from running.said_program import SaidProgram
from running.server_programs import free_port

MACHINE = ("-m", "4n16c1t", "--memory-per-node", "16Gi")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Runtime:
    """A listening socket; every plugin that connects is registered and synchronized."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "nri.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.listener.settimeout(200)
        self.has: dict[str, tuple[nri.PodSandbox, nri.Container]] = {}
        self._ends: list[socket.socket] = []

    def connection(self, name: str = "numalet") -> FakeRuntime:
        """Serve connections until one of this name is registered; what each wants is applied.

        Repairs have connections of their own at any moment, also one of a process just killed.
        """
        while True:
            end, _ = self.listener.accept()
            self._ends.append(end)
            runtime = FakeRuntime(end)
            try:
                found, events = self._registered(runtime)
            except (AssertionError, OSError):
                continue
            assert events == (EVENTS if found == "numalet" else 4)
            if found == name:
                return runtime

    def _registered(self, runtime: FakeRuntime) -> tuple[str, int]:
        """Register a plugin and synchronize it; its name and the events that it wants."""
        registered = runtime.registration()
        configured = runtime.answer("Configure", nri.ConfigureRequest(), nri.ConfigureResponse)
        asked = nri.SynchronizeRequest(
            pods=[pod for pod, _ in self.has.values()],
            containers=[each for _, each in self.has.values()],
        )
        answer = runtime.answer("Synchronize", asked, nri.SynchronizeResponse)
        self.apply(list(answer.update))
        runtime.accept()
        return registered.plugin_name, configured.events

    def close(self) -> None:
        for each in (self.listener, *self._ends):
            each.close()

    def create(self, runtime: FakeRuntime, pod: nri.PodSandbox, cpu: int = 2) -> nri.Container:
        made = container(pod, cpu=cpu, created_at=len(self.has))
        answer = runtime.answer("CreateContainer", request(pod, made), nri.CreateContainerResponse)
        made.linux.resources.MergeFrom(answer.adjust.linux.resources)
        made.annotations.update(answer.adjust.annotations)
        self.has[made.id] = pod, made
        self.apply(list(answer.update))
        return made

    def apply(self, updates: list[nri.ContainerUpdate]) -> None:
        for each in updates:
            _, changed = self.has[each.container_id]
            changed.linux.resources.MergeFrom(each.linux.resources)

    def cpus(self, of: nri.Container) -> frozenset[int]:
        return cpu_set.parse(self.has[of.id][1].linux.resources.cpu.cpus)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, because a socket is in it."""
    with tempfile.TemporaryDirectory(prefix="nri") as made:
        yield Path(made)


@pytest.fixture
def runtime(folder: Path) -> Iterator[Runtime]:
    made = Runtime(folder)
    yield made
    made.close()


def words(folder: Path, *more: str, mode: str = "enforce") -> tuple[str, ...]:
    paths = ("--socket", str(folder / "nri.sock"), "--root", str(folder / "root"))
    return ("nri", "--mode", mode, *MACHINE, *paths, *more)


def test_it_pins_comes_back_and_repairs(folder: Path, runtime: Runtime) -> None:
    port = free_port()
    plugin = SaidProgram(*words(folder, "--audit-seconds", "0.2", "--metrics", str(port)))
    try:
        main = runtime.connection()
        web = runtime.create(main, sandbox("web", BURSTABLE), cpu=1)
        db = runtime.create(main, sandbox("db"))
        assert len(runtime.cpus(db)) == 2
        assert not runtime.cpus(db) & runtime.cpus(web)
        # The connection breaks, and containers start meanwhile.
        main.end.close()
        late = container(sandbox("late"), created_at=9)
        runtime.has[late.id] = sandbox("late"), late
        before = runtime.cpus(db)
        main = runtime.connection()
        assert runtime.cpus(db) == before
        assert len(runtime.cpus(late)) == 2
        assert not runtime.cpus(late) & (runtime.cpus(db) | runtime.cpus(web))
        plugin.until_said("started unpinned while numalet was not connected")
        # The end of a sandbox has no answer that could grow the pool; a second connection can.
        pod, _ = runtime.has.pop(db.id)
        main.answer("StopPodSandbox", request(pod), nri.UpdatesResponse)
        second = runtime.connection("numalet-repair")
        assert runtime.cpus(web) > before
        second.end.close()
        url = f"http://127.0.0.1:{port}/metrics"
        shown = urllib.request.urlopen(url, timeout=60).read().decode()
        assert 'numalet_nri_unpinned_starts_total{cause="not-connected"} 1.0' in shown
        assert "numalet_nri_connected 1.0" in shown
        # No call but registrations ever came: an unsolicited update can block the node.
        assert main.called == second.called == ["RegisterPlugin"]
        assert plugin.end() == 0
        assert "Stopped; containers keep their settings" in plugin.said
    finally:
        plugin.kill()
    # The next process reads what its predecessor gave.
    plugin = SaidProgram(*words(folder))
    try:
        again = runtime.connection()
        assert len(runtime.cpus(late)) == 2
        other = runtime.create(again, sandbox("other"))
        assert not runtime.cpus(other) & runtime.cpus(late)
    finally:
        plugin.kill()


def test_events_of_the_pods_are_written_to_the_cluster(folder: Path, runtime: Runtime) -> None:
    events = "/api/v1/namespaces/default/events"

    def scene(kubeconfig: Path) -> None:
        more = ("--kubeconfig", str(kubeconfig), "--node-name", "n7", "--no-room", "unpinned")
        plugin = SaidProgram(*words(folder, *more))
        try:
            main = runtime.connection()
            runtime.create(main, sandbox("huge"), cpu=64)
            # A cluster that refuses events does not stop the plugin.
            plugin.until_said("Event not written")
            runtime.create(main, sandbox("db"))
            assert plugin.end() == 0
        finally:
            plugin.kill()

    async def beside_a_cluster() -> list[bytes]:
        server = FakeApiServer()
        await server.start()
        server.refused[events] = 403
        try:
            await asyncio.to_thread(scene, server.write_kubeconfig(folder / "kubeconfig"))
        finally:
            await server.stop()
        return [each.body for each in server.requests if each.path == events]

    (written,) = map(json.loads, asyncio.run(beside_a_cluster()))
    assert written["involvedObject"]["name"] == "huge"
    assert written["message"].endswith("the node has no room for it")


def test_one_folder_has_one_plugin(folder: Path, runtime: Runtime) -> None:
    plugin = SaidProgram(*words(folder))
    try:
        runtime.connection()
        second = SaidProgram(*words(folder))
        assert second.process.wait(200) == 2
        second.until_said("another numalet nri uses")
        second.kill()
    finally:
        plugin.kill()


def test_a_runtime_that_is_not_there_is_waited_for(folder: Path) -> None:
    plugin = SaidProgram(*words(folder))
    try:
        plugin.until_said("Not connected to the runtime")
        runtime = Runtime(folder)
        runtime.connection()
        runtime.close()
    finally:
        plugin.kill()


def test_kills_at_any_moment_lose_and_double_nothing(folder: Path, runtime: Runtime) -> None:
    chance = random.Random(7)
    plugin = SaidProgram(*words(folder, "--no-room", "unpinned"))
    try:
        main = runtime.connection()
        for at in range(60):
            if at % 10 == 9:
                # With its question unanswered: the runtime goes on without the plugin.
                lost = container(sandbox(f"lost{at}"), cpu=1, created_at=at)
                asked = request(sandbox(f"lost{at}"), lost)
                call = ttrpc.Request(
                    service=PLUGIN, method="CreateContainer", payload=asked.SerializeToString()
                )
                main.send(1, 9001, 1, call.SerializeToString())
                plugin.kill()
                runtime.has[lost.id] = sandbox(f"lost{at}"), lost
                plugin = SaidProgram(*words(folder, "--no-room", "unpinned"))
                main = runtime.connection()
            parent = BURSTABLE if at % 4 == 0 else GUARANTEED
            runtime.create(main, sandbox(f"p{at}", parent), cpu=chance.choice([1, 2, 4]))
            if len(runtime.has) > 20:
                pod, ended = runtime.has.pop(chance.choice(list(runtime.has)))
                answer = main.answer("StopContainer", request(pod, ended), nri.UpdatesResponse)
                runtime.apply(list(answer.update))
                main.answer("StopPodSandbox", request(pod), nri.UpdatesResponse)
        plugin.kill()
        plugin = SaidProgram(*words(folder, "--no-room", "unpinned"))
        main = runtime.connection()
    finally:
        plugin.kill()
    sets = {name: runtime.cpus(each) for name, (_, each) in runtime.has.items()}
    shared = next(runtime.cpus(each) for pod, each in runtime.has.values() if is_shared(pod))
    own = [cpus for cpus in sets.values() if cpus != shared]
    assert len(own) > 5
    assert all(not one & other for one, other in combinations(own, 2))
    assert all(not each & shared for each in own)
    assert shared.union(*own) == frozenset(range(64))
    assert all(runtime.cpus(each) == shared for pod, each in runtime.has.values() if is_shared(pod))


def is_shared(pod: nri.PodSandbox) -> bool:
    return BURSTABLE in pod.linux.cgroup_parent


@pytest.mark.parametrize(
    ("more", "problem"),
    [(("--index", "1"), "two digits"), (("--metrics", "x"), "--metrics: invalid address")],
)
def test_wrong_options_are_named(folder: Path, more: tuple[str, str], problem: str) -> None:
    plugin = SaidProgram(*words(folder, *more))
    plugin.until_said(problem)
    assert plugin.process.wait(200) == 2
    plugin.kill()


PERMISSIONS = """\
apiVersion: numalet.dev/v1alpha1
kind: WorkloadPermissions
namespaces:
- name: default
  permits: {placement: [one-numa-node], cpus: [exclusive]}
"""


def test_pods_choose_what_their_namespace_may(folder: Path, runtime: Runtime) -> None:
    events = "/api/v1/namespaces/default/events"
    (folder / "permissions.yaml").write_text(PERMISSIONS)

    def scene(kubeconfig: Path) -> None:
        more = ("--permissions", str(folder / "permissions.yaml"), "--kubeconfig", str(kubeconfig))
        plugin = SaidProgram(*words(folder, *more))
        try:
            main = runtime.connection()
            web = sandbox("web", BURSTABLE, numalet_dev__placement="one-numa-node")
            app = sandbox("app", BURSTABLE, numalet_dev__cpus="exclusive")
            out = sandbox("out", numalet_dev__placement="ignore")
            for pod in (web, app, out):
                main.answer("StateChange", event(1, pod), nri.UpdatesResponse)
            confined, own = runtime.create(main, web, cpu=1), runtime.create(main, app, cpu=3)
            assert len(runtime.cpus(own)) == 3
            node = min(runtime.cpus(confined)) // 16
            on_node = frozenset(range(node * 16, node * 16 + 16))
            assert runtime.cpus(confined) == on_node - runtime.cpus(own)
            assert confined.linux.resources.cpu.mems == str(node)
            # The annotation is ignored: the pod is pinned.
            assert len(runtime.cpus(runtime.create(main, out))) == 2
            plugin.until_said("is not permitted in this namespace")
            plugin.until_said("Event not written")
            assert plugin.end() == 0
        finally:
            plugin.kill()

    async def beside_a_cluster() -> list[bytes]:
        server = FakeApiServer()
        await server.start()
        server.refused[events] = 403
        try:
            await asyncio.to_thread(scene, server.write_kubeconfig(folder / "kubeconfig"))
        finally:
            await server.stop()
        return [each.body for each in server.requests if each.path == events]

    (written,) = map(json.loads, asyncio.run(beside_a_cluster()))
    assert (written["involvedObject"]["name"], written["reason"]) == ("out", "AnnotationIgnored")
    assert written["message"].endswith("expected one of: one-numa-node")


def test_in_mode_shared_only_nothing_is_refused(folder: Path, runtime: Runtime) -> None:
    plugin = SaidProgram(*words(folder, mode="shared-only"))
    try:
        main = runtime.connection()
        made = [runtime.create(main, sandbox(f"p{at}"), cpu=12) for at in range(5)]
        nodes = [runtime.cpus(each) for each in made]
        # Four fit on a node each; for the fifth no node has room.
        assert len(set(map(len, nodes[:4]))) == 1
        assert frozenset().union(*nodes[:4]) == nodes[4] == frozenset(range(64))
        assert all(not one & other for one, other in combinations(nodes[:4], 2))
        assert plugin.end() == 0
    finally:
        plugin.kill()
    # In the other mode they get exclusive CPUs, the first ones first.
    plugin = SaidProgram(*words(folder, "--no-room", "unpinned"))
    try:
        runtime.connection()
        own = [runtime.cpus(each) for each in made[:4]]
        assert list(map(len, own)) == [12] * 4
        assert all(one <= before for one, before in zip(own, nodes[:4], strict=True))
    finally:
        plugin.kill()


@contextlib.contextmanager
def kubelet(
    root: Path, allocatable: v1.AllocatableResourcesResponse, listed: v1.ListPodResourcesResponse
) -> Iterator[None]:
    """A kubelet's PodResources API below its root directory."""
    (root / "pod-resources").mkdir(parents=True)
    server = grpc.server(ThreadPoolExecutor(2))
    answers = {methods.GET_ALLOCATABLE: allocatable, methods.LIST: listed}
    handlers = [(method, lambda *_, answer=each: answer) for method, each in answers.items()]
    server.add_generic_rpc_handlers(methods.services(handlers))  # type: ignore[arg-type]
    server.add_insecure_port(f"unix:{root}/pod-resources/kubelet.sock")
    server.start()
    try:
        yield
    finally:
        server.stop(None).wait()


def test_cpus_and_memory_are_next_to_the_device(folder: Path, runtime: Runtime) -> None:
    gpus = [
        v1.ContainerDevices(
            resource_name="nvidia.com/gpu",
            device_ids=[f"gpu{at}"],
            topology=v1.TopologyInfo(nodes=[v1.NUMANode(ID=at)]),
        )
        for at in range(4)
    ]
    train = v1.PodResources(
        name="train",
        namespace="default",
        containers=[v1.ContainerResources(name="app", devices=[gpus[2]])],
    )
    answers = (
        v1.AllocatableResourcesResponse(devices=gpus),
        v1.ListPodResourcesResponse(pod_resources=[train]),
    )
    root = folder / "kubelet"
    with kubelet(root, *answers):
        plugin = SaidProgram(*words(folder, "--kubelet-root", str(root)))
        try:
            main = runtime.connection()
            app = runtime.create(main, sandbox("train"), cpu=4)
            assert runtime.cpus(app) <= frozenset(range(32, 48))
            assert app.linux.resources.cpu.mems == "2"
        finally:
            plugin.kill()


def test_beside_a_kubelet_with_managers_it_only_observes(folder: Path, runtime: Runtime) -> None:
    answers = (v1.AllocatableResourcesResponse(cpu_ids=[1, 2]), v1.ListPodResourcesResponse())
    root = folder / "kubelet"
    with kubelet(root, *answers):
        plugin = SaidProgram(*words(folder, "--kubelet-root", str(root)))
        try:
            plugin.until_said("the kubelet's cpuManagerPolicy is static")
            main = runtime.connection()
            assert not runtime.cpus(runtime.create(main, sandbox("db")))
        finally:
            plugin.kill()


@pytest.mark.parametrize(
    ("policies", "why"),
    [
        (("static", "None"), "the kubelet's cpuManagerPolicy is static"),
        (("none", "Static"), "the kubelet's memoryManagerPolicy is Static"),
    ],
)
def test_the_state_files_of_a_kubelet_show_its_managers(
    folder: Path, runtime: Runtime, policies: tuple[str, str], why: str
) -> None:
    root = folder / "kubelet"
    root.mkdir()
    cpu_policy, memory_policy = policies
    (root / cpu_file.FILE_NAME).write_text(cpu_file.write(cpu_policy, CpuLedger()))
    nothing = MemoryLedger({}, {})
    (root / memory_file.FILE_NAME).write_text(memory_file.write(memory_policy, nothing))
    plugin = SaidProgram(*words(folder, "--kubelet-root", str(root)))
    try:
        plugin.until_said(why)
        main = runtime.connection()
        assert not runtime.cpus(runtime.create(main, sandbox("db")))
    finally:
        plugin.kill()


def test_a_wrong_file_of_permissions_is_named(folder: Path) -> None:
    path = folder / "permissions.yaml"
    path.write_text(PERMISSIONS.replace("exclusive", "all"))
    plugin = SaidProgram(*words(folder, "--permissions", str(path)))
    plugin.until_said("$.namespaces[0].permits.cpus[0]: unknown value 'all'")
    assert plugin.process.wait(200) == 2
    plugin.kill()
