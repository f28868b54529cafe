"""Whatever ``numalet reserve`` computes, the kubelet accepts; whatever it edits, stays the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from numalet.core.config import reservation, start
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.reservation import Spare, Spread, Strategy
from numalet.core.config.rules import NodeRules
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.quantity import Quantity
from numalet.io.documents.kubelet import kubelet_config, kubelet_config_edit
from numalet.io.documents.text import yaml_source

pytestmark = pytest.mark.property

MI = 1 << 20
STRATEGIES: st.SearchStrategy[Strategy] = st.sampled_from(list(Spread)) | st.builds(
    Spare, st.integers(0, 5)
)
AMOUNTS = st.sampled_from(["0", "1", "100Mi", "1Gi", "1.5Gi", "333M", "5e8", "7777777"])
THRESHOLDS = st.sampled_from(["100Mi", "1Gi", "5%", "0.1%", "12.5%", "1000000"])


@st.composite
def machines(draw: st.DrawFn) -> MachineInfo:
    """Machines of one to six NUMA nodes, some without CPUs or memory, sparse ids."""
    ids = draw(st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True))
    nodes = tuple(
        NumaNodeInfo(
            node_id,
            draw(st.sampled_from([0, 3 * MI + 5, 2048 * MI, 65536 * MI])),
            (HugePages(2048, draw(st.sampled_from([0, 1, 512]))),),
            (CoreInfo(0, node_id, (node_id,)),) if draw(st.booleans()) else (),
        )
        for node_id in ids
    )
    memory_bytes = sum(node.memory_bytes for node in nodes)
    pages = sum(page.count for node in nodes for page in node.hugepages)
    return MachineInfo(nodes, memory_bytes, 1, 1, (HugePages(2048, pages),))


@settings(deadline=None)
@given(machines(), AMOUNTS, AMOUNTS, THRESHOLDS, STRATEGIES)
def test_every_split_is_one_with_which_the_kubelet_starts(
    machine: MachineInfo, kube: str, system: str, threshold: str, strategy: Strategy
) -> None:
    config = KubeletConfig(
        memory_manager_policy="Static",
        kube_reserved={"memory": kube},
        system_reserved={"memory": system},
        eviction_hard={"memory.available": threshold},
    )
    parts = reservation.memory_parts(config, machine, Findings())
    shares = reservation.split(machine, parts.total, strategy)
    assume(not isinstance(shares, Finding))
    assert not isinstance(shares, Finding)
    tried = replace(config, reserved_memory=reservation.entries(shares))
    rules = start.resolve(tried, machine)

    assert isinstance(rules, NodeRules), rules
    assert all(share.left_bytes >= 0 for share in shares)


@settings(deadline=None)
@given(machines(), AMOUNTS, THRESHOLDS, STRATEGIES)
def test_a_split_is_refused_only_for_want_of_memory(
    machine: MachineInfo, kube: str, threshold: str, strategy: Strategy
) -> None:
    config = KubeletConfig(
        kube_reserved={"memory": kube}, eviction_hard={"memory.available": threshold}
    )
    total = reservation.memory_parts(config, machine, Findings()).total
    found = reservation.split(machine, total, strategy)
    assume(isinstance(found, Finding))
    assert isinstance(found, Finding)
    nodes = reservation.nodes_of(machine)
    match found.code:
        case "reserve/too-little-memory":
            assert total.value > sum(node.usable_bytes for node in nodes)
        case "reserve/spare-needed":
            assert isinstance(strategy, Spare)
            others = [n.usable_bytes for n in nodes if n.numa_node != strategy.numa_node]
            assert sum(others) < total.value <= sum(node.usable_bytes for node in nodes)
        case "reserve/unknown-node":
            assert isinstance(strategy, Spare)
            assert strategy.numa_node not in machine.node_ids
        case code:
            assert code == "reserve/nothing-to-reserve"
            assert total.is_zero


NODE = st.integers(0, 3)
INDENT = st.sampled_from(["", "  ", "    "])
ENTRY = st.tuples(NODE, st.sampled_from(["1Gi", "'2Gi'", '"300Mi"', "1048576"]), st.booleans())
OTHERS = st.lists(
    st.sampled_from(
        [
            "# a comment\n",
            "\n",
            "memoryManagerPolicy: Static  # pinned\n",
            "kubeReserved: {memory: 1Gi}\n",
            "evictionHard:\n  memory.available: 5% # of all\n",
            "clusterDNS:\n- 10.0.0.10\n",
            'topologyManagerPolicy: "restricted"\n',
        ]
    ),
    unique=True,
)
RESERVED = st.lists(st.tuples(NODE, st.integers(1, 1 << 40)), min_size=1, unique_by=lambda e: e[0])


@settings(deadline=None)
@given(OTHERS, st.none() | st.lists(ENTRY, max_size=4), OTHERS, INDENT, RESERVED)
def test_editing_keeps_every_other_line(
    before: list[str],
    entries: list[tuple[int, str, bool]] | None,
    after: list[str],
    indent: str,
    reserved: list[tuple[int, int]],
) -> None:
    names = [line.partition(":")[0] for line in (*before, *after) if ":" in line]
    assume(len(set(names)) == len(names))
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    text = head + "".join(before) + _field(entries, indent) + "".join(after)
    wanted = tuple(
        ReservedMemory(node, {"memory": Quantity.from_bytes(size)}) for node, size in reserved
    )

    result = kubelet_config_edit.edited(text, "kubelet.yaml", wanted)

    (document,) = yaml_source.load_documents(result, "kubelet.yaml")
    read = kubelet_config.decode(
        {"reservedMemory": document.value["reservedMemory"]}, ""
    ).reserved_memory
    assert sorted((e.numa_node, dict(e.limits)) for e in read) == sorted(
        (e.numa_node, dict(e.limits)) for e in wanted
    )
    kept = [line for line in (head + "".join(before) + "".join(after)).splitlines() if line]
    left = [line for line in result.splitlines() if line]
    assert kept == [line for line in left if line in kept and not re.match(r"\s*- numaNode", line)]
    assert kubelet_config_edit.edited(result, "kubelet.yaml", wanted) == result


def _field(entries: list[tuple[int, str, bool]] | None, indent: str) -> str:
    if entries is None:
        return ""
    lines = ["reservedMemory:" if entries else "reservedMemory: []"]
    for node, amount, is_flow in entries:
        lines.append(f"{indent}- numaNode: {node} # node")
        if is_flow:
            lines.append(f"{indent}  limits: {{memory: {amount}}}")
        else:
            lines += [f"{indent}  limits:", f"{indent}    memory: {amount}"]
    return "\n".join(lines) + "\n"
