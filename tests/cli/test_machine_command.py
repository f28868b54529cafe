"""``numalet machine`` as somebody types it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from machines.guests import FIGURES, NAMES, tarball
from numalet.cli.main import run


def _out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["machine", *arguments]) == 0
    return capsys.readouterr().out


def _err(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["machine", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_out(capsys, *arguments, "-o", "json"))
    return found


def test_a_machine_is_drawn_socket_by_socket(capsys: pytest.CaptureFixture[str]) -> None:
    out = _out(capsys, "2n2c2t", "--memory-per-node", "4Gi", "--hugepages-per-node", "2Mi=5")
    assert out == (
        "2n2c2t, as it is\n"
        "2 sockets, 2 NUMA nodes, 4 cores, 8 CPUs, 8 GiB\n"
        "huge pages: 10 x 2 MiB\n"
        "\n"
        "Socket 0\n"
        "╭─ NUMA node 0 ───────────────────────╮\n"
        "│ CPUs   0-1,4-5 (4)                  │\n"
        "│ Cores  2                            │\n"
        "│ Memory 4 GiB                        │\n"
        "│ Pages  5 x 2 MiB                    │\n"
        "╰─────────────────────────────────────╯\n"
        "\n"
        "Socket 1\n"
        "╭─ NUMA node 1 ───────────────────────╮\n"
        "│ CPUs   2-3,6-7 (4)                  │\n"
        "│ Cores  2                            │\n"
        "│ Memory 4 GiB                        │\n"
        "│ Pages  5 x 2 MiB                    │\n"
        "╰─────────────────────────────────────╯\n"
        "\n"
        "Distances\n"
        "node   0   1\n"
        "   0  10  20\n"
        "   1  20  10\n"
    )


@pytest.mark.parametrize("view", ["kernel", "kubelet"])
@pytest.mark.parametrize("name", NAMES)
def test_every_guest_fits_eighty_columns_without_colour(
    name: str, view: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = _out(capsys, str(tarball(name)), "--view", view)
    tail = out.partition("\n")[2]
    assert max(map(len, tail.splitlines())) <= 80
    assert "\x1b" not in out


def test_many_nodes_become_a_table_and_lists_of_distances(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = _out(capsys, str(tarball("n36c28-8cpuless")))
    assert re.search(r"^ +35 +memory +- +none +\d+\.\d+ MiB +-$", out, re.MULTILINE)
    assert re.search(r"^ +0 +10: 0; 12: 1-6; ", out, re.MULTILINE)


def test_odd_things_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    out = _out(capsys, str(tarball("n2c4-cpu3-offline")))
    assert "- offline CPUs: 3\n" in out


def test_offline_cpus_of_a_node_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system = tmp_path / "sys" / "devices" / "system"
    (system / "node" / "node0").mkdir(parents=True)
    (system / "node" / "node0" / "cpulist").write_text("0-3\n")
    for number in range(4):
        (system / "cpu" / f"cpu{number}").mkdir(parents=True)
    (system / "cpu" / "online").write_text("0-1\n")
    assert "0-1 (2), offline 2-3" in _out(capsys, str(tmp_path))


def test_sparse_ids_above_63_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text("nodes: [{id: 0, memory: 1Gi, cpus: 0-3}, {id: 255, memory: 1Gi}]")
    out = _out(capsys, str(path))
    assert "NUMA node 255" in out
    assert "Without CPUs" in out
    assert "NUMA node ids 255 are above 63" in out


def test_distances_of_another_shape_are_shown_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = tmp_path / "sys/devices/system/node"
    for number, row in ((0, "10 20 30\n"), (1, None)):
        (node / f"node{number}").mkdir(parents=True)
        if row is not None:
            (node / f"node{number}" / "distance").write_text(row)
    out = _out(capsys, "--sysfs", str(tmp_path))
    assert re.search(r"^ +0 +10 20 30$", out, re.MULTILINE)
    assert re.search(r"^ +1 +-$", out, re.MULTILINE)
    assert "distances unknown" in out


def test_a_node_over_several_sockets_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cores = [{"socket": number, "threads": [number]} for number in (0, 1)]
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({"nodes": [{"memory": 0, "cores": cores}]}))
    assert "Sockets 0-1" in _out(capsys, str(path))


def test_json_and_yaml_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    name = str(tarball("n4c4-uneven"))
    plain = _json(capsys, name)
    assert yaml.safe_load(_out(capsys, name, "-o", "yaml")) == plain
    assert [node["memory_bytes"] // 1024 for node in plain["numa_nodes"]] == [
        node["memory_kib"] for node in FIGURES["n4c4-uneven"]["nodes"]
    ]


def test_notes_have_their_sentence_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    (note,) = _json(capsys, "-m", "1n1c")["notes"]
    assert note["code"] == "machine/note-memory-assumed"
    assert "64Gi" in note["text"]


def test_the_kubelet_lists_its_nodes_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    plain = _json(capsys, str(tarball("n16c16")), "--view", "kubelet")
    assert [node["id"] for node in plain["numa_nodes"]][:3] == [0, 1, 10]


def test_without_a_name_it_is_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert _json(capsys)["source"] == "/sys"
    assert _json(capsys, "--sysfs", "/sys")["cpus"] == _json(capsys)["cpus"]


def test_a_capture_shows_the_same_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "captured.tar.gz")
    before = _json(capsys, str(tarball("n2c4")), "--capture", path)
    after = _json(capsys, path)
    assert {**before, "source": ""} == {**after, "source": ""}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nosuchthing",), "no file, folder, profile or shape 'nosuchthing'"),
        (("1n1c", "-m", "2n1c"), "'1n1c' and '2n1c' both name a machine"),
        (("1n1c", "--capture", "x.tar.gz"), "cannot capture '1n1c'"),
        (("1n1c", "--hugepages-per-node", "1Gi"), "invalid number of huge pages '1Gi'"),
        (("1n1c", "--hugepages-per-node", "1Gi=1;1Gi=2"), "invalid number of huge pages '1Gi=2'"),
        (("1n1c", "--hugepages-per-node", ""), "invalid number of huge pages ''"),
        (("--memory-per-node", "1Gi"), "applies only to shapes"),
        (("--sysfs", "/sys", "--memory-per-node", "1Gi"), "applies only to shapes"),
        (("--sysfs", "/nosuchfolder"), "no file, folder, profile or shape '/nosuchfolder'"),
        (("3s4n1c",), "4 nodes on 3 sockets"),
    ],
)
def test_unusable_input_is_reported_and_ends_with_2(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in _err(capsys, *arguments)


def test_a_name_that_no_terminal_takes_is_printed_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd\udcff.yaml"
    path.write_text("nodes: [{memory: 1Gi}]")
    assert r"odd\udcff.yaml" in _out(capsys, str(path)).replace("\n", "")


def test_the_profiles_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    out = _out(capsys, "--profiles")
    assert max(map(len, out.splitlines())) <= 80
    (row,) = (line for line in out.splitlines() if line.startswith("gb200-34n"))
    assert re.fullmatch(r"gb200-34n +34 +2 +144 +1\.653 TiB +NVIDIA GB200 .*", row)
    assert "--devices profile:NAME" in out


def test_the_list_of_profiles_has_the_sources_of_their_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = _json(capsys, "--profiles")
    assert listed["schema"] == "numalet.machine-profiles/1"
    gb200 = next(each for each in listed["profiles"] if each["name"] == "gb200-34n")
    assert gb200["devices"] == [{"resource": "nvidia.com/gpu", "count": 4}]
    assert "numactl -H" in gb200["figures"]
    assert yaml.safe_load(_out(capsys, "--profiles", "-o", "yaml")) == listed


@pytest.mark.parametrize("how", [("profile:snc2",), ("-m", "profile:snc2")])
def test_a_profile_is_a_machine(how: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    machine = _json(capsys, *how)
    assert machine["source"] == "profile:snc2"
    assert [node["cpus"][:3] for node in machine["numa_nodes"]] == ["0,4", "1,5", "2,6", "3,7"]


def test_an_unknown_profile_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    err = _err(capsys, "profile:epyc-nps8")
    assert "a name such as epyc-nps4 or epyc-nps2" in err


def test_nothing_else_is_named_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--profiles" in _err(capsys, "profile:snc2", "--profiles")
    assert "--profiles" in _err(capsys, "--profiles", "--capture", "x.tar.gz")


def test_classes_of_nodes_are_shown_where_there_are_several(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert re.search(r"^ +2 +empty +- ", _out(capsys, "profile:gh200-9n"), re.MULTILINE)
    assert _out(capsys, "profile:hbm-flat").count("Class  memory") == 2
    for one_class in ("profile:snc4", "profile:uv-24n"):
        assert "class" not in _out(capsys, one_class).lower()
    classes = [node["class"] for node in _json(capsys, "profile:gh200-9n")["numa_nodes"]]
    assert classes == ["cpu", "memory", *["empty"] * 7]
