"""What the facts about a cluster say is missing; what is not known says nothing."""

from __future__ import annotations

from dataclasses import replace

from numalet.cluster.doctor import rules
from numalet.cluster.doctor.facts import (
    PUBLISHER,
    ClockReading,
    ClusterFacts,
    ClusterNodeFacts,
    NumaNodeFacts,
    Permission,
    ZoneOwners,
)
from numalet.core.config.releases.table import NEWEST
from numalet.core.findings.cluster import ClusterStateCpusLost, ClusterStateHolderElsewhere
from numalet.core.model.findings import Finding

NOW = 1_800_000_000.0
SERVED = {
    "numalet.dev/v1alpha1": frozenset({"numanodes", "numanodeclasses"}),
    "topology.node.k8s.io/v1alpha2": frozenset({"noderesourcetopologies"}),
}


def node(name: str, version: str = "v1.34.1") -> ClusterNodeFacts:
    return ClusterNodeFacts(name=name, kubelet_version=version, is_ready=True)


def published(name: str, seconds: float = NOW, written: float = NOW) -> NumaNodeFacts:
    return NumaNodeFacts(
        name=name, class_name="c0", published_seconds=seconds, written_seconds=written
    )


HEALTHY = ClusterFacts(
    server="https://c",
    version="v1.34.1",
    clock=ClockReading(server_seconds=NOW, own_seconds=NOW, error_seconds=0.6),
    served=SERVED,
    accounts={"numalet-publisher": frozenset()},
    nodes=(node("a"), node("b")),
    numa_nodes=(published("a"), published("b")),
    class_names=frozenset({"c0"}),
    topologies=(ZoneOwners(name="a", zone_managers=frozenset({"numalet"})),),
)


def sentences(facts: ClusterFacts) -> list[str]:
    return [str(each) for each in rules.findings(facts)]


def only(facts: ClusterFacts) -> Finding:
    (finding,) = rules.findings(facts)
    return finding


def fix(finding: Finding) -> str:
    return finding.fix.format(**finding.fields)


def test_nothing_is_missing_in_a_healthy_cluster() -> None:
    assert rules.findings(HEALTHY) == ()


def test_what_is_not_known_makes_no_finding_but_that_it_is_not() -> None:
    unknown = replace(
        HEALTHY, clock=None, accounts=None, nodes=None, numa_nodes=None,
        class_names=None, topologies=None,
    )  # fmt: skip
    assert [each.code for each in rules.findings(unknown)] == ["cluster/accounts-unknown"]


def test_a_definition_that_is_not_there_is_mended_by_its_folder() -> None:
    without = {"numalet.dev/v1alpha1": SERVED["numalet.dev/v1alpha1"]}
    finding = only(replace(HEALTHY, served=without))
    assert str(finding) == (
        "the cluster does not know the resource noderesourcetopologies.topology.node.k8s.io"
    )
    assert fix(finding) == "kubectl apply -k packaging/kubernetes/node-resource-topology"


def test_a_definition_of_another_version_is_none_of_ours() -> None:
    served = {**SERVED, "numalet.dev/v1": frozenset({"numanodes"})}
    served["numalet.dev/v1alpha1"] = frozenset({"numanodeclasses"})
    assert sentences(replace(HEALTHY, served=served)) == [
        "numanodes.numalet.dev is served as v1, but this numalet writes and reads v1alpha1"
    ]


def test_what_the_user_and_the_accounts_may_not_is_listed_by_resource() -> None:
    pods = frozenset({Permission("", "pods", "list"), Permission("", "pods", "watch")})
    lacking = {
        "numalet-publisher": frozenset(
            each for each in PUBLISHER if each.resource == "numanodes" and each.verb != "get"
        )
    }
    assert sentences(replace(HEALTHY, may_not=pods, accounts=lacking)) == [
        "you may not list, watch pods, so facts that depend on it are unknown",
        "the account numalet-publisher may not create, patch numanodes.numalet.dev",
    ]


