"""Laws of native mode: through time nothing breaks, and deciding by rule is deciding by list.

The events are those of ``test_node_through_time``, with every policy and scope. Here all
invariants hold after each of them, every restart works, and a node that comes back from its own
state files is the node that it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.core.config.behaviour import NATIVE
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.hints import filtering, merging
from numalet.core.hints.filtering import Offer, Ruled, written_out
from numalet.core.hints.provider import Hint
from numalet.core.managers.memory.hints import MemoryHintFamily
from numalet.core.model import numa_mask
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.snapshot import invariants
from property.test_node_through_time import config, containers
from values import builders, device_bench
from values.device_bench import GPU

pytestmark = pytest.mark.property

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
GPUS = {GPU: device_bench.devices("g0@0 g1@1 g2@1+3")}


def _machine(bare: frozenset[int]) -> MachineInfo:
    """Four nodes with a gap in their ids; ``bare`` ones, never the first, have no CPUs."""
    on = builders.machine(10, 8, 10, 6, hugepages={2048: 1024}, node_ids=(0, 1, 3, 70))
    return replace(
        on,
        nodes=tuple(replace(n, cores=()) if n.node_id in bare else n for n in on.nodes),
    )


def _started(of: KubeletConfig, on: MachineInfo) -> Node:
    node = nodes.start(of, on, devices=GPUS, behaviour=NATIVE)
    assert isinstance(node, Node), node
    return node


def _is_sound(node: Node, of: KubeletConfig) -> None:
    """All invariants hold, and the state files give back the same node."""
    assert invariants.violations(node.snapshot) == ()
    again = node.restart(of, node.rules.machine, node.state_files(), GPUS)
    assert isinstance(again, Node), again
    assert again.snapshot.memory.nodes == node.snapshot.memory.nodes
    assert again.snapshot.memory.holders() == sorted(node.snapshot.memory.holders())
    assert again.snapshot.cpu == node.snapshot.cpu
    assert again.state_files() == node.state_files()


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_nothing_breaks_through_time(data: st.DataObject) -> None:
    of = config(
        data.draw(st.sampled_from(POLICIES)), data.draw(st.sampled_from(["container", "pod"]))
    )
    bare = data.draw(st.frozensets(st.sampled_from([1, 3, 70])))
    on = _machine(bare)
    node = _started(of, on)
    empty = node.snapshot.memory.nodes
    known: dict[str, Pod] = {}
    for count in range(data.draw(st.integers(1, 8))):
        match data.draw(st.sampled_from(["arrives", "arrives", "goes", "restart"])):
            case "arrives":
                pod = builders.pod(f"pod-{count}", *data.draw(containers()))
                before = node
                node, decision = node.admit(pod)
                if decision.admitted:
                    known[pod.uid] = pod
                    node = node.pod_started(pod.uid)
                else:
                    assert node.leftovers() == ()
                    assert before.snapshot.memory.blocks == node.snapshot.memory.blocks
            case "goes" if known:
                uid = data.draw(st.sampled_from(sorted(known)))
                del known[uid]
                node = node.remove(uid)
                assert uid not in node.snapshot.memory.blocks
            case _:
                held = node.snapshot.memory
                again = node.restart(of, on, node.state_files(), GPUS)
                assert isinstance(again, Node), again
                for pod in data.draw(st.permutations([known[uid] for uid in sorted(known)])):
                    again, _ = again.admit(pod)
                node = again.sources_ready()
                # Nobody who ran has got more, or less, or went elsewhere.
                assert held.nodes == node.snapshot.memory.nodes
                known = {uid: pod for uid, pod in known.items() if uid in node.snapshot.pods}
        _is_sound(node, of)
        given_memory = {
            node_id
            for of_pod in node.snapshot.memory.blocks.values()
            for blocks in of_pod.values()
            for block in blocks
            for node_id in block.nodes
        }
        assert not given_memory & bare
    for uid in known:
        node = node.remove(uid)
    assert empty == node.snapshot.memory.nodes


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_native_decisions_by_rule_are_those_by_list(data: st.DataObject) -> None:
    """The merged hint, and the set that the Memory Manager finds by itself."""
    of = config(data.draw(st.sampled_from(["best-effort", "restricted"])), "container")
    node = _started(of, _machine(data.draw(st.frozensets(st.sampled_from([1, 3, 70])))))
    for count in range(data.draw(st.integers(1, 6))):
        pod = builders.pod(f"pod-{count}", *data.draw(containers()))
        after, decision = node.admit(pod)
        for alignment in decision.alignments.values():
            offers = filtering.lists_of(alignment.hints.values())
            merged = merging.merge(filtering.written_out(offers), node.roster.all_nodes)
            if alignment.merged is not None and alignment.merged.affinity != merged:
                assert not merged.preferred
                assert of.topology_manager_policy == "restricted"
                assert _fewest_together(offers) == alignment.merged.affinity
            for of_provider in alignment.hints.values():
                for family in of_provider.values():
                    if isinstance(family, MemoryHintFamily):
                        _same_by_rule(family, node)
        node = after.pod_started(pod.uid) if decision.admitted else after


def _fewest_together(offers: Sequence[Offer]) -> Hint:
    """The lowest of the sets that all offer, of as many nodes as the neediest prefers."""
    families = [(offer, hints) for offer, hints in zip(offers, written_out(offers), strict=True)]
    picky = [(offer, hints) for offer, hints in families if Hint(None, True) not in hints]
    common = set.intersection(*({hint.mask for hint in hints} for _, hints in picky))
    size = max(
        offer.rule.preferred_size
        if isinstance(offer, Ruled)
        else min(hint.mask.bit_count() for hint in hints if hint.preferred and hint.mask)
        for offer, hints in picky
    )
    return Hint(min(mask for mask in common if mask and mask.bit_count() == size), True)


def _same_by_rule(family: MemoryHintFamily, node: Node) -> None:
    every_set = [*numa_mask.by_size(node.rules.machine.node_ids)]
    offered = {mask for mask in every_set if family.why_not(mask) is None}
    assert offered == set(family.masks)
    assert family.as_rule is not None
    assert offered == {mask for mask in every_set if family.as_rule.offers(mask)}
