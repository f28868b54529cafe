"""Other people's clients, as they come, against an agent over TLS that is killed in between."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kr8s
import kubernetes
import pytest
from kr8s.objects import Pod as Kr8sPod
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.core_v1 import Container, PodSpec, ResourceRequirements
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Pod

PATIENCE_SECONDS = 200
DESCRIBED = ("--runtime", "fake", "-m", "2n16c2t", "--memory-per-node", "128Gi")
SPACE = "default"
GONE, FUTURE = 410, 504

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    # The clients leave connections to the collector of garbage.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """What a client left is collected while its warnings are let pass."""
    yield
    gc.collect()


class Cluster:
    """An agent in a process of its own, which keeps its port over its lives."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self._port = "0"
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def kubeconfig(self) -> str:
        return str(self.root / "admin.kubeconfig")

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        where = ("--root", str(self.root), "--kube-api", self._port, "--log-format", "json")
        command = [sys.executable, "-m", "numalet", "agent", *where, *DESCRIBED]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            if "Agent is ready" in line:
                break
        else:
            raise AssertionError("".join(said))
        text = Path(self.kubeconfig).read_text()
        self._port = text.partition("https://127.0.0.1:")[2].split()[0].strip("\"'")

    def end(self, number: signal.Signals) -> None:
        """End it by a signal."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.communicate(timeout=PATIENCE_SECONDS)

    def restart(self) -> None:
        """Let it be killed, and begin another life."""
        self.end(signal.SIGKILL)
        self.start()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        made = Cluster(Path(folder))
        try:
            yield made
        finally:
            made.end(signal.SIGTERM)


def manifest(name: str, **labels: str) -> dict[str, Any]:
    limits = {"cpu": "1", "memory": "1Gi"}
    container = {
        "name": "main",
        "image": "i",
        "command": ["serve"],
        "resources": {"limits": limits},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": SPACE, "labels": labels},
        "spec": {"containers": [container]},
    }


# Half of it has types.
official: Any = kubernetes.client
CONFIG: Any = kubernetes.config
WATCH: Any = kubernetes.watch


@pytest.fixture
def core(cluster: Cluster) -> Iterator[Any]:
    with CONFIG.new_client_from_config(cluster.kubeconfig) as found:
        yield official.CoreV1Api(found)


def test_the_official_client(cluster: Cluster, core: Any) -> None:
    names = ["o-c", "o-a", "o-b"]
    for name in names:
        core.create_namespaced_pod(SPACE, manifest(name, by="official"))
    mine: dict[str, Any] = {"label_selector": "by=official"}
    first = core.list_namespaced_pod(SPACE, limit=2, **mine)
    rest = core.list_namespaced_pod(SPACE, limit=2, _continue=first.metadata._continue, **mine)
    listed = [each.metadata.name for each in (*first.items, *rest.items)]
    assert sorted(names) == listed
    version = first.metadata.resource_version
    core.delete_namespaced_pod("o-a", SPACE, grace_period_seconds=0)
    core.create_namespaced_pod(SPACE, manifest("o-other", by="another"))
    core.delete_namespaced_pod("o-other", SPACE, grace_period_seconds=0)
    watch = WATCH.Watch()
    gone = []
    for event in watch.stream(
        core.list_namespaced_pod, SPACE, resource_version=version, timeout_seconds=30, **mine
    ):
        if event["type"] == "DELETED":
            gone.append(event["object"].metadata.name)
            watch.stop()
    assert gone == ["o-a"]
    old = core.list_namespaced_pod(SPACE, **mine).metadata.resource_version
    cluster.restart()
    with pytest.raises(official.ApiException) as caught:
        [*watch.stream(core.list_namespaced_pod, SPACE, resource_version=old, timeout_seconds=30)]
    assert caught.value.status == GONE
    fresh = core.list_namespaced_pod(SPACE, **mine)
    assert [each.metadata.name for each in fresh.items] == ["o-b", "o-c"]
    assert int(fresh.metadata.resource_version) > int(old)
    for call in (core.list_namespaced_pod, core.list_namespaced_event):
        with pytest.raises(official.ApiException) as caught:
            call(SPACE, resource_version=str(10**17))
        assert caught.value.status == FUTURE
    eviction = official.V1Eviction(metadata=official.V1ObjectMeta(name="o-b"))
    core.create_namespaced_pod_eviction("o-b", SPACE, eviction)
    core.delete_namespaced_pod("o-c", SPACE, grace_period_seconds=0)
    for event in watch.stream(core.list_namespaced_pod, SPACE, timeout_seconds=1, **mine):
        assert event["type"] in ("ADDED", "MODIFIED", "DELETED")
    assert core.read_node(core.list_node().items[0].metadata.name).metadata.creation_timestamp


def test_lightkube(cluster: Cluster) -> None:
    def connected() -> Any:
        return Client(config=KubeConfig.from_file(cluster.kubeconfig), namespace=SPACE)

    def pod(name: str) -> Pod:
        amounts = ResourceRequirements(limits={"cpu": "1", "memory": "1Gi"})
        container = Container("main", image="i", command=["serve"], resources=amounts)
        metadata = ObjectMeta(name=name, namespace=SPACE, labels={"by": "lightkube"})
        return Pod(metadata=metadata, spec=PodSpec([container]))

    client = connected()
    for name in ("l-b", "l-a"):
        client.create(pod(name))
    ready = client.wait(Pod, "l-a", for_conditions=["Ready"])
    assert ready.status is not None
    assert ready.status.phase == "Running"
    mine: dict[str, Any] = {"by": "lightkube"}
    found = client.list(Pod, labels=mine)
    assert [each.metadata.name for each in found if each.metadata] == ["l-a", "l-b"]
    version = found.resourceVersion
    assert version is not None
    client.delete(Pod, "l-b", grace_period=0)
    kinds = []
    for kind, each in client.watch(Pod, labels=mine, resource_version=version):
        kinds.append((kind, each.metadata.name if each.metadata else None))
        if kind == "DELETED":
            break
    assert kinds[-1] == ("DELETED", "l-b")
    cluster.restart()
    client = connected()
    with pytest.raises(ApiError) as caught:
        next(iter(client.watch(Pod, resource_version=version)))
    assert caught.value.status.code == GONE
    names = [each.metadata.name for each in client.list(Pod, labels=mine) if each.metadata]
    assert names == ["l-a"]
    client.delete(Pod, "l-a", grace_period=0)


# It warns of a server that is newer than its last release, and works with it.
@pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported")
def test_kr8s(cluster: Cluster) -> None:
    # Its types are unions over several kinds of clients.
    api: Any = kr8s.api(kubeconfig=cluster.kubeconfig)
    for name in ("k-b", "k-a"):
        pod: Any = Kr8sPod(manifest(name, by="kr8s"), api=api)
        pod.create()
        pod.wait("condition=Ready", timeout=PATIENCE_SECONDS)
    mine: dict[str, Any] = {"namespace": SPACE, "label_selector": {"by": "kr8s"}}
    assert [each.name for each in api.get("pods", **mine)] == ["k-a", "k-b"]
    for kind, each in api.watch("pods", **mine):
        assert kind == "ADDED"
        if each.name == "k-b":
            break
    cluster.restart()
    api = kr8s.api(kubeconfig=cluster.kubeconfig)
    found = [*api.get("pods", **mine)]
    assert [each.name for each in found] == ["k-a", "k-b"]
    for each in found:
        each.delete(grace_period=0)
        each.wait("delete", timeout=PATIENCE_SECONDS)
    assert [*api.get("pods", **mine)] == []
