"""The machine profiles: what each holds, that it can be used, and what is said about others."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any, Final

import pytest

from numalet.core.config.behaviour import NATIVE
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import NOWHERE, BadInput, Location
from numalet.insight.maps import machine_map
from numalet.insight.maps.machine_map import ProfileDevices, View
from numalet.insight.usecases.profile_rows import profile_rows
from numalet.io.devices import named_devices
from numalet.io.documents.machine import machine_file, profile_library
from numalet.io.machines import open_machine
from values.profile_bench import asks, devices_of, held, machine_of, start_profile, started

# Nodes, nodes with CPUs, nodes with memory, sockets, cores, CPUs, MiB of memory (rounded down),
# devices.
EXPECTED: Final = {
    "ac922-6n": (6, 2, 6, 2, 44, 176, 326073, 4),
    "aws-p4d": (2, 2, 2, 2, 48, 96, 1161216, 8),
    "aws-p5": (2, 2, 2, 2, 96, 192, 2064384, 8),
    "aws-p5en": (2, 2, 2, 2, 96, 192, 2064384, 8),
    "azure-nd-h100": (2, 2, 2, 2, 96, 96, 1915200, 8),
    "azure-nd-mi300x": (2, 2, 2, 2, 96, 96, 1864800, 8),
    "cxl-2n+1": (3, 2, 3, 2, 104, 208, 194175, 0),
    "dgx-a100": (8, 8, 8, 2, 128, 256, 2064384, 8),
    "dgx-b200": (2, 2, 2, 2, 112, 224, 2064384, 8),
    "dgx-h100": (2, 2, 2, 2, 112, 224, 2064384, 8),
    "dgx-h200": (2, 2, 2, 2, 112, 224, 2064384, 8),
    "epyc-9004-nps1": (2, 2, 2, 2, 192, 384, 1548288, 0),
    "epyc-9004-nps2": (4, 4, 4, 2, 192, 384, 1548288, 0),
    "epyc-9004-nps4": (8, 8, 8, 2, 192, 384, 1548288, 0),
    "epyc-nps1": (2, 2, 2, 2, 128, 256, 1547676, 4),
    "epyc-nps2": (4, 4, 4, 2, 128, 256, 1547676, 0),
    "epyc-nps4": (8, 8, 8, 2, 128, 256, 1547676, 4),
    "gb200-34n": (34, 2, 6, 2, 144, 144, 1733394, 4),
    "gcp-a3-high": (2, 2, 2, 2, 104, 208, 1886976, 8),
    "gcp-a3-mega": (2, 2, 2, 2, 104, 208, 1886976, 8),
    "gh200-12n": (12, 1, 5, 1, 72, 72, 587507, 1),
    "gh200-36n": (36, 4, 8, 4, 288, 288, 872448, 4),
    "gh200-9n": (9, 1, 2, 1, 72, 72, 587317, 1),
    "grace-2n": (2, 2, 2, 2, 144, 144, 474000, 0),
    "granite-rapids-snc3": (6, 6, 6, 2, 192, 384, 1548288, 0),
    "hbm-flat": (4, 2, 4, 2, 104, 208, 1161590, 6),
    "l3-as-numa": (32, 32, 32, 2, 256, 256, 1572864, 0),
    "mi300x-epyc": (2, 2, 2, 2, 192, 384, 2322432, 8),
    "single": (1, 1, 1, 1, 10, 20, 64083, 0),
    "snc2": (4, 4, 4, 2, 40, 80, 1522444, 0),
    "snc4": (8, 8, 8, 2, 96, 192, 515572, 0),
    "uv-24n": (24, 24, 24, 24, 192, 384, 761458, 0),
    "xeon-2n": (2, 2, 2, 2, 56, 112, 257365, 0),
}
NAMES: Final = tuple(EXPECTED)


def test_every_profile_is_in_the_table() -> None:
    assert sorted(NAMES) == list(profile_library.names())


def test_a_source_is_a_link_with_what_it_gives_and_the_day_on_which_it_was_read() -> None:
    sources = [each for row in profile_rows().profiles for each in row.sources]
    assert len({each["link"] for each in sources}) > 15
    for each in sources:
        assert each["link"].startswith("https://")
        assert each["gives"]
        assert date.fromisoformat(each.get("date", "2026-11-28")) > date(2026, 1, 1)
    assert ["date" in each for each in sources].count(True) > 10


@pytest.mark.parametrize("name", ["dgx-a100", "aws-p5", "azure-nd-h100", "granite-rapids-snc3"])
def test_the_siblings_of_a_core_are_on_one_node(name: str) -> None:
    machine = machine_of(name)
    row = next(each for each in profile_rows().profiles if each.name == name)
    assert any("date" in each for each in row.sources)
    for node in machine.nodes:
        assert {core.socket_id for core in node.cores} == {node.cores[0].socket_id}
        assert all(
            thread - core.threads[0] in (0, machine.physical_core_count)
            for core in node.cores
            for thread in core.threads
        )


@pytest.mark.parametrize("name", NAMES)
def test_its_counts_are_those_of_the_real_machine(name: str) -> None:
    machine = machine_of(name)
    devices = named_devices(f"profile:{name}", (), machine.node_ids)
    assert EXPECTED[name] == (
        len(machine.nodes),
        sum(bool(node.cores) for node in machine.nodes),
        sum(bool(node.memory_bytes) for node in machine.nodes),
        machine.socket_count,
        sum(len(node.cores) for node in machine.nodes),
        machine.cpu_count,
        machine.memory_capacity_bytes >> 20,
        sum(map(len, devices.values())),
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_is_read_without_findings_and_is_in_the_kubelets_order(name: str) -> None:
    loaded = open_machine(f"profile:{name}")
    assert loaded.reading_notes == ()
    assert loaded.machine.source == f"profile:{name}"
    ids = [node.node_id for node in loaded.info.nodes]
    assert ids == sorted(ids, key=lambda node_id: f"node{node_id}")


@pytest.mark.parametrize("name", NAMES)
def test_distances_are_a_symmetric_table_with_ten_at_home(name: str) -> None:
    machine = machine_of(name)
    ids = sorted(machine.node_ids)
    rows = {node.node_id: node.distances for node in machine.nodes}
    table = [list(rows[node_id] or ()) for node_id in ids]
    assert [list(column) for column in zip(*table, strict=True)] == table
    for place, row in enumerate(table):
        assert row[place] == 10
        assert min(row) == 10
        assert len(row) == len(ids)


@pytest.mark.parametrize("name", NAMES)
def test_all_nodes_have_the_page_sizes_of_the_kernel_and_no_pages(name: str) -> None:
    machine = machine_of(name)
    grace = {2048: 0, 524288: 0, 16777216: 0}
    wanted = grace if name.startswith(("gb", "gh", "grace")) else {2048: 0, 1048576: 0}
    if name == "uv-24n":
        wanted = {2048: 0}
    for node in machine.nodes:
        assert {page.page_size_kib: page.count for page in node.hugepages} == wanted


@pytest.mark.parametrize("name", NAMES)
def test_its_map_notes_what_is_odd_and_nothing_else(name: str) -> None:
    loaded = open_machine(f"profile:{name}")
    chart = machine_map.machine_map(loaded.machine, View.KUBELET)
    nodes, with_cpus, with_memory, *_ = EXPECTED[name]
    expected = {
        "machine/note-cpuless": with_cpus < nodes,
        "machine/note-memoryless": with_memory < nodes,
        "machine/note-many-nodes": nodes > 8,
        "machine/note-high-ids": name == "ac922-6n",
        "machine/note-sparse-ids": name == "ac922-6n",
    }
    assert {note["code"] for note in chart.notes} == {
        code for code, is_so in expected.items() if is_so
    }


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ac922-6n"])
def test_a_pod_with_a_device_and_memory_stays_on_one_node_with_cpus(name: str) -> None:
    node = started(name)
    lists = devices_of(name)
    sizes = {"cpu": "2"} | dict.fromkeys(lists, "1")
    after, decision = node.admit(asks("sample", "8Gi", **sizes))
    assert decision.rejection is None
    got = held(after, "sample")
    (place,) = (each for each in machine_of(name).nodes if (each.node_id,) == got.memory_nodes)
    assert got.cpus < {cpu for core in place.cores for cpu in core.threads}
    assert len(got.cpus) == 2
    for resource, devices in lists.items():
        assert set(got.devices[resource]) <= {
            device.device_id for device in devices if device.numa_nodes == (place.node_id,)
        }
        assert len(got.devices[resource]) == 1


def test_ids_above_63_are_refused_by_the_exact_mode() -> None:
    refused = start_profile("ac922-6n")
    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.NUMALET


def test_ids_above_63_are_ordinary_in_native_mode() -> None:
    node = started("ac922-6n", NATIVE)
    after, decision = node.admit(asks("sample", "100Gi", cpu="8", gpu="1"))
    assert decision.admitted
    assert held(after, "sample").memory_nodes == (0,)
    assert held(after, "sample").devices["nvidia.com/gpu"][0] in {"gpu0", "gpu1"}


@pytest.mark.parametrize("name", [name for name in NAMES if EXPECTED[name][0] > 8])
def test_more_than_eight_nodes_need_the_kubelets_option(name: str) -> None:
    refused = start_profile(name, topologyManagerPolicyOptions={})
    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.TOPOLOGY_MANAGER


def test_gb200_has_a_gpus_memory_in_the_first_of_its_eight_nodes() -> None:
    machine = machine_of("gb200-34n")
    sizes = {node.node_id: node.memory_bytes >> 20 for node in machine.nodes if node.memory_bytes}
    assert sizes == {0: 489935, 1: 489795, 2: 188416, 10: 188416, 18: 188416, 26: 188416}
    near = Counter((machine.nodes[0].distances or ())[2:])
    assert near == {80: 16, 120: 16}


def test_l3_as_numa_has_nodes_in_another_order_than_cpus() -> None:
    machine = machine_of("l3-as-numa")
    cpus = {
        node.node_id: {cpu for core in node.cores for cpu in core.threads} for node in machine.nodes
    }
    assert cpus[2] == set(range(64, 72))
    assert cpus[28] == set(range(144, 152))
    assert set().union(*cpus.values()) == set(range(256))


def test_a_description_may_name_a_profile() -> None:
    machine = machine_file.decode({"profile": "snc2"}, Location("here"))
    assert machine == open_machine("profile:snc2").machine


@pytest.mark.parametrize(
    ("described", "code"),
    [
        ({"profile": "snc3"}, "input/not-found"),
        ({"profile": 2}, "document/type"),
        ({"profile": "snc2", "nodes": []}, "document/unknown-field"),
    ],
)
def test_a_wrong_description_by_profile_is_refused(described: object, code: str) -> None:
    with pytest.raises(BadInput) as bad:
        machine_file.decode(described, Location("here", "$"))
    (finding,) = bad.value.findings
    assert finding.code == code
    assert finding.where.document == "here"


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(BadInput) as bad:
        open_machine("profile:gb200-36n")
    (finding,) = bad.value.findings
    text = str(finding)
    assert text == (
        "unknown machine profile 'gb200-36n'; 'numalet machine --profiles' lists all of them; "
        "expected a name such as gh200-36n or gb200-34n"
    )


@pytest.mark.parametrize("name", ["", "../profiles/snc2", "snc2.yaml", "SNC2", "\0"])
def test_only_names_are_profiles(name: str) -> None:
    for ask in (open_machine, lambda text: named_devices(text, ())):
        with pytest.raises(BadInput) as bad:
            ask(f"profile:{name}")
        assert [finding.code for finding in bad.value.findings] == ["input/not-found"]


def test_sizes_go_with_shapes_and_not_with_profiles() -> None:
    with pytest.raises(BadInput) as bad:
        open_machine("profile:single", memory_per_node="1Gi")
    assert [finding.code for finding in bad.value.findings] == ["input/conflict"]


def test_nodes_with_cpus_get_the_huge_pages_that_are_asked_for() -> None:
    asked = open_machine("profile:gb200-34n", hugepages_per_node={"512Mi": "64"})
    described = {"profile": "gb200-34n", "hugepages_per_node": {"512Mi": 64}}
    assert asked.machine == machine_file.decode(described, Location("here"))
    pages = {node.node_id: node.hugepages for node in asked.info.nodes}
    assert {page.page_size_kib: page.count for page in pages[1]} == {
        2048: 0,
        524288: 64,
        16777216: 0,
    }
    assert {page.count for page in pages[2]} == {0}
    assert {page.page_size_kib: page.count for page in asked.info.hugepages}[524288] == 128


def test_huge_pages_of_a_profile_have_a_size_of_its_kernel() -> None:
    with pytest.raises(BadInput) as bad:
        open_machine("profile:gb200-34n", hugepages_per_node={"1Gi": "4"})
    (finding,) = bad.value.findings
    assert finding.where == Location("--hugepages-per-node", "")
    assert str(finding) == (
        "the machine of profile gb200-34n has no hugepages-1Gi; expected one of: hugepages-2Mi, "
        "hugepages-512Mi, hugepages-16Gi"
    )


def test_a_file_of_the_same_name_wins(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profile:single").write_text("- resource: a.b/c\n  devices: [d]\n")
    assert list(named_devices("profile:single", ())) == ["a.b/c"]
    (tmp_path / "profile:single").write_text("nodes: [{memory: 1Gi}, {memory: 1Gi}]\n")
    assert len(open_machine("profile:single").info.nodes) == 2


def test_a_device_of_a_profile_must_be_on_a_node_of_the_machine() -> None:
    with pytest.raises(BadInput) as bad:
        named_devices("profile:hbm-flat", (), node_ids=(0,))
    assert {finding.code for finding in bad.value.findings} == {"input/not-found"}


def test_the_list_counts_each_profile() -> None:
    rows = {row.name: row for row in profile_rows().profiles}
    assert list(rows) == list(NAMES)
    row = rows["hbm-flat"]
    assert (row.numa_nodes, row.nodes_with_cpus, row.nodes_with_memory) == (4, 2, 4)
    assert row.devices == (ProfileDevices("gpu.intel.com/i915", 6),)
    for each in rows.values():
        assert each.about.endswith(".")
        assert each.figures.endswith(".")
    assert row.memory_bytes == 1161590 << 20


def test_a_profile_names_its_own_places() -> None:
    profile = profile_library.read("gb200-34n", NOWHERE)
    assert profile.machine_place == Location("profile:gb200-34n", "$.machine")
    assert profile.line_of(profile.devices_place.path) is not None
