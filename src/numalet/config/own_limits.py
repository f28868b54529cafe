"""What this program refuses although the kubelet's own checks let it pass.

The kubelet would crash or answer nonsense there (a node id that no mask can hold, a distance row
that is too short), or its enumeration of node sets would not end in any useful time.
"""

from __future__ import annotations

from typing import Final

from numalet.config.behaviour import Behaviour
from numalet.config.kubelet_config import KubeletConfig
from numalet.config.rules import (
    MemoryPolicy,
    MemoryRules,
    TopologyPolicy,
    TopologyRules,
)
from numalet.model.findings import Findings
from numalet.model.machine_info import MachineInfo

MOST_NUMA_NODES: Final = 20
"""Sets of nodes are enumerated; a million sets is where that stops being an answer."""

_COMPARING_POLICIES: Final = (TopologyPolicy.BEST_EFFORT, TopologyPolicy.RESTRICTED)


def check(
    config: KubeletConfig,
    machine: MachineInfo,
    topology: TopologyRules,
    memory: MemoryRules,
    behaviour: Behaviour,
    findings: Findings,
) -> None:
    """Find what can not be followed on this machine."""
    is_aligning = topology.policy is not TopologyPolicy.NONE
    if not is_aligning and memory.policy is MemoryPolicy.NONE:
        return
    field = "topologyManagerPolicy" if is_aligning else "memoryManagerPolicy"
    where = config.where(field)
    policy = topology.policy.value if is_aligning else memory.policy.value
    highest = max(machine.node_ids, default=0)
    if behaviour.highest_node_id is not None and highest > behaviour.highest_node_id:
        fields = {"numa_node": highest, "highest": behaviour.highest_node_id}
        findings.add("numalet/node-id-too-high", where, field=field, policy=policy, **fields)
    if len(machine.nodes) > MOST_NUMA_NODES:
        fields = {"numa_nodes": len(machine.nodes), "limit": MOST_NUMA_NODES}
        findings.add("numalet/too-many-nodes", where, field=field, policy=policy, **fields)
    if topology.prefer_closest_numa_nodes and topology.policy in _COMPARING_POLICIES:
        _check_distance_rows(config, machine, behaviour, findings)


def _check_distance_rows(
    config: KubeletConfig, machine: MachineInfo, behaviour: Behaviour, findings: Findings
) -> None:
    """The kubelet takes the distance to node 5 from place 5 of a row, and crashes beyond it."""
    if not behaviour.distances_by_node_id or not machine.nodes:
        return
    highest = max(machine.node_ids)
    shortest = min(len(node.distances or ()) for node in machine.nodes)
    if highest >= shortest:
        findings.add(
            "numalet/distance-row-too-short",
            config.where("topologyManagerPolicyOptions.prefer-closest-numa-nodes"),
            numa_node=highest,
            row_length=shortest,
            node_ids=", ".join(map(str, machine.node_ids)),
        )
