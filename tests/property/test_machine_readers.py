"""Whatever the input, a reader of machines gives a machine or says what is wrong."""

from __future__ import annotations

import contextlib
import gzip
import io
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.core.model import cpu_set, machine_shape
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine import Machine
from numalet.insight.maps.machine_map import View, machine_map
from numalet.insight.output import json_schema
from numalet.io import machines
from numalet.io.documents.machine import cadvisor, machine_file
from numalet.io.sysfs import kernel_text
from numalet.io.sysfs.discover import read_machine
from numalet.io.sysfs.kernel_text import KernelTextError
from numalet.io.sysfs.trees import memory_tree

pytestmark = pytest.mark.property

HERE = Location("machine", "$")


def _is_usable(machine: Machine) -> None:
    """Everything that is asked of a machine has an answer."""
    kubelet_view(machine)
    for view in View:
        json_schema.plain(machine_map(machine, view))


def _are_worded(findings: tuple[Finding, ...]) -> None:
    assert findings
    for finding in findings:
        str(finding)


# ── sets of CPUs ──


@given(st.frozensets(st.integers(0, 5000)))
def test_a_set_of_cpus_survives_its_text(cpus: frozenset[int]) -> None:
    assert cpu_set.parse(cpu_set.text(cpus)) == cpus


@given(st.text("0123456789,-+ \n", max_size=30) | st.text(max_size=10))
def test_any_text_is_a_set_or_an_error_of_go(text: str) -> None:
    try:
        cpus = cpu_set.parse(text)
    except cpu_set.CpuListError:
        return
    assert cpu_set.parse(cpu_set.text(cpu for cpu in cpus if cpu >= 0)) <= cpus


@given(st.frozensets(st.integers(0, 300)))
def test_list_and_mask_of_the_kernel_agree(cpus: frozenset[int]) -> None:
    value = sum(1 << cpu for cpu in cpus)
    words = [value >> shift & 0xFFFFFFFF for shift in range(320, -1, -32)]
    mask = ",".join(f"{word:08x}" for word in words)
    assert kernel_text.cpu_mask(mask + "\n") == kernel_text.cpu_list(cpu_set.text(cpus)) == cpus


@given(st.none() | st.text(max_size=40) | st.text("0123456789abcdef,-KMGk \n\0", max_size=40))
def test_any_text_of_the_kernel_is_read_or_told(text: str | None) -> None:
    for parse in (
        kernel_text.cpu_list,
        kernel_text.cpu_mask,
        kernel_text.integer,
        kernel_text.integers,
        kernel_text.size_bytes,
        kernel_text.mem_total_kib,
        kernel_text.meminfo_figures,
    ):
        with contextlib.suppress(KernelTextError):
            parse(text)
    kernel_text.count_ids(text, "core id")


# ── shapes ──


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 5), st.integers(1, 3))
def test_a_shape_has_what_its_name_says(
    sockets: int, nodes_per_socket: int, cores: int, threads: int
) -> None:
    nodes = sockets * nodes_per_socket
    shape = machine_shape.parse_shape(f"{sockets}s{nodes}n{cores}c{threads}t")
    info = kubelet_view(machine_shape.machine_of_shape(shape, 1 << 30, {}, ""))
    assert info.socket_count == sockets
    assert info.cpu_ids == tuple(range(nodes * cores * threads))
    assert all(len(node.cores) == cores for node in info.nodes)
    assert all(len(c.threads) == threads for node in info.nodes for c in node.cores)
    rows = {node.node_id: node.distances or () for node in info.nodes}
    assert all(rows[a][b] == rows[b][a] for a in rows for b in rows)


@given(st.from_regex(r"[0-9]{0,4}[snct]?[0-9]{0,4}[snct]?[0-9]{0,4}[snct]?") | st.text(max_size=9))
def test_any_text_is_a_shape_or_bad_input(text: str) -> None:
    try:
        shape = machine_shape.parse_shape(text)
    except BadInput as bad:
        _are_worded(bad.findings)
    else:
        assert shape.nodes % shape.sockets == 0


# ── trees ──

_SYS = "sys/devices/system"
_PATHS = st.sampled_from(
    [
        *(f"{_SYS}/cpu/{name}" for name in ("online", "possible", "kernel_max")),
        *(
            f"{_SYS}/cpu/cpu{number}/{rest}"
            for number in (0, 1, 7)
            for rest in (
                "online",
                "topology/core_id",
                "topology/physical_package_id",
                "topology/thread_siblings_list",
                "topology/core_siblings",
                "topology/book_id",
                "cache/index0/level",
                "cache/index3/shared_cpu_map",
                "cache/index3/id",
                "cache/index3/size",
            )
        ),
        *(f"{_SYS}/node/{name}" for name in ("online", "has_cpu")),
        *(
            f"{_SYS}/node/node{number}/{rest}"
            for number in (0, 3, 200)
            for rest in (
                "cpulist",
                "cpumap",
                "meminfo",
                "distance",
                "cpu1",
                "hugepages/hugepages-2048kB/nr_hugepages",
            )
        ),
        "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
        "proc/meminfo",
        "proc/cpuinfo",
    ]
)
_TEXTS = st.sampled_from(
    ["", "\n", "0\n", "1\n", "0-1\n", "0-3,7", "7\n\0", "-1\n", "10 20\n", "(null)", "ffffffff\n"]
) | st.binary(max_size=20).map(lambda content: content.decode("utf-8", "replace"))
_MEMINFO = st.integers(0, 10**12).map(
    lambda kib: f"\nNode 0 MemTotal: {kib} kB\nMemTotal: {kib} kB"
)


