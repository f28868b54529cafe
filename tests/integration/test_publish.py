"""``numalet publish`` as a process beside a node, with a cluster on loopback.

The node is an agent that decides as a kubelet and starts nothing: its state files and what its
PodResources API answers are a kubelet's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from numalet.core.config.releases import table
from running.fake_api_server import FakeApiServer, Scripted
from running.server_programs import free_port

PATIENCE_SECONDS = 200.0
NODE = "/apis/numalet.dev/v1alpha1/numanodes/n7"
TOPOLOGY = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/n7"
GPU = "nvidia.com/gpu"
GPUS = f"{GPU}=g0@0,g1@0,g2@1,g3@1"
MACHINE = ("-m", "2n8c1t", "--memory-per-node", "16Gi")
CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
topologyManagerScope: pod
kubeReserved: {cpu: "1", memory: 924Mi}
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi}}
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def pod(name: str, gpus: int = 2) -> dict[str, Any]:
    limits = {"cpu": "2", "memory": "4Gi", GPU: str(gpus)}
    container = {"name": "main", "command": ["train"], "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }


async def process(*words: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "numalet", *words)
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)


async def ended(*words: str, given: str = "") -> tuple[int, str, str]:
    """How a command ended: exit status, standard output, standard error."""
    begun = await process(*words)
    output, errors = await begun.communicate(given.encode())
    assert begun.returncode is not None
    return begun.returncode, output.decode(), errors.decode()


async def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if holds():
                return
            await asyncio.sleep(0.02)


@dataclass
class Bench:
    """A node, a cluster, and the words with which the one publishes to the other."""

    root: Path
    server: FakeApiServer
    words: tuple[str, ...]
    owner_uid: str

    def stored(self, path: str) -> dict[str, Any] | None:
        """An object, if there is one."""
        for request in reversed(self.server.requests):
            if request.method == "PATCH" and request.path == path:
                found: dict[str, Any] = json.loads(request.body)
                return found
        return None

    def held(self) -> dict[str, str]:
        """What pods hold by the object of the node."""
        stored = self.stored(NODE)
        return {} if stored is None else dict(stored["spec"]["state"].get("pods", {}))

    async def admit(self, name: str, gpus: int = 2) -> int:
        """Submit a pod to the node; 0 if it was admitted."""
        words = ("apply", "-f", "-", "--root", str(self.root))
        code, _, _ = await ended(*words, given=json.dumps(pod(name, gpus)))
        return code

    @asynccontextmanager
    async def publishing(self, *more: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """A publisher at work; it must end well when it is asked to."""
        begun = await process("publish", *self.words, *more)
        draining = asyncio.create_task(begun.communicate())
        try:
            yield begun
        finally:
            with contextlib.suppress(ProcessLookupError):
                begun.send_signal(signal.SIGTERM)
            _, errors = await draining
            assert begun.returncode == 0, errors.decode()


@asynccontextmanager
async def bench(*more: str) -> AsyncIterator[Bench]:
    """A node, an agent with these further words, and a cluster."""
    with tempfile.TemporaryDirectory(prefix="node") as name:
        folder = Path(name)
        config, root = folder / "kubelet.yaml", folder / "root"
        config.write_text(CONFIG)
        server = FakeApiServer()
        await server.start()
        owner = server.put("/api/v1/nodes/n7", {"metadata": {"name": "n7"}})
        node = ("--runtime", "fake", "--exact", "-c", str(config), *MACHINE)
        kubeconfig = str(server.write_kubeconfig(folder / "kubeconfig"))
        words = ("agent", "--root", str(root), "--device", GPUS, *node)
        own = ("--node-name", "n7", "--kubeconfig", kubeconfig)
        agent = await process(*words, *own, *more)
        draining = asyncio.create_task(agent.communicate())
        version = ("--kubelet-version", f"v{table.DEFAULT.name}.0", *MACHINE)
        given = ("--kubelet-root", str(root), "-c", str(config), *version, "--node-name", "n7")
        try:
            await until((root / "pod-resources" / "kubelet.sock").exists)
            yield Bench(
                root, server, (*given, "--kubeconfig", kubeconfig), owner["metadata"]["uid"]
            )
        finally:
            agent.terminate()
            await draining
            await server.stop()


def run(scenario: Callable[[Bench], Awaitable[None]], *more: str) -> None:
    async def whole() -> None:
        async with bench(*more) as made:
            await scenario(made)

    asyncio.run(whole())


def test_what_a_node_holds_is_published_until_the_publisher_ends() -> None:
    async def scenario(bench: Bench) -> None:
        assert await bench.admit("first") == 0
        async with bench.publishing():
            await until(lambda: len(bench.held()) == 1 and bench.stored(TOPOLOGY) is not None)
            assert await bench.admit("second") == 0
            await until(lambda: len(bench.held()) == 2)
        code, output, _ = await ended("publish", "--dry-run", "-o", "json", *bench.words)
        assert code == 0
        printed = {each["kind"]: each for each in json.loads(output)["items"]}
        stored = bench.stored(NODE)
        assert stored is not None
        assert stored["metadata"]["ownerReferences"] == [
            {"apiVersion": "v1", "kind": "Node", "name": "n7", "uid": bench.owner_uid}
        ]
        assert stored["spec"]["state"] == printed["NumaNode"]["spec"]["state"]
        assert stored["spec"]["freeDevices"] == f"{GPU} 0:0 1:0"
        assert stored["spec"]["class"] == printed["NumaNodeClass"]["metadata"]["name"]
        applied = [each for each in bench.server.requests if each.method == "PATCH"]
        assert {each.query["fieldManager"] for each in applied} == {"numalet"}
        assert {(each.path, each.query["force"]) for each in applied} == {
            (NODE, "true"),
            (TOPOLOGY, "false"),
        }

    run(scenario)


def test_an_agent_publishes_what_a_publisher_beside_it_reads() -> None:
    async def scenario(bench: Bench) -> None:
        assert await bench.admit("first") == 0
        assert await bench.admit("second") == 0
        await until(lambda: len(bench.held()) == 2 and bench.stored(TOPOLOGY) is not None)
        code, output, _ = await ended("publish", "--dry-run", "-o", "json", *bench.words)
        assert code == 0
        of_class, node, topology = json.loads(output)["items"]
        stored, zones = bench.stored(NODE), bench.stored(TOPOLOGY)
        assert stored is not None
        assert zones is not None
        # From outside it is not known that the pods are active.
        assert bench.held() == {
            uid: text.removesuffix(" s") for uid, text in node["spec"]["state"]["pods"].items()
        }
        assert stored["spec"]["state"]["memory"] == node["spec"]["state"]["memory"]
        assert stored["spec"]["class"] == of_class["metadata"]["name"]
        assert [each["name"] for each in zones["zones"]] == ["node-0", "node-1"]
        await until(lambda: (bench.stored(TOPOLOGY) or {}).get("zones") == topology["zones"])

    run(scenario, "--publish")


OWN = """\
---
apiVersion: numalet.dev/v1alpha1
kind: NumaletConfiguration
publish: {nodeResourceTopology: false, kubeconfig: kubeconfig, configz: true}
"""


@asynccontextmanager
async def observed(bench: Bench, *more: str) -> AsyncIterator[None]:
    """A second agent, which only observes the first one as if that were a kubelet."""
    place = bench.words.index("--kubeconfig")
    words = ("--ownership", "observe", "--runtime", "fake", *bench.words[:place])
    begun = await process("agent", "--root", str(bench.root.parent / "seen"), *words, *more)
    draining = asyncio.create_task(begun.communicate())
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            begun.send_signal(signal.SIGTERM)
        _, errors = await draining
        assert begun.returncode == 0, errors.decode()


@pytest.mark.parametrize("is_configured", [False, True], ids=["by a flag", "by its configuration"])
def test_an_agent_beside_a_kubelet_publishes_what_that_one_holds(is_configured: bool) -> None:
    async def scenario(bench: Bench) -> None:
        assert await bench.admit("first") == 0
        kubeconfig = bench.words[bench.words.index("--kubeconfig") + 1]
        more: tuple[str, ...] = ("--publish", "--kubeconfig", kubeconfig)
        if is_configured:
            config = Path(kubeconfig).with_name("kubelet.yaml")
            config.write_text(CONFIG + OWN)
            more = ()
            # Its Node is asked for first.
            reported = {"kubeletconfig": {**yaml.safe_load(CONFIG), "maxPods": 77}}
            for answer in ({"metadata": {"uid": bench.owner_uid}}, reported):
                bench.server.scripted.append(Scripted(200, {}, json.dumps(answer).encode()))
        async with observed(bench, *more):
            await until(lambda: len(bench.held()) == 1)
            assert await bench.admit("second") == 0
            await until(lambda: len(bench.held()) == 2)
            if not is_configured:
                await until(lambda: bench.stored(TOPOLOGY) is not None)
        assert (bench.stored(TOPOLOGY) is None) == is_configured
        code, output, _ = await ended("publish", "--dry-run", "-o", "json", *bench.words)
        assert code == 0
        _, node, *_ = json.loads(output)["items"]
        stored = bench.stored(NODE)
        assert stored is not None
        assert stored["spec"]["state"] == node["spec"]["state"]
        assert stored["spec"]["freeDevices"] == f"{GPU} 0:0 1:0"
        (created,) = (each for each in bench.server.requests if each.method == "POST")
        configuration = json.loads(created.body)["spec"]["configuration"]
        assert configuration["maxPods"] == (77 if is_configured else 110)

    run(scenario)


def test_a_server_that_is_busy_is_asked_again_when_it_says() -> None:
    async def scenario(bench: Bench) -> None:
        busy = Scripted(429, {"Retry-After": "1"}, b"{}")
        async with bench.publishing("--no-topology"):
            await until(lambda: bench.stored(NODE) is not None)
            bench.server.scripted.append(busy)
            before = len(bench.server.requests)
            assert await bench.admit("first") == 0
            # The refused write, and the one that repeats it.
            await bench.server.asked(before + 2)
            assert len(bench.held()) == 1
            assert not bench.server.scripted
            assert bench.stored(TOPOLOGY) is None

    run(scenario)


def test_an_object_that_is_refused_is_an_exit_status_and_a_sentence() -> None:
    async def scenario(bench: Bench) -> None:
        code, _, errors = await ended("publish", "--once", *bench.words)
        assert (code, errors) == (0, "")
        # The first request of the next one is for its Node.
        bench.server.scripted.append(Scripted(403, {}, b'{"message": "not for you"}'))
        code, _, errors = await ended("publish", "--once", *bench.words)
        assert code == 0
        assert "input/unreadable" in errors
        assert "not for you" in errors
        for answer in (Scripted(403), Scripted(200, {}, b"no JSON")):
            bench.server.scripted.append(answer)
            code, _, errors = await ended("publish", "--once", "--configz", *bench.words)
            assert code == 2
            assert "Traceback" not in errors

    run(scenario)


def test_once_does_not_wait_for_a_server_that_gives_no_answer() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.server.stop()
        code, printed, errors = await ended("publish", "--once", *bench.words)
        assert (code, printed) == (2, "")
        assert errors.startswith("error: the API server cannot be reached: ")
        await bench.server.start()

    run(scenario)


def test_a_kubelet_is_asked_for_its_configuration_where_that_is_wanted() -> None:
    async def scenario(bench: Bench) -> None:
        reported = {**yaml.safe_load(CONFIG), "maxPods": 77}
        answer = json.dumps({"kubeletconfig": reported}).encode()
        bench.server.scripted.append(Scripted(200, {}, answer))
        code, _, errors = await ended("publish", "--once", "--configz", *bench.words)
        assert (code, errors) == (0, "")
        first = bench.server.requests[0]
        assert (first.method, first.path) == ("GET", "/api/v1/nodes/n7/proxy/configz")
        (created,) = (each for each in bench.server.requests if each.method == "POST")
        assert json.loads(created.body)["spec"]["configuration"]["maxPods"] == 77

    run(scenario)


def test_metrics_count_what_was_written() -> None:
    async def scenario(bench: Bench) -> None:
        port = free_port()
        async with bench.publishing("--metrics", str(port)):
            await until(lambda: bench.stored(NODE) is not None)
            # What is stored is counted when its answer has come.
            await until_fetched(
                f"http://127.0.0.1:{port}/metrics",
                'numalet_publish_writes_total{kind="NumaNode",result="written"} 1.0',
                'numalet_publish_writes_total{kind="NumaNode",result="put-off"} 0.0',
                'numalet_publish_current{kind="NumaNode"} 1.0',
            )
        code, _, errors = await ended("publish", "--metrics", "nowhere:1x", *bench.words)
        assert code == 2
        assert "--metrics: invalid address" in errors

    run(scenario)


async def until_fetched(url: str, *lines: str) -> None:
    """Wait until the page has all these lines."""
    text = ""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not all(f"\n{line}\n" in text for line in lines):
                text = await asyncio.to_thread(fetched, url)
    except TimeoutError:
        raise AssertionError(text) from None


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
        return str(answer.read().decode())


def test_a_node_that_can_not_be_read_is_said() -> None:
    async def scenario() -> None:
        with tempfile.TemporaryDirectory() as name:
            words = ("--kubelet-root", name, *MACHINE, "--node-name", "n7")
            code, output, errors = await ended("publish", "--dry-run", *words)
            assert (code, output) == (2, "")
            assert "is unknown" in errors

    asyncio.run(scenario())
