"""Pages of a fleet: traps, maps, whether a pod fits, and each node; names are never markup."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from numalet.core.cluster.cluster import (
    Cluster,
    ClusterNode,
    ClusterPod,
    Controller,
    Origin,
    UndecidedNode,
)
from numalet.core.findings.cluster import ClusterOtherSize
from numalet.core.model import input_error
from numalet.core.node.node import Node, start
from numalet.dashboard.application import application
from numalet.dashboard.fleet_pages import MOST_LISTED
from numalet.dashboard.sources import OutOfDate
from values import gpu_fleet
from values.gpu_fleet import GPU, split_fleet

_EVIL = "<script>alert(1)</script>"


class _Cluster:
    """A source whose cluster a test changes."""

    def __init__(self, cluster: Cluster, *, is_live: bool = False) -> None:
        self.now = cluster
        self._is_live = is_live
        self.out_of_date: OutOfDate | None = None
        self.name = ""
        self.made_at: datetime | None = None

    def cluster(self) -> Cluster:
        return self.now

    async def changed(self) -> None:
        """Never."""

    @property
    def is_live(self) -> bool:
        return self._is_live


def _client(cluster: Cluster | _Cluster) -> httpx.AsyncClient:
    source = cluster if isinstance(cluster, _Cluster) else _Cluster(cluster)
    transport = httpx.ASGITransport(application(None, source, path="/ui"))
    return httpx.AsyncClient(transport=transport, base_url="http://dashboard")


def _fleet() -> Cluster:
    """A node that is split, with pods of four GPUs that wait, and one that is not decided."""
    fleet = split_fleet()
    nodes = [fleet.nodes[name] for name in ("split", "seven")]
    # Pods of DaemonSets are no shapes that are asked about.
    owners = {uid: Controller("DaemonSet", "each") for uid in "bdx"}
    cluster = gpu_fleet.cluster(nodes, [gpu_fleet.pod("waits", 4)], owners)
    why = input_error.NotFound(f"no nodes in {_EVIL}")
    return replace(cluster, undecided={"dark": UndecidedNode(name="dark", why=why, pool="gpus")})


async def test_without_a_node_the_first_page_is_that_of_the_fleet() -> None:
    async with _client(_fleet()) as client:
        answer = await client.get("/")
        assert answer.headers["location"] == "/ui/fleet"


async def test_only_a_cluster_that_is_followed_is_called_live() -> None:
    for is_live in (True, False):
        async with _client(_Cluster(_fleet(), is_live=is_live)) as client:
            page = (await client.get("/fleet")).text
        assert ("data-events" in page) is is_live
        assert ('id="live"' in page) is is_live


async def test_traps_come_first_and_every_node_is_drawn() -> None:
    async with _client(_fleet()) as client:
        page = (await client.get("/fleet")).text
    assert page.index("room that no pod can have") < page.index("<svg")
    assert "2 on each NUMA node" in page
    for name in ("split", "seven", "dark"):
        assert f'data-node="{name}"' in page
    assert "/ui/fleet/nodes/split" in page
    assert _EVIL not in page
    assert "&lt;script&gt;" in page


async def test_what_waits_and_was_rejected_comes_first_and_no_praise_stands_beside_it() -> None:
    fleet = split_fleet()
    failed = replace(gpu_fleet.pod("r", 4), phase="Failed", node_name="split")
    asking = {
        "w": ClusterPod(pod=gpu_fleet.pod("w", 4)),
        "r": ClusterPod(pod=failed, reason="TopologyAffinityError"),
    }
    async with _client(replace(fleet, pods={**fleet.pods, **asking})) as client:
        page = (await client.get("/fleet")).text
    async with _client(fleet) as client:
        calm = (await client.get("/fleet")).text
    assert page.index('id="waits"') < page.index('id="traps"') < page.index("<svg")
    assert "1 waits, 1 was rejected on split (TopologyAffinityError)" in page
    assert "1 node: 4 of nvidia.com/gpu free, 2 on each NUMA node" in page
    assert "No node is a trap: some pod can have what each one has free." in page
    assert 'class="good"' not in page
    assert "3 shapes of pods were asked about" in page
    assert "No pod waits, and none was rejected." in calm
    assert "No node rejects a pod that the scheduler would send there." in calm


@pytest.mark.parametrize(
    ("is_cordoned", "is_ready", "words"),
    [
        (True, True, "cordoned, ready"),
        (True, False, "cordoned, not ready"),
        (False, False, "not ready"),
    ],
)
async def test_a_node_that_gets_no_pods_says_so_on_its_page(
    is_cordoned: bool, is_ready: bool, words: str
) -> None:
    node = replace(gpu_fleet.running("one", []), is_cordoned=is_cordoned, is_ready=is_ready)
    async with _client(gpu_fleet.cluster([node])) as client:
        page = (await client.get("/fleet/nodes/one")).text
        every = (await client.get("/fleet", params={"resource": GPU})).text
    assert f"<strong>Gets no new pods:</strong> {words}." in page
    # Its eight devices are in neither figure.
    assert "1 node, 1 without new pods" in every
    assert '<td class="number">-</td><td class="number">-</td>' in every


async def test_a_cluster_that_is_not_followed_any_more_says_since_when_on_every_page() -> None:
    source = _Cluster(_fleet(), is_live=True)
    async with _client(source) as client:
        for path in ("/fleet", "/fleet/nodes/split"):
            source.out_of_date = None
            assert "Out of date" not in (await client.get(path)).text
            source.out_of_date = OutOfDate(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), _EVIL)
            page = (await client.get(path)).text
            assert "as it was at" in page
            assert "03:04:05 (UTC)" in page
            assert _EVIL not in page


async def test_all_traps_can_be_listed() -> None:
    one = split_fleet().nodes["split"]
    names = [f"split-{at:02}" for at in range(14)]
    nodes = [replace(one, name=name) for name in names]
    owners = {uid: Controller("DaemonSet", "each") for uid in "bdx"}
    cluster = gpu_fleet.cluster(nodes, [gpu_fleet.pod("waits", 4)], owners)
    async with _client(cluster) as client:
        page = (await client.get("/fleet")).text
        every = (await client.get("/fleet", params={"traps": "all"})).text
    links = re.compile(r'<td><a href="/ui/fleet/nodes/([^"]+)">')
    assert links.findall(page) == names[:10]
    assert "All 14 traps" in page
    assert links.findall(every) == names
    assert "All 14 traps" not in every


async def test_another_resource_one_pool_and_nodes_alike_by_address() -> None:
    async with _client(_fleet()) as client:
        page = (await client.get("/fleet", params={"resource": "memory", "pool": "gpus"})).text
        assert "GiB free of memory" in page
        alike = (await client.get("/fleet", params={"alike": "seven"})).text
        assert 'data-node="seven"' in alike
        assert 'data-node="split"' not in alike
        none = (await client.get("/fleet", params={"pool": _EVIL})).text
        assert "There is no such node or pool" in none
        assert _EVIL not in none


async def test_a_node_that_has_none_of_a_resource_is_not_unknown() -> None:
    plain = start(gpu_fleet.kubelet_config(), gpu_fleet.machine())
    assert isinstance(plain, Node)
    fleet = gpu_fleet.cluster([*_fleet().nodes.values(), gpu_fleet.running("web", [], on=plain)])
    async with _client(fleet) as client:
        page = (await client.get("/fleet", params={"resource": GPU})).text
    assert "<desc>1 pool: 3 nodes</desc>" in page
    assert "web; has none of it" in page


async def test_a_note_that_several_nodes_share_is_one_row_with_the_first_of_them() -> None:
    note = ClusterOtherSize(resource="cpu", offered="64", allocatable="62")
    nodes = [replace(gpu_fleet.running(name, []), notes=(note,)) for name in ("one", "two")]
    async with _client(gpu_fleet.cluster(nodes)) as client:
        page = (await client.get("/fleet")).text
    row = page[page.index("<h3>Notes on nodes</h3>") :].split("</table>")[0]
    assert re.search(
        r'number">2</td><td><a href="/ui/fleet/nodes/one">one</a>.*Node object 62', row
    )
    assert "correct the machine or the reserved amounts of the class" in row
    assert row.count("Node object") == 1


async def test_copies_that_fit_say_where_and_the_others_why_not() -> None:
    asked = {"pod": "gpu: 1, cpu: 4, memory: 32Gi", "count": "2"}
    async with _client(_fleet()) as client:
        page = (await client.get("/fleet", params=asked)).text
        assert f"{GPU}=1,cpu=4,memory=32Gi: 2 of 2 fit" in page
        page = (await client.get("/fleet", params={"pod": f"{GPU}=4"})).text
        assert "Why not elsewhere" in page
        many = (await client.get("/fleet", params={"pod": "cpu=1", "count": "0"})).text
        assert "more." in many
        assert '<h3 class="good">cpu=1: 104 fit on 2 nodes</h3>' in many
        none = (await client.get("/fleet", params={"pod": f"{GPU}=8", "count": "0"})).text
        assert f'<h3 class="bad">{GPU}=8: 0 fit</h3>' in none


async def test_a_plan_says_what_goes_in_which_order_and_where_it_could_run_instead() -> None:
    busy = gpu_fleet.running("m", [gpu_fleet.pod("x", 4), gpu_fleet.pod("y", 2)])
    split = gpu_fleet.running("n", [gpu_fleet.pod(uid, 2) for uid in "abcd"], gone="ac")
    asked = {"pod": f"{GPU}=4,cpu=16,memory=128Gi", "ask": "free"}
    async with _client(gpu_fleet.cluster([split, busy])) as client:
        address = (await client.post("/fleet", data=asked)).headers["location"]
        page = (await client.get(address.removeprefix("/ui").partition("#")[0])).text
        copies = (await client.get("/fleet", params={**asked, "count": "2"})).text
    assert "1 pod must go on m</h3>" in page
    assert "Proved smallest" in page
    row = re.compile(r'<td>(evict|admit)</td><td>(\S+)</td><td><a href="/ui/fleet/nodes/(\w)">')
    steps = row.findall(page)
    assert [(do, on) for do, _, on in steps] == [("evict", "m"), ("admit", "n"), ("admit", "m")]
    assert [pod for _, pod, _ in steps[:2]] == ["default/<wbr>y", "default/<wbr>y"]
    assert "there is room for 0 of 2 copies now" in copies
    assert "copy 2 of 2" in copies


async def test_a_plan_where_there_is_room_or_none_can_be_made() -> None:
    full = gpu_fleet.running("n", [gpu_fleet.pod("a", 4), gpu_fleet.pod("b", 4)])
    async with _client(gpu_fleet.cluster([full])) as client:
        asked = {"ask": "free"}
        homeless = (await client.get("/fleet", params={**asked, "pod": f"{GPU}=4"})).text
        never = (await client.get("/fleet", params={**asked, "pod": f"{GPU}=8"})).text
        bad = await client.get("/fleet", params={**asked, "pod": "kind: ["})
        kinds = "\n---\n".join(
            f"{{apiVersion: v1, kind: Pod, metadata: {{name: p{at}}},"
            f" spec: {{containers: [{{name: c, resources: {{limits: {{cpu: {at}}}}}}}]}}}}"
            for at in (1, 2)
        )
        several = await client.get("/fleet", params={**asked, "pod": kinds})
    assert "No node admits, before or after: default/" in homeless
    assert "never fits: " in never
    assert "Why no node makes room" in never
    assert bad.status_code == 422
    assert several.status_code == 422
    assert "the text contains 2 pod shapes; a plan is for one" in several.text


@pytest.mark.parametrize(
    ("pod", "count", "status", "words"),
    [
        ("kind: [", "", 422, "the text:2"),
        (_EVIL, "", 422, "an object with a kind"),
        ("gpu: none", "", 422, "none"),
        ("cpu: 1", "-1", 422, "not a number of copies"),
        ("cpu: 1", "1001", 422, "not a number of copies"),
        ("x" * 16_001, "", 413, "16001 characters"),
    ],
)
async def test_what_can_not_be_asked_is_refused_with_its_reason(
    pod: str, count: str, status: int, words: str
) -> None:
    async with _client(_fleet()) as client:
        answer = await client.get("/fleet", params={"pod": pod, "count": count})
    assert answer.status_code == status
    assert words in answer.text
    assert 'role="alert"' in answer.text
    assert _EVIL not in answer.text


async def test_a_form_becomes_an_address_if_it_is_not_too_long_for_one() -> None:
    asked = {"pod": f"{GPU}=1", "count": "2", "resource": GPU, "other": "x"}
    async with _client(_fleet()) as client:
        answer = await client.post("/fleet", data=asked)
        assert answer.status_code == 303
        address = answer.headers["location"]
        assert address.endswith("#fit")
        assert "other" not in address
        path = address.removeprefix("/ui").partition("#")[0]
        assert "2 of 2 fit" in (await client.get(path)).text


async def test_a_long_text_is_answered_without_an_address() -> None:
    manifest = (
        "{apiVersion: v1, kind: Pod, metadata: {name: long, annotations: {x: '%s'}}, spec:"
        " {containers: [{name: c, resources: {limits: {cpu: '1', memory: 1Gi}}}]}}"
    )
    async with _client(_fleet()) as client:
        answer = await client.post("/fleet", data={"pod": manifest % ("x" * 100_000)})
        plain = await client.get("/fleet")
    assert answer.status_code == 200
    assert "1 of 1 fit" in answer.text
    # It stays as it is when the cluster changes, as nothing could be asked again.
    assert "data-still" in answer.text
    assert "data-still" not in plain.text


async def test_a_text_of_10_megabytes_is_refused_in_the_words_of_the_agent() -> None:
    async with _client(_fleet()) as client:
        answer = await client.post("/fleet", data={"pod": "x" * 10_000_000})
        many = await client.post("/fleet", content="&".join(f"f{at}=1" for at in range(40)))
    assert answer.status_code == 413
    assert "Request entity too large" in answer.text
    assert many.status_code == 400
    assert "too many fields" in many.text


async def test_a_pasted_text_never_names_a_file() -> None:
    async with _client(_fleet()) as client:
        answer = await client.get("/fleet", params={"pod": "/etc/hostname"})
    assert answer.status_code == 422


async def test_a_node_is_drawn_with_its_pods_and_where_its_state_comes_from() -> None:
    cluster = _fleet()
    pods = {
        uid: replace(each, pod=replace(each.pod, name=_EVIL)) for uid, each in cluster.pods.items()
    }
    async with _client(replace(cluster, pods=pods)) as client:
        page = (await client.get("/fleet/nodes/split")).text
        assert "<svg" in page
        assert "described in a file" in page
        assert "A trap:" in page
        assert _EVIL not in page
        assert page.count("data-pod") >= 2
        dark = (await client.get("/fleet/nodes/dark")).text
        assert "Undecided:" in dark
        assert (await client.get("/fleet/nodes/gone")).status_code == 404


async def test_nodes_can_be_found_and_sorted_by_what_is_free() -> None:
    fleet = split_fleet()
    cordoned = replace(fleet.nodes["empty"], name="away", is_cordoned=True)
    async with _client(fleet.with_nodes([cordoned])) as client:
        plain = (await client.get("/fleet")).text
        every = (await client.get("/fleet", params={"find": "", "sort": "free"})).text
        away = (await client.get("/fleet", params={"find": "cordoned"})).text
        pool = (await client.get("/fleet", params={"pool": "gpus"})).text
    row = re.compile(r'<tr><td><a href="/ui/fleet/nodes/(\w+)">\w+</a></td><td>gpus</td><td')
    assert row.findall(plain) == []
    # Room that gets no new pods is no room, so that node is last.
    assert row.findall(every) == ["empty", "seven", "half", "split", "away"]
    assert row.findall(away) == ["away"]
    assert '<td class="bad">cordoned, ready</td>' in away
    assert row.findall(pool) == ["away", "empty", "half", "seven", "split"]
    assert "<h3>5 nodes</h3>" in pool


async def test_a_long_list_of_nodes_says_how_many_it_leaves_out() -> None:
    node = gpu_fleet.running("n", [])
    nodes = [replace(node, name=f"n{at}") for at in range(MOST_LISTED + 2)]
    async with _client(gpu_fleet.cluster(nodes)) as client:
        page = (await client.get("/fleet", params={"find": "n"})).text
    assert "<p>And 2 more.</p>" in page


async def test_the_page_names_the_dump_and_its_age() -> None:
    source = _Cluster(_fleet())
    source.name = "dump.json"
    source.made_at = datetime.now(UTC) - timedelta(days=3, hours=1)
    async with _client(source) as client:
        page = (await client.get("/fleet")).text
    written = source.made_at.strftime("%Y-%m-%d %H:%M:%S")
    assert "<strong>dump.json</strong>" in page
    assert f"{written} (UTC)</time>, 3d ago" in page


async def test_a_failed_pod_says_why_on_the_page_of_its_node() -> None:
    fleet = split_fleet()
    failed = replace(gpu_fleet.pod("r", 4), phase="Failed", node_name="split")
    rejected = ClusterPod(pod=failed, reason="TopologyAffinityError", message="no alignment")
    async with _client(replace(fleet, pods={**fleet.pods, "r": rejected})) as client:
        page = (await client.get("/fleet/nodes/split")).text
    assert "TopologyAffinityError: no alignment" in page


async def test_the_pods_of_a_node_have_their_numa_nodes_and_cpus_where_they_are_known() -> None:
    burstable = replace(gpu_fleet.pod("s", 0, cpus=1, gib=1), name="shares")
    known = gpu_fleet.running("known", [gpu_fleet.pod("a", 2), gpu_fleet.pod("b", 4)])
    again = replace(gpu_fleet.running("again", [gpu_fleet.pod("c", 2)]), origin=Origin.REBUILT)
    cluster = gpu_fleet.cluster([known, again])
    late = replace(burstable, node_name="known")
    cluster = replace(cluster, pods={**cluster.pods, "s": ClusterPod(pod=late)})
    async with _client(cluster) as client:
        page = (await client.get("/fleet/nodes/known")).text
        rebuilt = (await client.get("/fleet/nodes/again")).text
    row = re.compile(r'<tr data-pod="(\w)"><td>[^ ]*</td><td>([^<]*)</td><td>([^<]*)</td>')
    rows = {uid: (nodes, cpus) for uid, nodes, cpus in row.findall(page)}
    assert rows["a"] == ("0", "2-9 (8)")
    assert rows["b"][0] == "1"
    # The scheduler has sent it there, and the node has not decided.
    assert rows["s"] == ("unknown", "unknown")
    assert row.findall(rebuilt) == [("c", "unknown", "unknown")]


async def test_a_node_of_a_fleet_is_drawn_narrow_on_a_narrow_screen() -> None:
    async with _client(split_fleet()) as client:
        wide = (await client.get("/fleet/nodes/split")).text
        narrow = (await client.get("/fleet/nodes/split", params={"width": "narrow"})).text
    assert '<a href="?width=narrow" data-narrow>' in wide
    assert '<a href="?width=wide">Draw it wide</a>' in narrow
    assert 'viewBox="-1 -1 366 ' in narrow


async def test_a_pod_keeps_its_letter_on_the_page_of_its_node_when_another_comes() -> None:
    pods = [gpu_fleet.pod("m", 1), gpu_fleet.pod("a", 1)]
    source = _Cluster(gpu_fleet.cluster([gpu_fleet.running("one", pods[:1])]), is_live=True)
    async with _client(source) as client:
        before = (await client.get("/fleet/nodes/one")).text
        source.now = gpu_fleet.cluster([gpu_fleet.running("one", pods)])
        after = (await client.get("/fleet/nodes/one")).text
    for page, letters in ((before, {"m": "A"}), (after, {"m": "A", "a": "B"})):
        for name, letter in letters.items():
            assert f">{letter} {name}<" in page


async def test_another_cluster_is_another_page() -> None:
    source = _Cluster(_fleet())
    async with _client(source) as client:
        assert "room that no pod can have" in (await client.get("/fleet")).text
        source.now = gpu_fleet.cluster([gpu_fleet.running("empty", [])])
        after = (await client.get("/fleet")).text
    assert "room that no pod can have" not in after
    assert 'data-node="split"' not in after


async def test_of_many_nodes_those_that_are_alike_are_one_cell() -> None:
    empty = gpu_fleet.running("empty", [])
    nodes: list[ClusterNode] = [replace(empty, name=f"n{at}") for at in range(1_200)]
    async with _client(gpu_fleet.cluster(nodes)) as client:
        page = (await client.get("/fleet")).text
        assert page.count("data-node") == 1
        assert "and 1199 nodes alike" in page
        assert ">1200</text>" in page
        assert "<desc>1 pool: 1200 nodes</desc>" in page
        alike = (await client.get("/fleet", params={"alike": "n0"})).text
    assert alike.count("data-node") == 1_200


def _with_rejected(fleet: Cluster) -> Cluster:
    failed = replace(gpu_fleet.pod("r", 4), phase="Failed", node_name="split")
    refused = ClusterPod(
        pod=failed,
        controller=Controller("Job", _EVIL),
        reason="TopologyAffinityError",
        message=_EVIL,
        created_at_seconds=0.0,
    )
    return replace(fleet, pods={**fleet.pods, "r": refused})


async def test_rejected_pods_are_on_the_first_page_with_links_to_their_explanations() -> None:
    async with _client(_with_rejected(split_fleet())) as client:
        page = (await client.get("/fleet")).text
        calm = (await client.get("/fleet/why", params={"pod": "default/b"})).text
        why = await client.get("/fleet/why", params={"pod": "default/r"})
        unknown = await client.get("/fleet/why", params={"pod": _EVIL})
    assert "1 rejected pod by owner and reason" in page
    assert "/ui/fleet/why?pod=default%2Fr" in page
    assert "split 1" in page
    assert "1970-01-01 00:00 UTC" in page
    assert "3 nodes" in page
    assert why.status_code == 200
    assert "Now split would reject it: TopologyAffinityError" in why.text
    assert "It fits now on 3 nodes: empty, half, seven" in why.text
    assert "/ui/fleet/nodes/split" in why.text
    assert "4 of nvidia.com/gpu free, 2 on each NUMA node" in why.text
    assert "was not rejected: it is on" in calm
    assert unknown.status_code == 404
    assert _EVIL not in page + why.text + unknown.text
