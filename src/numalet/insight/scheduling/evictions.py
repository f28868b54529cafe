"""Decide whether evictions could help a pod on a node that refuses it.

As kube-scheduler does (``PodPriority`` in ``SelectVictimsOnNode`` of the plugin DefaultPreemption,
v1.32), all pods of a lower priority are removed: if the pod does not fit then, no smaller set is
tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numalet.core.admission import predicates
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.facts import StateFacts
from numalet.core.cluster.keys import StateKey
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.device import ledger as device_ledger
from numalet.core.model import pod_demand
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.fleet import victims
from numalet.insight.scheduling.expected_nodes import ShapeVerdicts


def may_go(there: Pod, new: Pod) -> bool:
    """Return whether kube-scheduler may evict a pod for a new one, and it does not return."""
    # The kubelet starts a static pod again from its file. Pods of a DaemonSet wait until the new
    # pod is bound.
    return not there.is_static and victims.priority(there) < victims.priority(new)


def without(node: Node, uids: Iterable[str]) -> Node:
    """Remove these pods from the node; the next admission releases their allocations."""
    return node.at(node.snapshot.after_removal({*uids}))


def could_help(of: ShapeVerdicts, facts: StateFacts) -> bool:
    """Return whether a refusing node admits the shape after all possible evictions."""
    new, pods = of.table.pod, facts.node.snapshot.pods
    going = [uid for uid, there in pods.items() if may_go(there, new)]
    if not going:
        return False
    staying = [there for there in pods.values() if not may_go(there, new)]
    # If the remaining pods have no allocations, like those of most DaemonSets, the class of the
    # node and their requests describe it, and one decision serves all such nodes.
    key = _key_of_what_is_left(facts, of.table.asking(facts.node_class), staying)
    # With fewer evictions the kubelet may admit a pod that it refuses here; kube-scheduler does not
    # find these cases either.
    known = of.emptied.get(key)
    if known is None:
        known = admits(of, without(facts.node, going))
        if key:
            of.emptied[key] = known
    return known


def admits(of: ShapeVerdicts, node: Node) -> bool:
    return of.table.verdict(of.reader.reader.facts(node)).admitted


def _key_of_what_is_left(facts: StateFacts, asking: Asking, staying: Sequence[Pod]) -> StateKey:
    """Return a key that is equal for nodes that are alike to the shape after evictions, or ()."""
    snapshot, pod = facts.snapshot, asking.pod
    constraints = pod.constraints
    is_odd = snapshot.assumed or snapshot.cpu.pods or snapshot.memory.pods
    wants_ports = constraints is not None and bool(constraints.ports)
    if is_odd or wants_ports or pod.is_critical or facts.node.roster.extra:
        return ()
    if not (snapshot.sources_ready and facts.sizes_are_sane and _is_accounted_for(facts)):
        return ()
    # A remaining pod with an allocation has it at a certain place, which sums in a key cannot
    # express.
    holders = (snapshot.cpu.exclusive, snapshot.memory.blocks, snapshot.device.records)
    if any(each.uid in held for each in staying for held in holders):
        return ()
    cpus = [cpus for held in snapshot.cpu.exclusive.values() for cpus in held.values()]
    amounts = [pod_demand.amounts(each) for each in staying]
    place = None
    if asking.is_constrained:
        place = predicates.about_place(facts.node.roster, Snapshot(), pod)
    return (
        facts.node_class,
        facts.pool | cpu_mask.of_set(frozenset[int]().union(*cpus)),
        tuple(
            [
                facts.devices[each.resource].devices
                for each in asking.devices
                if each.resource in facts.devices
            ]
        ),
        place,
        len(staying),
        tuple([sum(each.get(name, 0) for each in amounts) for name, _ in asking.amounts]),
    )


def _is_accounted_for(facts: StateFacts) -> bool:
    """Return whether all that is not free is released with the pods that hold it."""
    memory, device = facts.snapshot.memory, facts.snapshot.device
    free = {
        (node_id, name): table.free
        for node_id, node in memory.nodes.items()
        for name, table in node.tables.items()
    }
    for containers in memory.blocks.values():
        for blocks in containers.values():
            for block in blocks:
                # Inside a group the figures of single nodes may be wrong, so a release may not
                # restore the first ones.
                if len(block.nodes) != 1:
                    return False
                place = (block.nodes[0], block.resource)
                free[place] = free.get(place, 0) + block.size_bytes
    in_use = device_ledger.in_use_by(device.records)
    return all(
        free[node_id, name] == table.allocatable
        for node_id, node in memory.nodes.items()
        for name, table in node.tables.items()
    ) and all(names == in_use.get(name, frozenset()) for name, names in device.in_use.items())
