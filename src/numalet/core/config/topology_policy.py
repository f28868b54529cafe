"""The Topology Manager's policy and options, checked like in its constructor.

Policy none ignores everything else: bad options and any number of NUMA nodes pass. Kubelet v1.32:
``topologymanager.NewManager``, ``NewNUMAInfo``.
"""

from __future__ import annotations

from numalet.core.config import policy_options
from numalet.core.config.behaviour import Behaviour
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.rules import Scope, TopologyPolicy, TopologyRules
from numalet.core.config.validation import TOPOLOGY_POLICIES, TOPOLOGY_SCOPES
from numalet.core.findings.managers import ConfigTopologyDistances, ConfigTopologyTooManyNodes
from numalet.core.model.findings import Findings
from numalet.core.model.machine_info import MachineInfo


def resolve(
    config: KubeletConfig,
    machine: MachineInfo,
    release_rules: ReleaseRules,
    gates: FeatureGates,
    behaviour: Behaviour,
    findings: Findings,
) -> TopologyRules:
    """Return the Topology Manager's rules; report errors of its constructor.

    The default replaces a policy or scope that validation refused.
    """
    if config.topology_manager_policy not in TOPOLOGY_POLICIES:
        return TopologyRules(node_limit=behaviour.default_node_limit)
    policy = TopologyPolicy(config.topology_manager_policy)
    if policy is TopologyPolicy.NONE:
        return TopologyRules(node_limit=behaviour.default_node_limit)
    options = policy_options.topology_options(
        config, behaviour.release, release_rules, gates, behaviour.default_node_limit, findings
    )
    where = config.where("topologyManagerPolicy")
    if options.prefer_closest and any(node.distances is None for node in machine.nodes):
        findings.add(ConfigTopologyDistances(where=where))
    limit = options.node_limit
    if limit is not None and len(machine.nodes) > limit:
        findings.add(
            ConfigTopologyTooManyNodes(numa_nodes=len(machine.nodes), limit=limit, where=where)
        )
    scope = config.topology_manager_scope
    return TopologyRules(
        policy=policy,
        scope=Scope(scope) if scope in TOPOLOGY_SCOPES else Scope.CONTAINER,
        prefer_closest_numa_nodes=options.prefer_closest,
        node_limit=limit,
    )
