"""Laws of the Device Manager, on devices and pods made at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.checkpoint import device_file
from numalet.core.hints.provider import Hint, Impossible, NoPreference, Refused
from numalet.core.managers.device import allocation, hints, registration
from numalet.core.managers.device.device_policy import DevicePolicy
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.managers.device.ledger import (
    DeviceLedger,
    DeviceRecord,
    ReusableDevices,
    in_use_by,
)
from numalet.core.managers.device.preference import NO_SAY
from numalet.core.model import numa_mask
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod
from numalet.io.documents.machine import device_file as device_document_reader
from values.device_bench import GPU, NIC, Plugins, container

pytestmark = pytest.mark.property

NODES = 4
POLICY = DevicePolicy((1 << NODES) - 1)
EVERY_SET = tuple(numa_mask.by_size(range(NODES)))


@st.composite
def nodes_with_devices(draw: st.DrawFn) -> DeviceLedger:
    """A machine of four nodes with two resources; a few devices are broken."""
    ledger = DeviceLedger()
    for resource in (GPU, NIC):
        count = draw(st.integers(0, 6))
        places = st.sets(st.integers(0, NODES), max_size=3).map(lambda ids: tuple(sorted(ids)))
        health = st.sampled_from([Health.HEALTHY] * 5 + [Health.UNHEALTHY])
        devices = [Device(f"d{index}", draw(places), draw(health)) for index in range(count)]
        ledger = registration.devices_reported(ledger, resource, devices)
    return ledger


@st.composite
def pods(draw: st.DrawFn, uid: str) -> Pod:
    """A pod of up to two starting containers and up to two others."""
    kinds = st.sampled_from([ContainerKind.INIT, ContainerKind.SIDECAR])
    count = st.integers(0, 3).map(str)
    starting = [
        container(f"i{index}", kind, gpu=draw(count), nic=draw(count))
        for index, kind in enumerate(draw(st.lists(kinds, max_size=2)))
    ]
    apps = [
        container(f"c{index}", gpu=draw(count), nic=draw(count))
        for index in range(draw(st.integers(1, 2)))
    ]
    return Pod(uid, uid, "default", tuple(starting), tuple(apps))


AFFINITIES = st.builds(Hint, st.one_of(st.none(), st.integers(0, 2**NODES - 1)), st.booleans())


def admitted(ledger: DeviceLedger, pod: Pod, affinity: Hint) -> DeviceLedger:
    """The ledger after as many containers as were not refused."""
    for each in pod.containers():
        after = POLICY.allocate(ledger, pod, each, affinity)
        if isinstance(after, Refused):
            return ledger
        ledger = after
    return ledger


@st.composite
def used_nodes(draw: st.DrawFn) -> tuple[DeviceLedger, list[Pod]]:
    """A machine on which some pods have devices."""
    ledger = draw(nodes_with_devices())
    placed = [draw(pods(f"u{index}")) for index in range(draw(st.integers(0, 3)))]
    for pod in placed:
        ledger = admitted(ledger, pod, draw(AFFINITIES))
    return ledger, placed


@given(used_nodes())
def test_no_device_is_held_twice_except_by_containers_that_follow_an_init_container(
    used: tuple[DeviceLedger, list[Pod]],
) -> None:
    ledger, placed = used
    for resource in (GPU, NIC):
        by_pod = Counter(name for pod in placed for name in ledger.held_by_pod(pod.uid, resource))
        assert not [name for name, count in by_pod.items() if count > 1]
        for pod in placed:
            lasting = Counter(
                name
                for each in pod.containers()
                if each.kind is not ContainerKind.INIT
                for name in _ids(ledger, pod, each, resource)
            )
            assert not [name for name, count in lasting.items() if count > 1]


def _ids(ledger: DeviceLedger, pod: Pod, each: Container, resource: str) -> frozenset[str]:
    record = ledger.record(ContainerKey(pod.uid, each.name), resource)
    return frozenset() if record is None else record.device_ids


@given(used_nodes())
def test_what_is_in_use_is_what_the_records_say(used: tuple[DeviceLedger, list[Pod]]) -> None:
    ledger, _ = used
    assert in_use_by(ledger.records) == {name: ids for name, ids in ledger.in_use.items() if ids}


@given(used_nodes(), pods("new"), AFFINITIES)
def test_a_pod_that_comes_and_goes_leaves_the_records_as_they_were(
    used: tuple[DeviceLedger, list[Pod]], pod: Pod, affinity: Hint
) -> None:
    before, _ = used
    kept = (dict(before.records), dict(before.in_use), before.inventory)
    during = admitted(before, pod, affinity)
    after = allocation.release_pods(during, {pod.uid})
    assert before.records == after.records
    assert in_use_by(before.records) == in_use_by(after.records)
    assert before.free(GPU) == after.free(GPU)
    assert kept == (before.records, before.in_use, before.inventory)


@given(used_nodes(), AFFINITIES, st.integers(0, 6))
def test_devices_inside_the_affinity_come_before_any_other(
    used: tuple[DeviceLedger, list[Pod]], affinity: Hint, count: int
) -> None:
    ledger, _ = used
    one = container(gpu=str(count))
    pod = Pod("new", "new", app_containers=(one,))
    after = POLICY.allocate(ledger, pod, one, affinity)
    if isinstance(after, Refused) or affinity.mask is None:
        return
    known = ledger.inventory.devices_of(GPU)
    inside = {name for name in ledger.free(GPU) if known.mask_of(name) & affinity.mask}
    given_out = _ids(after, pod, one, GPU)
    assert count == len(given_out)
    assert min(count, len(inside)) == len(inside & given_out)


@given(used_nodes(), st.integers(0, 5), st.sets(st.sampled_from(["d0", "d1", "d2"]), max_size=2))
def test_hints_equal_a_plain_restatement(
    used: tuple[DeviceLedger, list[Pod]], requested: int, again: set[str]
) -> None:
    ledger, _ = used
    known = ledger.inventory.devices_of(GPU)
    reused = frozenset(again & set(known.by_id))
    key = ContainerKey("new", "c")
    ready = DeviceLedger(
        ledger.inventory,
        ledger.records,
        {**ledger.in_use, GPU: ledger.in_use.get(GPU, frozenset()) | reused},
        ReusableDevices("new", {GPU: reused}),
    )
    answer = hints.of_container(ready, key, GPU, requested, POLICY.all_nodes)
    expected = _restated(known.by_id, ready.free(GPU), reused, requested)
    match answer:
        case NoPreference():
            assert not any(device.numa_nodes for device in known.by_id.values())
        case Impossible():
            assert not expected or len(ready.free(GPU) | reused) < requested
        case offered:
            assert expected == [
                (numa_mask.ids(hint.mask or 0), hint.preferred) for hint in offered.hints()
            ]
            taken = {hint.mask for hint in offered.hints()}
            assert all((offered.why_not(mask) is None) == (mask in taken) for mask in EVERY_SET)


def _restated(
    known: Mapping[str, Device], free: frozenset[str], reused: frozenset[str], requested: int
) -> list[tuple[tuple[int, ...], bool]]:
    """The rule again, with sets of node ids and nothing counted ahead."""
    smallest = NODES
    fitting = []
    for size in range(1, NODES + 1):
        for chosen in combinations(range(NODES), size):
            touching = {name for name, d in known.items() if set(d.numa_nodes) & set(chosen)}
            if len(touching) >= requested:
                smallest = min(smallest, size)
            with_node = {name for name in reused if known[name].numa_nodes}
            if with_node <= touching and len(with_node) + len(free & touching) >= requested:
                fitting.append(chosen)
    return [(chosen, len(chosen) == smallest) for chosen in fitting]


@given(used_nodes())
def test_what_was_written_comes_back(used: tuple[DeviceLedger, list[Pod]]) -> None:
    written = used[0].written
    assert written is not None
    text = device_file.write(written)
    assert written == device_file.load(text)
    assert text == device_file.write(written)


NAMES = st.text(st.characters(codec="utf-8"), max_size=6)


@given(st.dictionaries(NAMES, st.dictionaries(st.integers(-1, 20), st.tuples(NAMES)), max_size=3))
def test_any_id_comes_back(by_container: dict[str, dict[int, tuple[str]]]) -> None:
    records = {
        "u": {
            name: {GPU: DeviceRecord(dict(sorted(by_node.items())))}
            for name, by_node in by_container.items()
        }
    }
    ledger = DeviceLedger(records=records if by_container else {})
    written = registration.checkpointed(ledger).written
    assert written is not None
    assert written == device_file.load(device_file.write(written))


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("latin-1")))
def test_no_text_breaks_the_reader_of_checkpoints(text: str) -> None:
    device_file.load(text)
    device_file.load(f'{{"Data":{{"PodDeviceEntries":[{{"AllocResp":{text}}}]}}}}')


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2000) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["resource", "devices", "id", "numa_nodes", "health"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(PLAIN)
def test_a_document_is_read_or_refused_with_sentences(value: object) -> None:
    _read_or_refused(lambda: device_document_reader.decode(value, Location("d", "$")))


@given(st.text(alphabet="exampl.co/gu=@+,01 x", max_size=30))
def test_a_flag_is_read_or_refused_with_sentences(text: str) -> None:
    _read_or_refused(lambda: device_document_reader.parse_device_flags((text,), (0, 1)))


def _read_or_refused(read: Callable[[], object]) -> None:
    findings: tuple[Finding, ...] = ()
    try:
        read()
    except BadInput as bad:
        findings = bad.findings
    assert all(str(found) for found in findings)


@given(used_nodes(), st.integers(1, 4), st.sets(st.sampled_from(["d0", "d3", "d5", "x"])))
def test_whatever_a_plugin_prefers_the_number_is_right(
    used: tuple[DeviceLedger, list[Pod]], count: int, prefers: set[str]
) -> None:
    ledger, _ = used
    one = container(gpu=str(count))
    pod = Pod("new", "new", app_containers=(one,))
    after = allocation.allocate(
        ledger, pod, one, Hint(0b1, True), Plugins(prefers=" ".join(prefers))
    )
    plain = allocation.allocate(ledger, pod, one, Hint(0b1, True), NO_SAY)
    assert isinstance(after, Refused) == isinstance(plain, Refused)
    if isinstance(after, DeviceLedger):
        chosen = _ids(after, pod, one, GPU)
        assert count == len(chosen)
        assert chosen <= ledger.free(GPU)
