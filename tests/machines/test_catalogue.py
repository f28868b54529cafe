"""Machines of other people read as the catalogue of machines says.

The snapshots are not part of the project. ``NUMALET_MACHINES`` names their folder; without it
these tests are skipped.
"""

from __future__ import annotations

import json
import os
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from machines.catalogue import figures, view_figures
from numalet.core.model import machine_queries as ask
from numalet.core.model.findings import Location
from numalet.core.model.kubelet_view import kubelet_view
from numalet.io import machines
from numalet.io.documents.machine import cadvisor
from numalet.io.machines import LoadedMachine
from numalet.io.sysfs import discover
from numalet.io.sysfs.archive import read_archive
from numalet.io.sysfs.capture import capture

_FOLDER = os.environ.get("NUMALET_MACHINES", "")
_ABOUT_THE_TOOL = {"version", "build", "note", "links_added", "errors"}
# What cAdvisor could not say because a file was not there: the catalogue gives 0 or null.
_SILENT: dict[str, dict[str, int | None]] = {
    "memory": {"memory_capacity": 0},
    "cpuinfo": {"num_physical_cores": None, "num_sockets": None},
}


def _entries() -> list[dict[str, Any]]:
    if not _FOLDER:
        return []
    catalogue: dict[str, Any] = json.loads((Path(_FOLDER) / "catalogue.json").read_text())
    return list(catalogue["machines"])


ENTRIES = _entries()
pytestmark = pytest.mark.skipif(not ENTRIES, reason="NUMALET_MACHINES names no folder")
every_machine = pytest.mark.parametrize("entry", ENTRIES or [{}], ids=lambda e: e.get("name", "-"))


@cache
def _opened(file: str, root: str) -> LoadedMachine:
    path = Path(_FOLDER) / file
    return machines.open_machine(str(path) if root == "." else f"{path}:{root}")


def _open(entry: dict[str, Any]) -> LoadedMachine:
    return _opened(entry["file"], entry["root"])


@every_machine
def test_the_machine_reads_as_expected(entry: dict[str, Any]) -> None:
    assert entry["expected"] == figures(_open(entry).machine)


@every_machine
def test_the_kubelet_sees_what_cadvisor_says(entry: dict[str, Any]) -> None:
    expected = {k: v for k, v in entry["cadvisor"].items() if k not in _ABOUT_THE_TOOL}
    actual = view_figures(_open(entry).info)
    for missing in entry["cadvisor"].get("errors", {}):
        for key, silence in _SILENT[missing].items():
            assert silence == expected[key]
            actual[key] = silence
    assert expected == actual


@every_machine
def test_lscpu_sorts_the_cpus_into_the_same_cores_and_nodes(entry: dict[str, Any]) -> None:
    file = entry["lscpu"].get("per_cpu_file")
    if file is None or any("lscpu" in each for each in entry["disagreements"]):
        pytest.skip("lscpu does not say, or the catalogue says that it errs")
    rows = [
        line.strip().split(",")
        for line in (Path(_FOLDER) / file).read_text().splitlines()
        if line[:1].isdigit()
    ]
    machine = _open(entry).machine
    theirs: dict[str, set[int]] = {}
    for cpu, core, *_ in rows:
        if core:
            theirs.setdefault(core, set()).add(int(cpu))
    if theirs:
        assert sorted(map(sorted, theirs.values())) == sorted(map(sorted, ask.cores(machine)))
    ours = {cpu: node.node_id for node in machine.nodes for cpu in ask.online_part(machine, node)}
    shares_cpus = sum(len(node.cpus) for node in machine.nodes) > len(
        frozenset().union(*(node.cpus for node in machine.nodes))
    )
    if not shares_cpus:
        nodes = {int(cpu): int(node) for cpu, _, _, node in rows if node}
        assert nodes in (ours, {})


@every_machine
def test_nothing_is_odd_about_the_files(entry: dict[str, Any]) -> None:
    assert _open(entry).reading_notes == ()


@every_machine
def test_a_capture_reads_as_the_same_machine(entry: dict[str, Any], tmp_path: Path) -> None:
    loaded = _open(entry)
    assert loaded.tree is not None
    size = capture(loaded.tree, tmp_path / "captured.tar.gz", loaded.machine.source)
    assert size == (tmp_path / "captured.tar.gz").stat().st_size
    (again,) = read_archive(tmp_path / "captured.tar.gz", "captured").trees.values()
    assert (loaded.machine, ()) == discover.read_machine(again, loaded.machine.source)


@pytest.mark.parametrize(
    "entry",
    [entry for entry in ENTRIES if entry["cadvisor_on_the_machine"]] or [{}],
    ids=lambda entry: entry.get("name", "-"),
)
def test_the_machine_info_of_the_machine_itself_agrees(entry: dict[str, Any]) -> None:
    said = entry["cadvisor_on_the_machine"]
    with tarfile.open(Path(_FOLDER) / entry["file"]) as archive:
        member = next(m for m in archive if m.name.endswith(said["file_in_tarball"]))
        file = archive.extractfile(member)
        assert file is not None
        document = json.load(file)
    info = kubelet_view(cadvisor.decode(document, Location("machineinfo.json", "$")))
    ours = _open(entry).info
    assert said["num_cores"] == info.cpu_count == ours.cpu_count
    assert said["num_physical_cores"] == info.physical_core_count == ours.physical_core_count
    assert said["memory_capacity"] == info.memory_capacity_bytes == ours.memory_capacity_bytes
    assert [(n.node_id, n.memory_bytes, n.cores) for n in info.nodes] == [
        (n.node_id, n.memory_bytes, n.cores) for n in ours.nodes
    ]
    # The cAdvisor of that time knew no ids of caches.
    assert [[(c.level, c.size_bytes) for c in n.caches] for n in info.nodes] == [
        [(c.level, c.size_bytes) for c in n.caches] for n in ours.nodes
    ]
