"""The PodResources server over a real socket, asked by a client and by hand-made bytes."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import grpc
import pytest

from numalet.agent.publish import in_agent
from numalet.agent.servers.door import AgentView
from numalet.agent.servers.endpoints import PodResourcesSettings
from numalet.agent.servers.pod_resources import PodResourcesServer, TokenBucket
from numalet.cli import main
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.releases import table
from numalet.core.model.findings import BadInput
from numalet.io.pod_resources_client import CallRefused, JsonAnswer, PodResourcesClient
from numalet.io.rpc import methods
from numalet.io.rpc import pod_resources_v1_pb2 as v1
from numalet.shared.kubernetes import node_resource_topology
from numalet.shared.publish.node_view import PublishedView
from values import served_node
from values.device_bench import GPU
from values.served_node import ALIGNED, SHARED, TOO_LARGE

T = TypeVar("T")
Bytes: TypeAlias = "grpc.UnaryUnaryMultiCallable[bytes, bytes]"
GETS = PodResourcesSettings(get_is_enabled=True, requests_per_second=None)
UNLIMITED = PodResourcesSettings(requests_per_second=None)


class Served:
    """A server in the event loop of the test, and calls from another thread."""

    def __init__(
        self, root: Path, settings: PodResourcesSettings = UNLIMITED, behaviour: Behaviour = EXACT
    ) -> None:
        known = [ALIGNED, SHARED, TOO_LARGE]
        view = served_node.view(served_node.with_pods(known, behaviour), known)
        self.root = root
        self.server = PodResourcesServer(lambda: view, settings)

    def ask(self, question: Callable[[PodResourcesClient], T]) -> T:
        """The answer to one question, in the time of one server."""

        async def served() -> T:
            socket = await self.server.start(self.root)
            try:
                return await asyncio.to_thread(question, PodResourcesClient(socket))
            finally:
                await self.server.stop()

        return asyncio.run(served())

    def counted(self) -> dict[tuple[str, str], float]:
        """The metrics by name and version."""
        return {
            (n, dict(ls)["server_api_version"]): v
            for (n, ls), v in self.server.counts.values.items()
        }


def _document(answer: JsonAnswer | CallRefused) -> dict[str, Any]:
    assert isinstance(answer, JsonAnswer), answer
    return dict(answer.document)


def test_list_says_what_containers_hold(root: Path) -> None:
    found = _document(Served(root).ask(PodResourcesClient.list_pods))
    aligned, shared, too_large = found["podResources"]
    assert (aligned["name"], aligned["namespace"]) == ("aligned", "ns")
    app = aligned["containers"][1]
    assert app["memory"][1]["topology"] == {"nodes": [{}]}
    assert ("memory", str(4 << 30)) == (app["memory"][1]["memoryType"], app["memory"][1]["size"])
    assert {"resourceName": GPU, "deviceIds": ["gpu0"], "topology": {"nodes": [{}]}} in app[
        "devices"
    ]
    assert shared["containers"] == [{"name": "app"}]
    # Rejected at its memory: what the CPU Manager gave it stays until the next admission.
    assert too_large["containers"] == [{"name": "app", "cpuIds": ["2"]}]


def test_native_list_leaves_out_what_is_not_active(root: Path) -> None:
    served = Served(root, behaviour=served_node.AT_ONCE)
    found = _document(served.ask(PodResourcesClient.list_pods))
    assert [pod["name"] for pod in found["podResources"]] == ["aligned", "shared"]


def test_the_older_interface_knows_devices_of_app_containers(root: Path) -> None:
    found = _document(Served(root).ask(PodResourcesClient.list_pods_v1alpha1))
    (app,) = found["podResources"][0]["containers"]
    assert {"name", "devices"} == set(app)
    assert {"resourceName": GPU, "deviceIds": ["gpu0"]} in app["devices"]


def test_allocatable_is_what_the_node_has(root: Path) -> None:
    found = _document(Served(root).ask(PodResourcesClient.allocatable))
    assert [str(cpu) for cpu in range(1, 8)] == found["cpuIds"]
    assert len(found["memory"]) == 4
    gpu2 = [each for each in found["devices"] if each["deviceIds"] == ["gpu2"]]
    assert [each["topology"] for each in gpu2] == [{"nodes": [{}]}, {"nodes": [{"ID": "1"}]}]


def test_get_is_off_by_default(root: Path) -> None:
    answer = Served(root).ask(lambda client: client.pod("ns", "aligned"))
    assert answer == CallRefused("Unknown", "PodResources API Get method disabled")


@pytest.mark.parametrize(("release", "listed"), [("1.33", 3), ("1.34", 2), ("1.36", 2)])
def test_some_releases_list_active_pods_alone(root: Path, release: str, listed: int) -> None:
    served = Served(root, GETS, behaviour=replace(EXACT, release=table.of_name(release)))
    all_, old, one = served.ask(
        lambda client: (
            client.list_pods(),
            client.list_pods_v1alpha1(),
            client.pod("ns", "too-large"),
        )
    )
    assert listed == len(_document(all_)["podResources"])
    # Only List of the newer interface changed.
    assert len(_document(old)["podResources"]) == 3
    assert _document(one)["podResources"]["name"] == "too-large"


@pytest.mark.parametrize(("release", "listed"), [("1.33", 3), ("1.34", 2)])
def test_the_agent_publishes_the_fingerprint_of_the_pods_that_it_lists(
    release: str, listed: int
) -> None:
    known = [ALIGNED, SHARED, TOO_LARGE]
    behaviour = replace(EXACT, release=table.of_name(release))
    shown = served_node.view(served_node.with_pods(known, behaviour), known)
    offered: list[PublishedView] = []

    class Door:
        def view(self) -> AgentView:
            return shown

        async def changed(self) -> None:
            raise EOFError

    class Writers:
        def offer(self, view: PublishedView) -> None:
            offered.append(view)

    with pytest.raises(EOFError):
        asyncio.run(in_agent.follow(cast("Any", Door()), cast("Any", Writers())))
    (view,) = offered
    assert view.topology is not None
    values = {each["name"]: each["value"] for each in view.topology["attributes"]}
    names = [(each.namespace, each.name) for each in known[:listed]]
    expected = node_resource_topology.fingerprint(names)
    assert values["nodeTopologyPodsFingerprint"] == expected


def test_get_answers_for_one_pod_or_says_that_it_is_not_known(root: Path) -> None:
    served = Served(root, GETS)
    one, none = served.ask(lambda client: (client.pod("ns", "shared"), client.pod("", "x")))
    assert _document(one)["podResources"]["name"] == "shared"
    assert none == CallRefused("Unknown", "pod x in namespace  not found")
    assert served.counted() == {
        ("kubelet_pod_resources_endpoint_requests_total", "v1"): 2,
        ("kubelet_pod_resources_endpoint_requests_get", "v1"): 2,
        ("kubelet_pod_resources_endpoint_errors_get", "v1"): 1,
    }


def test_every_call_is_counted_by_version(root: Path) -> None:
    served = Served(root)

    def all_of_them(client: PodResourcesClient) -> None:
        client.list_pods()
        client.allocatable()
        client.list_pods_v1alpha1()
        client.pod("ns", "aligned")

    served.ask(all_of_them)
    assert served.counted() == {
        ("kubelet_pod_resources_endpoint_requests_total", "v1"): 3,
        ("kubelet_pod_resources_endpoint_requests_total", "v1alpha1"): 1,
        ("kubelet_pod_resources_endpoint_requests_list", "v1"): 1,
        ("kubelet_pod_resources_endpoint_requests_get_allocatable", "v1"): 1,
    }


def test_what_is_too_much_is_refused_and_not_counted(root: Path) -> None:
    served = Served(root, PodResourcesSettings(requests_per_second=0.001))
    answers = served.ask(lambda client: [client.list_pods() for _ in range(12)])
    refused = [answer for answer in answers if isinstance(answer, CallRefused)]
    assert [CallRefused("ResourceExhausted", "rejected by rate limit")] * 2 == refused
    assert served.counted()["kubelet_pod_resources_endpoint_requests_total", "v1"] == 10


def test_unknown_methods_are_unimplemented(root: Path) -> None:
    def ask(client: PodResourcesClient) -> grpc.StatusCode:
        with grpc.insecure_channel(f"unix:{client.socket}", options=methods.OPTIONS) as channel:
            call: Bytes = channel.unary_unary("/v1.PodResourcesLister/Watch")
            with pytest.raises(grpc.RpcError) as raised:
                call(b"", timeout=200)
            assert isinstance(raised.value, grpc.Call)
            return raised.value.code()

    assert grpc.StatusCode.UNIMPLEMENTED is Served(root).ask(ask)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("unix://{}", {}),
        ("unix:{}", {}),
        # What clients in Go say whose dialler was told the path, and the older ones.
        ("unix:{}", {"grpc.default_authority": "localhost"}),
        ("unix:{}", {"grpc.default_authority": "/var/lib/kubelet/pod-resources/kubelet.sock"}),
        ("unix:{}", {"grpc.default_authority": "%2Fvar%2Flib%2Fkubelet.sock"}),
        ("unix:{}", {"grpc.keepalive_time_ms": 10_000, "grpc.max_receive_message_length": 1 << 24}),
    ],
)
def test_clients_connect_in_each_of_their_ways(
    target: str, options: dict[str, Any], root: Path
) -> None:
    def ask(client: PodResourcesClient) -> list[int]:
        where = target.format(client.socket)
        with grpc.insecure_channel(where, options=[*options.items()]) as channel:
            grpc.channel_ready_future(channel).result(200)
            asked = {"timeout": 200, "metadata": [("x-client", "probe"), ("x-bin", b"\x00\xff")]}
            plain: Any = methods.LIST.call(channel)
            pressed = grpc.Compression.Gzip
            answers = [
                plain(v1.ListPodResourcesRequest(), **asked),
                plain(v1.ListPodResourcesRequest(), compression=pressed, **asked),
            ]
            return [len(each.pod_resources) for each in answers]

    assert Served(root).ask(ask) == [3, 3]


def test_bytes_on_the_wire_have_the_published_field_numbers(root: Path) -> None:
    """The answer to an empty request, taken apart by hand."""

    def ask(client: PodResourcesClient) -> bytes:
        with grpc.insecure_channel(f"unix:{client.socket}", options=methods.OPTIONS) as channel:
            call: Bytes = channel.unary_unary("/v1.PodResourcesLister/GetAllocatableResources")
            answer = call(b"", timeout=200)
            assert isinstance(answer, bytes)
            return answer

    answer = Served(root).ask(ask)
    # Field 2, packed: seven numbers of one byte each.
    assert bytes([0x12, 7, 1, 2, 3, 4, 5, 6, 7]) in answer
    memory = b"\x0a\x06memory" + b"\x10" + _varint(16 << 30) + b"\x1a\x04\x0a\x02\x08\x01"
    assert b"\x1a" + _varint(len(memory)) + memory in answer


def test_the_share_of_a_claimed_device_is_read_where_it_is_sent() -> None:
    device = b"\x22\x04gpu0"
    assert v1.ClaimResource.FromString(device + b"\x2a\x02s1").share_id == "s1"
    assert not v1.ClaimResource.FromString(device).HasField("share_id")


def _varint(number: int) -> bytes:
    groups = []
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def test_an_old_socket_is_replaced_and_the_new_one_is_ours_alone(root: Path) -> None:
    folder = root / "pod-resources"
    folder.mkdir(mode=0o750)
    (folder / "kubelet.sock").write_text("left behind")

    def look(client: PodResourcesClient) -> tuple[int, list[str]]:
        names = [path.name for path in folder.iterdir()]
        return stat.S_IMODE(client.socket.stat().st_mode), names

    assert Served(root).ask(look) == (0o600, ["kubelet.sock"])
    assert list(folder.iterdir()) == []


def test_the_command_shows_tables_and_documents(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = Served(root)

    def run(client: PodResourcesClient) -> list[int]:
        chosen = ("podresources", "--socket", str(client.socket))
        return [
            main.run([*chosen]),
            main.run([*chosen, "-o", "json", "allocatable"]),
            main.run([*chosen, "get", "aligned", "-n", "ns"]),
        ]

    assert served.ask(run) == [0, 0, 1]
    out, err = capsys.readouterr()
    table, _, document = out.partition("{")
    assert "ns/aligned" in table
    assert "4Gi memory on node 0" in table
    assert f"{GPU} gpu0 on" in table
    assert len(json.loads("{" + document)["cpuIds"]) == 7
    assert "Unknown: PodResources API Get method disabled" in err


@contextmanager
def _unusable(code: str) -> Iterator[None]:
    with pytest.raises(BadInput) as raised:
        yield
    assert [code] == [finding.code for finding in raised.value.findings]


def test_sockets_where_nobody_answers_are_told_apart(root: Path) -> None:
    import socket

    with _unusable("input/unavailable"):
        PodResourcesClient(root / "none.sock").list_pods()
    (root / "file").touch()
    with _unusable("input/invalid"):
        PodResourcesClient(root / "file").list_pods()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(root / "deaf.sock"))
        with _unusable("input/unavailable"):
            PodResourcesClient(root / "deaf.sock", 0.2).list_pods()


def test_the_bucket_fills_again_up_to_its_burst() -> None:
    now = 0.0
    bucket = TokenBucket(2.0, 3, lambda: now)
    assert [bucket.acquire() for _ in range(4)] == [True, True, True, False]
    now = 0.5
    assert [bucket.acquire() for _ in range(2)] == [True, False]
    now = 100.0
    assert [bucket.acquire() for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("get",), "needs the name of a pod"),
        (("list", "web"), "takes no name, but got 'web'"),
        (("allocatable", "--api", "v1alpha1"), "v1alpha1 does not support 'allocatable'"),
        (("--socket", "/nonexistent/kubelet.sock"), "no server listens at"),
    ],
)
def test_the_command_says_what_can_not_be_asked(
    words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["podresources", *words]) == 2
    assert says in capsys.readouterr().err
