"""State files as rows, and names for the pods in them."""

from __future__ import annotations

import json

from numalet.core.model.listed_pod import Holdings, ListedPod
from numalet.core.model.pod import ContainerKey
from numalet.insight.output import json_schema
from numalet.insight.state import holder_map, reading
from numalet.insight.state.holder_map import HeldMemory, StateContainer, StateMap
from values import state_builders
from values.builders import GI
from values.state_builders import CPU, DEVICE, GPU, MEMORY

FILES = state_builders.files()
STATES = reading.read(FILES)
U1, U2 = ContainerKey("u1", "c"), ContainerKey("u2", "c")


def chart(names: dict[str, str] | None = None) -> StateMap:
    """The map of the files."""
    return holder_map.state_map(STATES, names or {})


def test_nodes_stand_in_their_groups_with_sums() -> None:
    found = chart()

    assert dict(found.policies) == {"cpu": "static", "memory": "Static"}
    assert [row.numa_nodes for row in found.groups] == [(0,), (1, 2)]
    group = found.groups[1]
    assert [(node.node_id, node.assignments) for node in group.nodes] == [(1, 1), (2, 1)]
    sums = {row.resource: row for row in group.types}
    assert (
        sums["memory"].allocatable_bytes,
        sums["memory"].reserved_bytes,
        sums["memory"].free_bytes,
    ) == (18 * GI, 15 * GI, 3 * GI)
    assert (sums["memory"].total_bytes, sums["memory"].system_reserved_bytes) == (20 * GI, 0)
    assert [(each.pod_uid, each.container) for each in group.containers] == [U2]
    assert StateContainer(*U1) in found.groups[0].containers


def test_holders_have_everything_they_hold() -> None:
    rows = {(row.pod_uid, row.container): row for row in chart({"u1": "default/one"}).holders}

    assert (rows[U1].name, rows[U2].name) == ("default/one", "u2")
    assert (
        HeldMemory((0,), "hugepages-2Mi", 4 << 20),
        HeldMemory((0,), "memory", 2 * GI),
    ) == rows[U1].memory
    assert (rows[U1].cpus, dict(rows[U1].devices)) == ("1", {GPU: "gpu0@0"})
    assert (rows[U2].cpus, dict(rows[U2].devices)) == ("4-5", {})
    assert (chart().default_cpu_set, chart().registered_devices[GPU]) == (
        "0,6-11",
        ("gpu0", "gpu1"),
    )


def test_groups_that_only_a_container_is_in_are_shown() -> None:
    value = json.loads(FILES[MEMORY])
    value["entries"]["u9"] = {"c": [{"numaAffinity": [0, 1], "type": "memory", "size": 1}]}
    del value["machineState"]["0"]["memoryMap"]["hugepages-2Mi"]
    value["machineState"]["0"]["cells"] = [0, 1]
    value["machineState"]["1"]["cells"] = [0, 1]
    states = reading.read({MEMORY: json.dumps(value)})
    groups = holder_map.state_map(states, {}).groups

    assert [row.numa_nodes for row in groups] == [(0,), (0, 1), (1, 2)]
    assert [(len(row.types), len(row.nodes)) for row in groups] == [(0, 0), (2, 2), (2, 1)]


def test_every_file_may_be_missing() -> None:
    empty = holder_map.state_map(reading.read({}), {})
    assert (empty.groups, empty.default_cpu_set, empty.holders, dict(empty.registered_devices)) == (
        (),
        None,
        (),
        {},
    )
    for name in (CPU, MEMORY, DEVICE):
        alone = holder_map.state_map(reading.read({name: FILES[name]}), {})
        assert U1 in [(row.pod_uid, row.container) for row in alone.holders]


def listed(name: str, **containers: Holdings) -> ListedPod:
    """A pod as the API lists it."""
    return ListedPod(name, containers)


NOTHING = Holdings(frozenset(), frozenset(), frozenset())
ONE = Holdings(
    frozenset({1}),
    frozenset({("memory", 2 * GI, (0,)), ("hugepages-2Mi", 4 << 20, (0,))}),
    frozenset({(GPU, frozenset({"gpu0"}))}),
)
TWO = Holdings(frozenset({4, 5}), frozenset({("memory", 15 * GI, (1, 2))}), frozenset())


def names(*pods: ListedPod) -> dict[str, str]:
    """Names that these pods give."""
    return holder_map.names(STATES, chart().holders, pods)


def test_pods_are_known_by_what_they_hold() -> None:
    pods = (
        listed("a/one", c=ONE, proxy=NOTHING),
        listed("a/two", c=TWO),
        listed("a/web", c=NOTHING),
    )

    assert names(*pods) == {"u1": "a/one", "u2": "a/two"}


def test_pods_that_can_not_be_told_apart_have_no_name() -> None:
    assert names(listed("a/one", c=ONE), listed("a/other", c=ONE)) == {}
    twin = reading.read({MEMORY: FILES[MEMORY].replace('"u3"', '"u4"')})
    same = {
        CPU: '{"policyName":"static","defaultCpuSet":"0","entries":{"u1":{"c":"1"},"u2":{"c":"1"}}}'
    }
    states = reading.read(same)
    rows = holder_map.state_map(states, {}).holders
    held = Holdings(frozenset({1}), frozenset(), frozenset())
    assert holder_map.names(states, rows, (listed("a/one", c=held),)) == {}
    rows = holder_map.state_map(twin, {}).holders
    memory = Holdings(frozenset(), TWO.memory, frozenset())
    assert holder_map.names(twin, rows, (listed("a/two", c=memory),)) == {"u2": "a/two"}


def test_documents_are_plain() -> None:
    states = reading.read(FILES | {CPU: "{"})
    document = json_schema.plain(holder_map.state_map(states, {}))

    assert document == json.loads(json.dumps(document))
    assert document["schema"] == "numalet.state-show/1"
    assert [group["numa_nodes"] for group in document["groups"]] == [[0], [1, 2]]
    assert {"pod_uid": "u2", "container": "c"} in document["groups"][1]["containers"]
    assert [each["code"] for each in document["unreadable"]] == ["cpu-state/not-json"]
