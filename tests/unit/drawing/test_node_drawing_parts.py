"""Parts of the drawing of a node: folding, links, groups, devices, words."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from numalet.core.model.machine_queries import NodeClass
from numalet.drawing import node_drawing
from numalet.drawing.node import layout
from numalet.insight.maps import accelerator_memory
from numalet.insight.maps.finding import SearchResult
from numalet.insight.maps.map_devices import DeviceUse, MapDevice
from numalet.insight.maps.node_map import MemoryBar, MemoryGroup, MemoryPart, NodeMap, NumaBlock
from numalet.insight.maps.refusal import Refusal
from numalet.insight.maps.resource_maps import CpuCell, CpuUse
from numalet.insight.maps.shared_pool import PooledPod
from values import node_charts

_SVG = "{http://www.w3.org/2000/svg}"


def _words(picture: str) -> str:
    return "\n".join(
        "".join(each.itertext()) for each in ElementTree.fromstring(picture).iter(f"{_SVG}text")
    )


def _titles(picture: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(picture).iter(f"{_SVG}title")]


def _links(picture: str) -> list[Element]:
    return [*ElementTree.fromstring(picture).iter(f"{_SVG}a")]


def _block(node_id: int, **more: object) -> NumaBlock:
    block = NumaBlock(
        node_id=node_id, node_class=NodeClass.CPU, sockets=(0,), distances=None,
        cores=((CpuCell(node_id, CpuUse.SHARED),),),
        memory=(MemoryBar("memory", 64, 0, 64),),
    )  # fmt: skip
    return replace(block, **more)  # type: ignore[arg-type]


def test_nodes_without_memory_and_cpus_are_one_block() -> None:
    picture = node_drawing.draw(node_charts.machine("profile:gb200-34n"))
    assert "28 NUMA nodes without memory: 3-9, 11-17, 19-25, 27-33" in _words(picture)
    assert "memory of gpu0 or gpu1" in _words(picture)
    assert "Socket 0" in _words(picture)


def test_alike_nodes_of_a_large_machine_are_folded_and_opened() -> None:
    chart = node_charts.machine("64n4c2t")

    def link(opened: frozenset[int]) -> str:
        return ",".join(map(str, sorted(opened))) or "none"

    folded = node_drawing.draw(chart, link=link)
    whole, *each_of_them = _links(folded)
    assert whole.attrib["href"] == link(frozenset(range(64)))
    assert [each.attrib["href"] for each in each_of_them] == [str(at) for at in range(64)]
    opened = node_drawing.draw(chart, opened=[5], link=link)
    assert "none" in [each.attrib["href"] for each in _links(opened)]
    assert 'data-cpu="20"' in opened
    assert 'data-cpu="0"' not in opened
    all_opened = node_drawing.draw(chart, opened=range(64), link=link)
    assert len(_links(all_opened)) == 64


def test_each_of_alike_nodes_has_a_mark_with_its_cpus_memory_and_distances() -> None:
    titles = _titles(node_drawing.draw(node_charts.machine("64n4c2t")))
    of_seven = [each for each in titles if each.startswith("NUMA node 7;")]
    (words,) = [each for each in of_seven if "8 CPUs: " in each]
    assert "of memory, huge pages included" in words
    assert "distance 10 to 7" in words


def test_alike_nodes_have_what_is_kept_back_on_their_marks() -> None:
    bar = MemoryBar("memory", 64, 16, 48)
    without = _block(4, distances=None, cores=(), memory=(MemoryBar("memory", 0, 0, 0),))
    blocks = [_block(at, memory=(bar,)) for at in range(40)]
    picture = node_drawing.draw(NodeMap(title="t", nodes=(*blocks,)), width_px=400)
    titles = _titles(picture)
    assert titles.count("reserved on NUMA node 39") == 1
    assert 'data-alike="39"' in picture
    memory_only = [_block(at, cores=(), memory=(bar,)) for at in range(40)]
    titles = _titles(node_drawing.draw(NodeMap(title="t", nodes=(*memory_only,))))
    assert "NUMA node 7; 64 of memory, huge pages included" in titles
    many = [replace(without, node_id=at) for at in range(40)]
    bare = node_drawing.draw(NodeMap(title="t", nodes=(*many,)))
    assert "free memory of NUMA node 3" not in _titles(bare)


def test_blocks_with_cells_have_no_link() -> None:
    picture = node_drawing.draw(node_charts.machine("2n8c2t"), link=lambda _: "x")
    assert _links(picture) == []


def test_what_holds_something_is_not_folded() -> None:
    blocks = [_block(at) for at in range(40)]
    part = MemoryBar("memory", 64, 0, 32, (MemoryPart("u", 32),))
    blocks[1] = _block(1, memory=(part,))
    blocks[2] = _block(2, cores=((CpuCell(2, CpuUse.EXCLUSIVE, "u"),),))
    chart = NodeMap(
        title="t", nodes=tuple(blocks), groups=(MemoryGroup((3, 4), ()),),
        devices=(MapDevice("gpu", "g", (5,), DeviceUse.IN_USE),),
    )  # fmt: skip
    (section,) = layout.sections(chart, (6,))
    assert [tile.node_ids for tile in section.tiles if len(tile.node_ids) == 1] == [
        (1,), (2,), (3,), (4,), (5,), (6,),
    ]  # fmt: skip


def test_a_group_names_its_nodes_and_pods() -> None:
    picture = node_drawing.draw(node_charts.grouped(5))
    assert "one group with 1: ns/pod-p0" in _words(picture)
    assert "and 2 pods more" in _words(picture)
    assert 'class="block grouped"' in picture
    assert any("NUMA nodes 0,1 together" in each for each in _titles(picture))
    assert "one group with 0" in _words(node_drawing.draw(node_charts.grouped(0)))


def test_the_joint_part_of_one_pod_is_its_own() -> None:
    picture = ElementTree.fromstring(node_drawing.draw(node_charts.grouped(1)))
    joint = [each for each in picture.iter() if each.get("class") == "joint"]
    assert {each.get("data-pod") for each in joint if "data-bytes" in each.attrib} == {"p0"}


def test_a_joint_part_without_a_group() -> None:
    bar = MemoryBar("memory", 64, 0, 0, (MemoryPart("", 64),))
    picture = node_drawing.draw(NodeMap(title="t", nodes=(_block(0, memory=(bar,)),)))
    assert "memory, 64: reserved for pods" in _titles(picture)
    assert "memory: 0 of 64 free" in _words(picture)


def test_what_is_kept_back_is_said() -> None:
    bar = MemoryBar("hugepages-1Gi", 64, 16, 48)
    picture = node_drawing.draw(NodeMap(title="t", nodes=(_block(0, memory=(bar,)),)))
    assert "1Gi pages: 48, all free, 16 reserved" in _words(picture)
    assert "hugepages-1Gi-kept-back" in picture


def test_a_title_that_needs_all_room_has_the_size_below_it_only() -> None:
    bar = MemoryBar("memory", (1 << 30) + (1 << 24), 0, 0)
    blocks = tuple(_block(1000000 + at, memory=(bar,)) for at in range(2))
    words = _words(node_drawing.draw(NodeMap(title="t", nodes=blocks), width_px=400))
    assert "NUMA node 1000000" in words
    assert "\n1.02Gi\n" not in words


def test_devices_have_their_state_as_a_word() -> None:
    picture = node_drawing.draw(node_charts.held(), width_px=1600)
    words = _words(picture)
    assert "gpu0 in use B" in words
    assert "gpu3 unhealthy" in words
    titles = _titles(picture)
    assert "example.com/nic 0000:3b:02.1: free, PCI address 0000:3b:02.1, NUMA node 0" in titles
    assert "example.com/nic any: free, NUMA node not known" in titles


def test_many_devices_are_counted() -> None:
    picture = node_drawing.draw(node_charts.grouped(1))
    read = ElementTree.fromstring(picture)
    counts = [each.attrib["data-devices"] for each in read.iter() if "data-devices" in each.attrib]
    assert counts == ["1", "1", "18"]
    assert "example.com/vf: 18 free, 1 in use, 1 unhealthy of 20" in _words(picture)
    assert "1 unhealthy" in picture.split("<desc")[1].split("</desc>")[0]


def test_words_about_the_whole() -> None:
    picture = ElementTree.fromstring(node_drawing.draw(node_charts.held()))
    assert picture[0].text == "node-a7"
    assert (picture[1].text or "").startswith(
        "2 NUMA nodes on 2 sockets. Of 32 CPUs, 23 free, 7 exclusive, 2 reserved. Memory: "
    )
    assert "Most free memory is on NUMA node 1" in (picture[1].text or "")
    assert picture.get("role") == "group"


def test_two_drawings_on_one_page_share_no_id() -> None:
    chart = node_charts.held()
    ids = [
        {each.attrib["id"] for each in ElementTree.fromstring(drawn).iter() if "id" in each.attrib}
        for drawn in (node_drawing.draw(chart), node_drawing.draw(chart, prefix="after-"))
    ]
    assert ids[0] & ids[1] == set()
    assert "n0-cpu-2" in ids[0]
    assert "after-n0-memory-uid-web" in ids[1]


def test_a_machine_of_nothing() -> None:
    picture = node_drawing.draw(NodeMap(title="t", nodes=()))
    assert "0 NUMA nodes." in picture
    bare = _block(0, cores=(), memory=(), sockets=())
    assert "NUMA node 0" in node_drawing.draw(NodeMap(title="t", nodes=(bare,)), width_px=1)
    no_memory = MemoryBar("memory", 0, 0, 0)
    one = node_drawing.draw(NodeMap(title="t", nodes=(_block(1, memory=(no_memory,)), bare)))
    assert "no memory" in _words(one)


def test_too_many_cells_are_a_bar_until_they_are_opened() -> None:
    cores = tuple((CpuCell(cpu, CpuUse.SHARED),) for cpu in range(256))
    chart = NodeMap(title="t", nodes=tuple(_block(at, memory=()) for at in range(1, 3)))
    crowded = replace(chart, nodes=(_block(0, cores=cores * 4, memory=()), *chart.nodes))
    assert 'data-cpu="7"' not in node_drawing.draw(crowded, width_px=400)
    assert 'data-cpu="7"' in node_drawing.draw(crowded, width_px=400, opened=[0])
    narrow = replace(chart, nodes=(_block(0, cores=cores, memory=()),))
    assert 'data-cpus="0-255"' in node_drawing.draw(narrow, width_px=240)


def test_nodes_at_no_socket_have_a_section_of_their_own() -> None:
    memory = _block(2, cores=(), sockets=(), node_class=NodeClass.MEMORY)
    other = _block(3, cores=(), sockets=(), node_class=NodeClass.MEMORY)
    two = _block(1, sockets=(0, 1))
    chart = NodeMap(title="t", nodes=(_block(0), two, memory, other), socket_count=2)
    words = _words(node_drawing.draw(chart))
    assert "At no socket that is known" in words
    assert "Sockets 0,1" in words
    assert "accelerator or CXL memory" in words


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ((), ()),
        ((("example.com/nic", "n", (0,)),), ()),
        ((("nvidia.com/gpu", "g", (1,)),), ("g",)),
        ((("nvidia.com/gpu", "g", (0,)),), ("g",)),
        ((("nvidia.com/gpu", "g", (0,)), ("nvidia.com/gpu", "h", (0,))), ()),
    ],
)
def test_whose_memory_it_is(
    devices: tuple[tuple[str, str, tuple[int, ...]], ...], expected: tuple[str, ...]
) -> None:
    host = _block(0, distances=(10, 80))
    memory = _block(1, cores=(), sockets=(), node_class=NodeClass.MEMORY, distances=(80, 10))
    chart = NodeMap(
        title="t",
        nodes=(host, memory),
        devices=tuple(MapDevice(*each, DeviceUse.FREE) for each in devices),
    )
    assert tuple(each.device_id for each in accelerator_memory.owners(chart, memory)) == expected
    assert accelerator_memory.owners(chart, host) == ()


def test_distances_that_are_equal_do_not_say_which_node_is_nearest() -> None:
    memory = _block(2, cores=(), node_class=NodeClass.MEMORY, distances=(20, 20, 10))
    hosts = (_block(0, distances=(10, 20, 20)), _block(1, distances=(20, 10, 20)))
    chart = NodeMap(title="t", nodes=(*hosts, memory))
    assert accelerator_memory.nearest_host(chart, memory) is None
    assert accelerator_memory.nearest_host(replace(chart, nodes=hosts), memory) is None


def test_devices_of_a_machine_on_which_no_kubelet_runs() -> None:
    chart = node_charts.machine("profile:dgx-h100")
    assert len(chart.devices) == 8
    assert chart.devices[0].pci_address == ""
    assert MapDevice("r", "x_0000:3B:02.1", (), DeviceUse.FREE).pci_address == "0000:3b:02.1"


def test_a_name_that_no_room_is_left_for_is_not_shown() -> None:
    host = _block(0)
    device = MapDevice("r" * 300, "", (0,), DeviceUse.FREE)
    picture = node_drawing.draw(NodeMap(title="t", nodes=(host,), devices=(device,)))
    assert "rrr…" in _words(picture)
    assert any("r" * 300 in each for each in _titles(picture))


def test_cores_of_a_last_level_cache_are_in_one_frame_where_a_node_has_several() -> None:
    picture = node_drawing.draw(node_charts.machine("profile:epyc-nps1"))
    read = ElementTree.fromstring(picture)
    frames = [each.attrib["data-cache"] for each in read.iter() if "data-cache" in each.attrib]
    assert len(frames) == 16
    assert frames[:2] == ["0-7,128-135", "8-15,136-143"]
    assert "last-level cache" in _words(picture)
    assert "data-cache" not in node_drawing.draw(node_charts.machine("2n8c2t"))


def test_a_legend_on_a_narrow_drawing_has_several_lines() -> None:
    for width_px, count in ((960, 1), (400, 2)):
        drawn = node_drawing.draw(node_charts.grouped(), width_px=width_px)
        known = {"free", "reserved for the system", "memory of several NUMA nodes together"}
        found = [each for each in ElementTree.fromstring(drawn).iter() if each.text in known]
        assert len({each.get("y") for each in found if each.get("class") == "figure"}) == count


def test_rows_of_cpus_have_the_numbers_of_their_ends() -> None:
    words = _words(node_drawing.draw(node_charts.machine("2n8c2t"))).splitlines()
    assert words[words.index("0") :][:4] == ["0", "7", "16", "23"]


def _rings(chart: NodeMap, found: SearchResult) -> list[Element]:
    read = ElementTree.fromstring(node_drawing.draw(chart, found=found))
    return [each for each in read.iter() if each.get("class") == "found"]


def test_what_is_found_has_a_ring() -> None:
    chart = node_charts.held()
    assert len(_rings(chart, SearchResult(cpus=frozenset({2})))) == 1
    assert len(_rings(chart, SearchResult(device_ids={"gpu0"}))) == 1
    (web,) = [pod.uid for pod in chart.pods if pod.name == "web"]
    assert len(_rings(chart, SearchResult(pod_uids={web}))) == 2
    assert _rings(chart, SearchResult()) == []


def test_a_cpu_that_is_found_opens_its_numa_node() -> None:
    chart = node_charts.machine("64n4c2t")
    found = SearchResult(nodes=frozenset({5}), cpus=frozenset({20}))
    assert 'data-cpu="20"' in node_drawing.draw(chart, found=found)
    assert len(_rings(chart, found)) == 1


def test_the_shared_pool_has_its_load_as_a_bar_and_is_named_on_each_numa_node() -> None:
    chart = node_charts.held()
    pool = replace(chart.pool, pods=(PooledPod("ns/log", 1000 * len(chart.pool.cpus) // 2),))
    picture = node_drawing.draw(replace(chart, pool=pool))
    assert f"shared pool: 16 of {len(pool.cpus)} CPUs, 1 pod" in _words(picture)
    bars = [
        each for each in ElementTree.fromstring(picture).iter(f"{_SVG}rect")
        if "".join(each.itertext()) == pool.sentence
    ]  # fmt: skip
    whole, used = (float(each.attrib["width"]) for each in bars)
    assert used == whole / 2
    assert "No pod runs on them." in _words(node_drawing.draw(chart))


def test_a_rejected_pod_is_named_and_free_devices_that_it_asks_for_are_marked() -> None:
    wants = Refusal("ml/two", "two needs 2 GPUs", frozenset({"nvidia.com/gpu"}))
    picture = node_drawing.draw(replace(node_charts.held(), refused=(wants,) * 6))
    words = _words(picture)
    assert "ml/two is rejected: two needs 2 GPUs" in words
    assert "and 2 rejected pods more" in words
    read = ElementTree.fromstring(picture)
    trapped = [
        each
        for each in read.iter(f"{_SVG}g")
        if each.find(f"{_SVG}rect[@class='chip trap']") is not None
    ]
    assert [each.get("data-device") for each in trapped] == ["gpu1", "gpu2"]
    assert "free, but a pod that asks for it was rejected" in words