@given(
    st.dictionaries(_PATHS, _TEXTS | _MEMINFO, max_size=25),
    st.dictionaries(_PATHS, st.sampled_from([".", "../../cpu/cpu1", "/etc/passwd"]), max_size=3),
)
def test_any_tree_is_a_machine_or_bad_input(files: dict[str, str], links: dict[str, str]) -> None:
    content = {path: text.encode() for path, text in files.items() if path not in links}
    try:
        machine, warnings = read_machine(memory_tree(content, links, set()), "tree")
    except BadInput as bad:
        _are_worded(bad.findings)
    else:
        _is_usable(machine)
        for warning in warnings:
            str(warning)


# ── tarballs ──


def _open(content: bytes, name: str = "machine") -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            loaded = machines.open_machine(str(path))
        except BadInput as bad:
            _are_worded(bad.findings)
        else:
            _is_usable(loaded.machine)


def _small_tarball() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, text in (
            (f"{_SYS}/cpu/cpu0/topology/core_id", b"0\n"),
            (f"{_SYS}/node/node0/meminfo", b"Node 0 MemTotal: 7 kB\n"),
        ):
            member = tarfile.TarInfo(path)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return packed.getvalue()


_TARBALL = _small_tarball()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(_TARBALL) - 1), st.integers(0, 255)), max_size=8),
    st.integers(0, len(_TARBALL)),
    st.booleans(),
)
def test_a_spoilt_tarball_is_a_machine_or_bad_input(
    changes: list[tuple[int, int]], length: int, squeezed: bool
) -> None:
    content = bytearray(_TARBALL)
    for place, byte in changes:
        content[place] = byte
    spoilt = bytes(content[:length])
    _open(gzip.compress(spoilt) if squeezed else spoilt)


@settings(deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00"]))
def test_any_bytes_are_a_machine_or_bad_input(content: bytes, magic: bytes) -> None:
    _open(magic + content)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_name_is_a_machine_or_bad_input(name: str) -> None:
    try:
        loaded = machines.open_machine(name)
    except BadInput as bad:
        _are_worded(bad.findings)
    else:
        _is_usable(loaded.machine)


# ── documents ──

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-2, 70)
    | st.floats(allow_nan=False)
    | st.sampled_from(["0-3", "1Gi", "128Gi", "2n4c", "linux", "x", "0,2", "1.5.Gi", "-1Gi"])
    | st.text(max_size=6)
)
_KEYS = st.sampled_from(
    [
        "os", "nodes", "numa_nodes", "distances", "shape", "memory_per_node", "id", "memory",
        "memory_bytes", "hugepages", "cpus", "cores", "socket", "threads_per_core", "threads",
        "uncore_cache", "page_size_kib", "count", "1Gi", "2Mi", "num_cores", "topology",
        "node_id", "core_id", "thread_ids", "page_size", "num_pages", "uncore_caches",
    ]
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=25,
)
_NODES = st.lists(
    st.fixed_dictionaries(
        {"memory": st.sampled_from(["1Gi", 0, 5])},
        optional={
            "id": st.integers(0, 70),
            "cpus": st.sampled_from(["0-3", "4-7", "8", [9, 10]]),
            "cores": _VALUES,
            "hugepages": st.dictionaries(st.sampled_from(["1Gi", "2Mi"]), st.integers(0, 5)),
            "distances": st.lists(st.integers(0, 255), max_size=3),
            "socket": st.integers(0, 3),
            "threads_per_core": st.integers(1, 4),
        },
    ),
    max_size=3,
)


@given(_VALUES | st.fixed_dictionaries({"nodes": _NODES | _VALUES}))
def test_any_description_is_a_machine_or_bad_input(value: Any) -> None:
    try:
        machine = machine_file.decode(value, HERE)
    except BadInput as bad:
        _are_worded(bad.findings)
    else:
        _is_usable(machine)


@given(st.fixed_dictionaries({"num_cores": st.integers() | _VALUES, "topology": _VALUES}) | _VALUES)
def test_any_machine_info_is_a_machine_or_bad_input(value: Any) -> None:
    try:
        machine = cadvisor.decode(value, HERE)
    except BadInput as bad:
        _are_worded(bad.findings)
    else:
        _is_usable(machine)
