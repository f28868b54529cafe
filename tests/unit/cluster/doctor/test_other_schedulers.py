"""What doctor says where KAI or NodeResourceTopologyMatch is in use."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.cluster.doctor import other_schedulers
from numalet.cluster.doctor.facts import OtherSchedulers
from numalet.core.model.value import replace
from numalet.shared.kubernetes import node_resource_topology

KAI_KEY = "kai.scheduler/numa-placement-observed"


def topology(name: str, *resources: str, zones: int = 2, **more: Any) -> dict[str, Any]:
    listed = [{"name": each, "available": "1"} for each in resources]
    made = [{"name": f"node-{at}", "type": "Node", "resources": listed} for at in range(zones)]
    return {"metadata": {"name": name}, "zones": made, **more}


def managed(*managers: str, fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"manager": each, "fieldsV1": fields} for each in managers]


def pod(name: str, phase: str, node: str = "a", *writers: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"f:metadata": {"f:annotations": {".": {}, f"f:{KAI_KEY}": {}}}}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "managedFields": managed(*writers, fields=fields),
        },
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


OFF = OtherSchedulers(
    ignored=frozenset(),
    topologies=(topology("a", "cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu"),),
    class_of_node={"a": "c0"},
    classes={"c0": {"cpuManagerPolicy": "static"}},
)


def said(facts: OtherSchedulers) -> dict[str, str]:
    """The sentence and the fix of every finding by its code."""
    return {
        each.code: f"{each} | {each.fix.format(**each.fields)}"
        for each in other_schedulers.findings(facts)
    }


def test_memory_by_zone_without_a_memory_manager_is_for_the_ignore_list() -> None:
    text = said(OFF)["cluster/kai-zones-unmanaged"]
    assert text.startswith(
        "1 node whose NodeResourceTopology has hugepages-2Mi,memory by NUMA node, although their"
        " kubelets do not align them: a"
    )
    assert "ignoreList: hugepages-2Mi,memory into plugins.numa.arguments" in text


@pytest.mark.parametrize(
    "facts",
    [
        replace(OFF, ignored=None),
        replace(OFF, ignored=frozenset({"memory", "hugepages-2Mi"})),
        replace(OFF, class_of_node={}),
        replace(
            OFF, classes={"c0": {"cpuManagerPolicy": "static", "memoryManagerPolicy": "Static"}}
        ),
    ],
    ids=["no KAI", "ignored", "unknown class", "managed"],
)
def test_nothing_is_said_where_nothing_is_wrong(facts: OtherSchedulers) -> None:
    assert said(facts) == {}


def test_what_is_ignored_already_stays_in_the_list() -> None:
    facts = replace(OFF, classes={"c0": {}}, ignored=frozenset({"memory", "hugepages-2Mi"}))
    text = said(facts)["cluster/kai-zones-unmanaged"]
    assert "has cpu by NUMA node" in text
    assert "ignoreList: cpu,hugepages-2Mi,memory into" in text


def test_kai_models_eight_zones() -> None:
    facts = replace(OFF, topologies=(topology("b", zones=8), topology("c", zones=9)))
    assert said(facts).keys() == {"cluster/kai-too-many-zones"}
    assert "c has 9 NUMA nodes" in said(facts)["cluster/kai-too-many-zones"]


def test_two_publishers_are_named() -> None:
    fields = managed("nfd", "rte", fields={"f:zones": {}})
    twice = {**topology("a"), "metadata": {"name": "a", "managedFields": fields}}
    pods = (pod("x", "Running", "a", "numalet-kai"), pod("y", "Running", "a", "npe"))
    found = said(OtherSchedulers(topologies=(twice,), pods=pods))
    assert "NodeResourceTopology of a: nfd, rte" in found["cluster/topology-two-publishers"]
    assert "on pods of a: npe, numalet-kai" in found["cluster/kai-two-publishers"]
    # One publisher of each, on another node, is what should be.
    alone = (pod("x", "Running", "a", "numalet-kai"), pod("y", "Running", "b", "npe"))
    assert said(OtherSchedulers(topologies=(topology("a"),), pods=alone)) == {}


@pytest.mark.parametrize(
    ("counted", "phase", "is_stale"),
    [
        (("run", "done"), "Succeeded", True),
        (("run", "done"), "Failed", True),
        (("run",), "Succeeded", False),
        (("run", "done"), "Running", False),
        (("run", "done", "other"), "Succeeded", False),
    ],
)
def test_a_fingerprint_of_ended_pods_never_matches_a_shared_informer(
    counted: tuple[str, ...], phase: str, is_stale: bool
) -> None:
    value = node_resource_topology.fingerprint(("default", name) for name in counted)
    attributes = [{"name": "nodeTopologyPodsFingerprint", "value": value}]
    facts = OtherSchedulers(
        sharing=("scheduler.yaml",),
        topologies=(topology("a", attributes=attributes),),
        pods=(pod("run", "Running"), pod("done", phase), pod("new", "Pending"), pod("z", "", "b")),
    )
    found = said(facts)
    assert found.keys() == ({"cluster/fingerprint-of-ended-pods"} if is_stale else set())
    assert all("cache: {informerMode: Dedicated} into" in each for each in found.values())
    assert said(replace(facts, sharing=())) == {}
