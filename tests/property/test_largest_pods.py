"""The largest pod is found although a larger one may fit where a smaller one does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numalet
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.insight.explain import largest_pod
from oracles.largest_pods import largest_pods
from values.shown_nodes import GIB, guaranteed

pytestmark = pytest.mark.property

CONFIGS = st.builds(
    lambda policy, memory, pcpus: KubeletConfig(
        cpu_manager_policy="static",
        cpu_manager_policy_options={"full-pcpus-only": "true"} if pcpus else {},
        memory_manager_policy=memory,
        topology_manager_policy=policy,
        kube_reserved={"cpu": "1500m", "memory": "1Gi"},
        reserved_memory=(
            (ReservedMemory(0, {"memory": Quantity.from_bytes(GIB)}),) if memory == "Static" else ()
        ),
    ),
    st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]),
    st.sampled_from(["None", "Static"]),
    st.booleans(),
)
PODS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 40), st.booleans()), max_size=4)


@settings(deadline=None, max_examples=60)
@given(CONFIGS, st.sampled_from(["1n4c2t", "2n4c2t", "3n3c1t"]), PODS)
def test_no_larger_pod_fits_on_one_numa_node(
    config: KubeletConfig, shape: str, pods: list[tuple[int, int, bool]]
) -> None:
    node = numalet.start_node(config, numalet.open_machine(shape, memory_per_node="32Gi"))
    assert isinstance(node, Node)
    for at, (cpus, size_gib, is_gone) in enumerate(pods):
        pod = guaranteed(f"p{at}", cpus, size_gib * GIB)
        node, _ = node.admit(pod)
        if is_gone:
            node = node.remove(pod.uid)
    found = largest_pod.largest_pod(node)
    assert ({(found.cpus, found.memory_bytes)} if found else set()) == largest_pods(node)