def test_releases_that_are_not_known_are_named_with_their_nodes() -> None:
    nodes = (node("a", "v1.29.3"), node("b", "v1.40.0"), node("c", "strange"), node("d"))
    numa_nodes = tuple(published(each.name) for each in nodes)
    assert sentences(replace(HEALTHY, version="v1.19.0", nodes=nodes, numa_nodes=numa_nodes)) == [
        f"the API server is of version v1.19.0; numalet knows releases 1.20 to {NEWEST.name}",
        "1 node with kubelet 1.29, it is older than all that are known: a",
        "1 node with kubelet 1.40, it is newer than all that are known: b",
        "1 node with kubelet strange, which is not a version: c",
    ]


def test_a_clock_that_differs_is_a_finding_and_one_that_may_not_is_none() -> None:
    behind = ClockReading(server_seconds=NOW - 90, own_seconds=NOW, error_seconds=0.6)
    assert sentences(replace(HEALTHY, clock=behind)) == [
        "the API server's clock is 90 s behind this machine's"
    ]
    slow = ClockReading(server_seconds=NOW + 90, own_seconds=NOW, error_seconds=100)
    assert sentences(replace(HEALTHY, clock=slow)) == []


def test_nodes_without_objects_and_objects_without_nodes_are_named() -> None:
    facts = replace(HEALTHY, numa_nodes=(published("b"), published("gone")))
    first, second = rules.findings(facts)
    assert (
        str(first) == "1 node without a NumaNode: a; their allocations are rebuilt from their pods"
    )
    assert "--field-selector spec.nodeName=a" in fix(first)
    assert str(second) == "1 NumaNode without a Node: gone"
    assert fix(second) == "kubectl delete numanodes.numalet.dev gone"


def test_of_many_nodes_the_first_are_named_and_the_rest_counted() -> None:
    nodes = tuple(node(f"n{number:04d}") for number in range(5000))
    facts = replace(HEALTHY, nodes=nodes, numa_nodes=())
    assert "n0000, n0001, n0002, n0003, n0004 and 4995 more;" in str(only(facts))


def test_a_class_that_is_not_there_is_named() -> None:
    assert sentences(replace(HEALTHY, class_names=frozenset())) == [
        "2 nodes of the class c0, which does not exist: a, b"
    ]


def test_a_ready_node_that_does_not_publish_is_stale_and_one_that_is_not_ready_is_not() -> None:
    long_ago = published("a", NOW - 3 * 3600, NOW - 3 * 3600)
    facts = replace(HEALTHY, numa_nodes=(long_ago, published("b")))
    assert sentences(facts) == [
        "1 node did not publish for 3 h or more, although the node is ready: a"
    ]
    off = replace(node("a"), is_ready=False)
    assert sentences(replace(facts, nodes=(off, node("b")))) == []


def test_a_node_that_published_after_the_server_wrote_has_a_fast_clock() -> None:
    facts = replace(HEALTHY, numa_nodes=(published("a", NOW + 30, NOW), published("b", NOW + 1)))
    assert sentences(facts) == [
        "1 node published with a clock ahead of the API server's, at most 30 s: a"
    ]


def test_zones_of_another_manager_are_a_finding_with_its_name() -> None:
    other = ZoneOwners(name="b", zone_managers=frozenset({"nfd-topology-updater"}))
    finding = only(replace(HEALTHY, topologies=(*(HEALTHY.topologies or ()), other)))
    assert str(finding) == (
        "1 node whose NodeResourceTopology has zones of another manager, nfd-topology-updater: b"
    )


def test_a_state_that_contradicts_pods_is_a_finding_with_the_first_reason() -> None:
    why = ClusterStateHolderElsewhere(pod="default/p", place="waits for a node")
    other = ClusterStateCpusLost(cpus="3")
    finding = only(replace(HEALTHY, contradictions={"b": (other,), "a": (why, other)}))
    assert str(finding) == (
        "2 nodes whose NumaNode contradicts the pods of the cluster: a, b; "
        "a is not trusted: its state has an allocation for default/p, which waits for a node"
    )
    assert "--field-selector spec.nodeName=a;" in fix(finding)
    assert sentences(replace(HEALTHY, contradictions={})) == []
