"""Sound state files have no findings; every rule is broken once, and the breach named."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from numalet.cli import code_index
from numalet.core.config.rules import MemoryPolicy
from numalet.core.model.findings import Severity
from numalet.insight.state import verify as state_verify
from numalet.insight.state.reading import Seal
from numalet.insight.state.verify import FileReport, Soundness
from values import builders, state_builders
from values.builders import GI
from values.state_builders import CPU, DEVICE, GPU, MEMORY, Json, codes

FILES = state_builders.files()
CHANGED = {name: json.loads(text) for name, text in FILES.items()}
MACHINE = state_builders.machine()

NODE = "machineState", "0"
TABLE = *NODE, "memoryMap", "memory"
PAGES = *NODE, "memoryMap", "hugepages-2Mi"
BLOCKS = "entries", "u1", "c"
ENTRY = "Data", "PodDeviceEntries", 0
GONE = object()
"""Stands for "take the member away"."""


def changed(name: str, *changes: tuple[tuple[Any, ...], Any]) -> Json:
    """The content of a sound file with other values at some places."""
    value: Json = copy.deepcopy(CHANGED[name])
    for path, new in changes:
        parent: Any = value
        for key in path[:-1]:
            parent = parent[key]
        if new is GONE:
            del parent[path[-1]]
        else:
            parent[path[-1]] = new
    return value


def report(name: str, *changes: tuple[tuple[Any, ...], Any]) -> FileReport:
    """What is found in a sound file after changes, sealed again."""
    return state_verify.verify_file(name, state_builders.sealed(name, changed(name, *changes)))


def test_files_of_a_kubelet_are_sound() -> None:
    reports = state_verify.verify(FILES, MACHINE)

    assert [each.name for each in reports] == [CPU, DEVICE, MEMORY]
    assert {Soundness.SOUND} == {each.soundness for each in reports}
    assert [each.policy_name for each in reports] == ["static", None, "Static"]
    assert {Seal.SOUND} == {each.seal for each in reports}
    assert all(each.checksum == each.expected for each in reports)


def test_files_of_policy_none_and_of_an_empty_node_are_sound() -> None:
    off = builders.rules(builders.machine(10), policy=MemoryPolicy.NONE)
    for files in (builders.node(off).state_files(), state_builders.files(pods=())):
        reports = state_verify.verify(files)
        assert {Soundness.SOUND} == {each.soundness for each in reports}


def test_fresh_files_of_the_static_policies_are_sound() -> None:
    for name, text in (
        (CPU, '{"policyName":"static","defaultCpuSet":"","checksum":0}'),
        (MEMORY, '{"policyName":"Static","machineState":{},"checksum":0}'),
    ):
        fresh = state_builders.sealed(name, json.loads(text))
        assert state_verify.verify_file(name, fresh, MACHINE).findings == ()


BLOCK_0 = *BLOCKS, 0
MEMORY_BREACHES: list[tuple[str, tuple[tuple[tuple[Any, ...], Any], ...], list[str]]] = [
    ("another policy", ((("policyName",), "static"),), ["memory-policy"]),
    ("policy None with memory", ((("policyName",), "None"),), ["none-holds-memory"]),
    ("policy of Windows", ((("policyName",), "BestEffort"),), ["windows-policy"]),
    ("no node map", ((("machineState",), {}),), ["no-node-map"]),
    (
        "a node id above 1023",
        (
            (
                ("machineState", "1024"),
                {"numberOfAssignments": 0, "memoryMap": {}, "cells": [1024]},
            ),
            (("entries",), {}),
        ),
        ["assignments", "node-id", "no-memory-table", "types-differ"],
    ),
    ("a null for a table", ((TABLE, None),), ["allocatable", "sums"]),
    ("no table of memory", ((TABLE, GONE),), ["no-memory-table", "block-of-absent-type"]),
    ("no tables at all", (((*NODE, "memoryMap"), None),), ["no-memory-table"]),
    ("a node that is null", ((NODE, None),), ["no-memory-table", "assignments"]),
    (
        "an unknown type",
        (((*NODE, "memoryMap", "swap"), CHANGED[MEMORY]["machineState"]["0"]["memoryMap"]),),
        ["type-name"],
    ),
    ("total of memory", (((*TABLE, "total"), 9 * GI),), ["allocatable"]),
    ("total of pages", (((*PAGES, "total"), GI + 1),), ["part-of-a-page", "allocatable"]),
    ("system reserved", (((*TABLE, "systemReserved"), 0),), ["allocatable"]),
    ("allocatable", (((*TABLE, "allocatable"), GI),), ["allocatable", "table-sum"]),
    ("reserved", (((*TABLE, "reserved"), GI),), ["table-sum", "sums"]),
    ("free", (((*TABLE, "free"), GI),), ["table-sum"]),
    ("assignments", (((*NODE, "numberOfAssignments"), 4),), ["assignments"]),
    ("a group without its node", (((*NODE, "cells"), [1]),), ["not-in-its-group"]),
    ("no group", (((*NODE, "cells"), None),), ["not-in-its-group"]),
    ("a group with an absent node", (((*NODE, "cells"), [0, 9]),), ["group-of-absent-nodes"]),
    ("ids that no node can have", (((*NODE, "cells"), [0, -1]),), ["group-of-absent-nodes"]),
    ("a group that repeats itself", (((*NODE, "cells"), [0, 0]),), ["group-names-twice"]),
    ("a group that overlaps", (((*NODE, "cells"), [0, 1]),), ["groups-overlap"]),
    ("a pod without containers", ((("entries", "u9"), {}),), ["pod-without-containers"]),
    (
        "a container without blocks",
        ((("entries", "u9"), {"c": []}),),
        ["container-without-blocks"],
    ),
    ("two blocks of a type", (((*BLOCK_0, "type"), "memory"),), ["type-twice"]),
    ("no nodes of a block", (((*BLOCK_0, "numaAffinity"), []),), ["block-nodes", "assignments"]),
    ("null for nodes", (((*BLOCK_0, "numaAffinity"), None),), ["block-nodes", "assignments"]),
    ("a node twice", (((*BLOCK_0, "numaAffinity"), [0, 0]),), ["block-nodes", "assignments"]),
    ("part of a page", (((*BLOCK_0, "size"), 4194305),), ["block-part-of-a-page"]),
    (
        "a block on an absent node",
        (((*BLOCK_0, "numaAffinity"), [7]),),
        ["block-on-absent-node", "assignments"],
    ),
    ("an absent type", (((*BLOCK_0, "type"), "hugepages-1Gi"),), ["block-of-absent-type"]),
    ("the size of a block", (((*BLOCKS, 1, "size"), GI),), ["sums", "would-not-restart"]),
]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [each[1:] for each in MEMORY_BREACHES],
    ids=[each[0] for each in MEMORY_BREACHES],
)
def test_what_is_wrong_in_the_memory_file_is_named(changes: Any, expected: list[str]) -> None:
    found = report(MEMORY, *changes)

    assert set(expected) <= set(codes(found.findings)), codes(found.findings)
    assert found.soundness is not Soundness.SOUND


def test_an_idle_node_is_alone() -> None:
    files = state_builders.files(pods=state_builders.PODS[:1])
    value = json.loads(files[MEMORY])
    for node_id in ("1", "2"):
        value["machineState"][node_id]["cells"] = [1, 2]
    found = state_verify.verify_file(MEMORY, state_builders.sealed(MEMORY, value))

    assert codes(found.findings) == ["idle-group", "idle-group", "would-not-restart"]
    assert Soundness.BROKEN is found.soundness


def test_page_sizes_that_some_nodes_lack_are_a_warning() -> None:
    value = json.loads(state_builders.files(pods=())[MEMORY])
    tables = value["machineState"]["2"]["memoryMap"]
    pages = tables.pop("hugepages-2Mi")
    tables["memory"]["allocatable"] += pages["total"]
    tables["memory"]["free"] += pages["total"]
    found = state_verify.verify_file(MEMORY, state_builders.sealed(MEMORY, value))

    assert codes(found.findings) == ["types-differ"]
    assert found.findings[0].fields["nodes"] == [2]
    assert Soundness.DOUBTFUL is found.soundness


@pytest.mark.parametrize(
    "name", ["hugepages-", "hugepages-0", "hugepages-1000", "hugepages-2048Ki"]
)
def test_types_that_no_kubelet_writes_are_named(name: str) -> None:
    value = json.loads(state_builders.files(pods=())[MEMORY])
    for node in value["machineState"].values():
        node["memoryMap"][name] = node["memoryMap"].pop("hugepages-2Mi")
    found = state_verify.verify_file(MEMORY, state_builders.sealed(MEMORY, value))

    assert codes(found.findings) == ["type-name"] * 3


def test_reserving_more_than_a_node_has_is_a_warning() -> None:
    wrapped = state_builders.rules(reserved_bytes=11 * GI)
    found = state_verify.verify_file(MEMORY, state_builders.files(wrapped, ())[MEMORY])

    assert codes(found.findings) == ["wrapped"]
    assert Soundness.DOUBTFUL is found.soundness


def test_the_blocks_are_put_on_an_empty_machine_again() -> None:
    """The sums over all nodes agree, those of the groups do not."""
    value = changed(MEMORY)
    for node_id, change in (("0", -GI), ("2", GI)):
        table = value["machineState"][node_id]["memoryMap"]["memory"]
        table["reserved"] += change
        table["free"] -= change
    found = state_verify.verify_file(MEMORY, state_builders.sealed(MEMORY, value))

    assert codes(found.findings) == ["would-not-restart"]
    assert "the kubelet would not start" in str(found.findings[0])


def test_a_machine_shows_what_the_file_alone_does_not() -> None:
    value = changed(MEMORY)
    text = state_builders.sealed(MEMORY, value)
    smaller = state_builders.machine(2, pages_2mi=256)
    found = state_verify.verify_file(MEMORY, text, smaller)

    assert codes(found.findings) == ["other-nodes", "other-total", "other-total"]
    assert [found.findings[1].fields[side] for side in ("found", "expected")] == [GI, GI // 2]
    without = builders.machine(10, 10, 10)
    found = state_verify.verify_file(MEMORY, text, without)
    assert {"nothing"} == {finding.fields["expected"] for finding in found.findings}


CPU_BREACHES: list[tuple[str, tuple[tuple[tuple[Any, ...], Any], ...], list[str]]] = [
    ("another policy", ((("policyName",), "Static"),), ["cpu-policy"]),
    ("policy none with CPUs", ((("policyName",), "none"),), ["none-holds-cpus"]),
    ("an empty pool", ((("defaultCpuSet",), ""),), ["empty-default"]),
    ("a pod without containers", ((("entries", "u9"), {}),), ["cpu-pod-without-containers"]),
    ("no CPUs", ((("entries", "u9"), {"c": ""}),), ["no-cpus"]),
    ("CPUs of the pool", ((("entries", "u1", "c"), "1,6"),), ["cpus-in-pool"]),
    ("CPUs of two pods", ((("entries", "u1", "c"), "1,4"),), ["cpus-of-two-pods"]),
    ("a bad pool", ((("defaultCpuSet",), "x"),), ["bad-default"]),
    ("a bad list", ((("entries", "u1", "c"), "3-1"),), ["bad-cpus"]),
]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [each[1:] for each in CPU_BREACHES],
    ids=[each[0] for each in CPU_BREACHES],
)
def test_what_is_wrong_in_the_cpu_file_is_named(changes: Any, expected: list[str]) -> None:
    found = report(CPU, *changes)

    assert expected == codes(found.findings)
    assert found.soundness is not Soundness.SOUND


def test_with_a_machine_the_sets_must_be_its_cpus() -> None:
    found = state_verify.verify_file(CPU, FILES[CPU], state_builders.machine(2))
    assert codes(found.findings) == ["absent-cpus"]
    assert found.findings[0].fields["cpus"] == "8-11"

    found = state_verify.verify_file(CPU, FILES[CPU], state_builders.machine(4))
    assert codes(found.findings) == ["cpus-in-no-set"]
    assert Soundness.DOUBTFUL is found.soundness


def test_formats_that_are_right_by_an_older_rule_are_warnings() -> None:
    first = '{"policyName":"none","defaultCpuSet":"1-3","checksum":1694838852}'
    named = (
        '{"policyName":"none","defaultCpuSet":"1-3","entries":{"containerID1":"4-6",'
        '"containerID2":"1-3"},"checksum":3680390589}'
    )
    unsealed = '{"policyName":"none","checksum":0}'

    assert codes(state_verify.verify_file(CPU, first).findings) == [
        "first-format",
        "none-holds-cpus",
    ]
    found = state_verify.verify_file(CPU, named)
    assert codes(found.findings) == ["first-format", "container-ids", "none-holds-cpus"]
    assert Seal.FIRST_FORMAT is found.seal
    found = state_verify.verify_file(CPU, unsealed)
    assert codes(found.findings) == ["unsealed"]
    assert (found.soundness, found.seal) == (Soundness.DOUBTFUL, Seal.UNSEALED)


EARLY = """{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":
{"hugepages-1Gi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":
{"total":134987354112,"systemReserved":3221225472,"allocatable":131766128640,
"reserved":131766128640,"free":0}},"nodes":[0,1]},"1":{"numberOfAssignments":1,"memoryMap":
{"hugepages-1Gi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":
{"total":135286722560,"systemReserved":2252341248,"allocatable":133034381312,
"reserved":29295144960,"free":103739236352}},"nodes":[0,1]}},"entries":
{"fa9bdd38-6df9-4cf9-aa67-8c4814da37a8":{"guaranteed":[{"numaAffinity":[0,1],"type":"memory",
"size":161061273600}]}},"checksum":4142013182}"""


def test_the_early_layout_is_verified_by_its_own_rule() -> None:
    found = state_verify.verify_file(MEMORY, EARLY)
    assert Seal.EARLY_LAYOUT is found.seal
    assert [(finding.code, finding.severity) for finding in found.findings] == [
        ("memory-state/early-layout", Severity.WARNING)
    ]
    in_lower_case = EARLY.replace('"Static"', '"static"')
    assert codes(state_verify.verify_file(MEMORY, in_lower_case).findings) == ["early-layout"]
    edited = EARLY.replace("103739236352", "103739236353")
    assert state_verify.verify_file(MEMORY, edited).findings[0].code == "memory-state/corrupted"


DEVICE_BREACHES: list[tuple[str, tuple[tuple[tuple[Any, ...], Any], ...], list[str]]] = [
    ("no pod", (((*ENTRY, "PodUID"), ""),), ["device-entry-nameless"]),
    ("no devices", (((*ENTRY, "DeviceIDs"), None),), ["device-entry-empty"]),
    (
        "an empty group",
        (((*ENTRY, "DeviceIDs"), {"0": ["gpu0"], "1": []}),),
        ["device-group"],
    ),
    ("null for a group", (((*ENTRY, "DeviceIDs", "0"), None),), ["device-entry-empty"]),
    ("a device twice", (((*ENTRY, "DeviceIDs", "0"), ["gpu0", "gpu0"]),), ["device-group"]),
    ("a bad answer", (((*ENTRY, "AllocResp"), "CgE="),), ["device-response"]),
    ("another resource", (((*ENTRY, "ResourceName"), "a/b"),), ["device-unregistered"]),
    ("nothing registered", ((("Data", "RegisteredDevices"), None),), ["device-unregistered"]),
    ("an unhealthy device", ((("Data", "RegisteredDevices", GPU), []),), ["device-not-healthy"]),
    (
        "listed twice",
        ((("Data", "RegisteredDevices", GPU), ["gpu0", "gpu0"]),),
        ["device-listed-twice"],
    ),
]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [each[1:] for each in DEVICE_BREACHES],
    ids=[each[0] for each in DEVICE_BREACHES],
)
def test_what_is_wrong_in_the_device_checkpoint_is_named(changes: Any, expected: list[str]) -> None:
    found = report(DEVICE, *changes)

    assert set(expected) <= set(codes(found.findings)), codes(found.findings)


def test_two_entries_for_a_device_are_seen() -> None:
    value = changed(DEVICE)
    entries = value["Data"]["PodDeviceEntries"]
    entries += [dict(entries[0]), entries[0] | {"PodUID": "u2"}]
    found = state_verify.verify_file(DEVICE, state_builders.sealed(DEVICE, value))

    assert codes(found.findings) == ["device-entry-twice", "device-of-two-pods"]


def test_a_device_on_a_node_that_is_not_there_is_seen() -> None:
    value = changed(DEVICE, ((*ENTRY, "DeviceIDs"), {"9": ["gpu0"], "-1": ["gpu0"]}))
    text = state_builders.sealed(DEVICE, value)

    assert codes(state_verify.verify_file(DEVICE, text, MACHINE).findings) == [
        "device-on-absent-node"
    ]


@pytest.mark.parametrize(
    ("name", "where"), [(MEMORY, "checksum"), (CPU, "checksum"), (DEVICE, "Checksum")]
)
def test_a_wrong_checksum_breaks_a_file(name: str, where: str) -> None:
    found = state_verify.verify_file(name, json.dumps(CHANGED[name] | {where: 7}))

    assert codes(found.findings) == ["corrupted"]
    assert (found.soundness, found.seal, found.checksum) == (Soundness.BROKEN, Seal.WRONG, 7)
    assert name == found.findings[0].where.document


@pytest.mark.parametrize("name", FILES)
def test_what_can_not_be_decoded_is_broken(name: str) -> None:
    found = state_verify.verify_file(name, FILES[name][:-20])

    assert codes(found.findings) == ["not-json"]
    assert (found.soundness, found.seal, found.policy_name) == (Soundness.BROKEN, None, None)


def test_every_breach_has_a_rule() -> None:
    breaches = {
        code: each for code, each in code_index.classes().items() if code.startswith("state/")
    }
    assert len(breaches) > 50
    assert [code for code, each in breaches.items() if not each.why] == []
