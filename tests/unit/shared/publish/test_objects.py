"""The objects of a node: what people see of it, and how large they are on real machines."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime

import pytest

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.node.node import Node
from numalet.shared.publish import node_view
from numalet.shared.publish.node_view import NodeOwner
from values import filled_nodes, profile_bench
from values.filled_nodes import two_nodes_with
from values.profile_bench import GPU

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
OWNER = NodeOwner("gpu-node-0123.example.com", str(uuid.UUID(int=1)))


def size_bytes(node: Node) -> int:
    """How large the object is that is sent."""
    made = node_view.objects_of_node(node, KubeletConfig()).node_object(OWNER.name, NOW, OWNER)
    return len(json.dumps(made, separators=(",", ":")).encode())


@pytest.mark.parametrize("seed", range(3))
def test_an_object_of_two_numa_nodes_with_8_gpus_has_1_kb_and_100_bytes_a_pod(seed: int) -> None:
    node = filled_nodes.two_numa_nodes(seed)
    pods = len(node_view.objects_of_node(node, KubeletConfig()).spec.state.pods)

    assert pods > 10
    assert size_bytes(node) < 1000 + 100 * pods


def test_an_object_of_34_numa_nodes_has_less_than_64_kb() -> None:
    node = filled_nodes.thirty_four_numa_nodes(1)

    assert len(node.snapshot.pods) > 20
    assert size_bytes(node) < 64_000


def test_people_see_free_cpus_and_devices_by_numa_node() -> None:
    node = two_nodes_with({GPU: [(f"GPU-{at}", at // 4) for at in range(8)]})
    node, _ = node.admit(profile_bench.asks("one", "3Gi", cpu="4", gpu="3"))
    empty = node_view.objects_of_node(two_nodes_with({}), KubeletConfig()).spec
    spec = node_view.objects_of_node(node, KubeletConfig()).spec
    first, second = (int(part.partition(":")[2]) for part in empty.free_cpus.split())

    assert spec.free_cpus == f"0:{first - 4} 1:{second}"
    assert spec.free_devices == f"{GPU} 0:1 1:4"
    assert (spec.pods, empty.pods) == (1, 0)


def test_a_node_without_a_cpu_policy_gives_out_no_cpus() -> None:
    node = profile_bench.started("xeon-2n", cpuManagerPolicy="none", reservedSystemCPUs="")

    assert node_view.objects_of_node(node, KubeletConfig()).spec.free_cpus == ""


def test_the_object_belongs_to_its_node_where_that_is_known() -> None:
    node_objects = node_view.objects_of_node(profile_bench.started("single"), KubeletConfig())
    made = node_objects.node_object("node-1", NOW, OWNER)

    assert made["metadata"] == {
        "name": "node-1",
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": OWNER.name, "uid": OWNER.uid}
        ],
    }
    assert made["spec"]["published"] == "2026-01-31T12:00:00Z"
    assert made["spec"]["class"] == node_objects.class_object["metadata"]["name"]
    assert "ownerReferences" not in node_objects.node_object("node-1", NOW)["metadata"]
