"""The admission policies, decided without a server.

One lets an agent write only the objects of its own node, the other refuses pods of held
controllers. Their expressions are evaluated as an API server does it, one after the other, and
their members are those of a client of a later release. A server compiles them in
``test_manifests``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cel
import pytest

from cluster import manifests
from oracles import kubernetes_types

PUBLISHER: Final = "system:serviceaccount:numalet:numalet-publisher"
NODE_NAME: Final = "authentication.kubernetes.io/node-name"
POLICIES: Final = manifests.of_kind("ValidatingAdmissionPolicy")
POLICY: Final = POLICIES["numalet-own-objects"]
POD_POLICY: Final = POLICIES["numalet-own-pods"]
PLACEMENT: Final = "kai.scheduler/numa-placement-observed"


@dataclass(frozen=True)
class Judged:
    """Whether the policy is about a request, and why it is denied; empty if it is not."""

    is_meant: bool
    denials: tuple[str, ...] = ()


def judged(user: dict[str, Any], old: str | None, new: str | None) -> Judged:
    """What the policy says when the user makes ``new`` of ``old``, each an object's name."""
    return judged_by(POLICY, user, named(old), named(new))


def judged_by(
    policy: dict[str, Any],
    user: dict[str, Any],
    old: dict[str, Any] | None,
    new: dict[str, Any] | None,
) -> Judged:
    values: dict[str, Any] = {"request": {"userInfo": user}, "oldObject": old, "object": new}
    spec = policy["spec"]
    if not all(cel.evaluate(each["expression"], values) for each in spec["matchConditions"]):
        return Judged(is_meant=False)
    values["variables"] = {}
    for each in spec["variables"]:
        values["variables"][each["name"]] = cel.evaluate(each["expression"], values)
    denials = [
        each.get("message") or cel.evaluate(each["messageExpression"], values)
        for each in spec["validations"]
        if not cel.evaluate(each["expression"], values)
    ]
    return Judged(is_meant=True, denials=tuple(denials))


def named(name: str | None) -> dict[str, Any] | None:
    """An object of this name; None for none."""
    return None if name is None else {"metadata": {"name": name}}


def agent(*nodes: str) -> dict[str, Any]:
    """Who asks with the token of an agent's pod on these nodes."""
    return {"username": PUBLISHER, "extra": {NODE_NAME: list(nodes)}}


@pytest.mark.parametrize(("old", "new"), [(None, "n1"), ("n1", "n1"), ("n1", None)])
def test_an_agent_makes_changes_and_removes_the_object_of_its_node(
    old: str | None, new: str | None
) -> None:
    assert judged(agent("n1"), old, new) == Judged(is_meant=True)


@pytest.mark.parametrize(("old", "new"), [(None, "n2"), ("n2", "n2"), ("n2", None)])
def test_an_agent_leaves_the_objects_of_other_nodes_alone(old: str | None, new: str | None) -> None:
    said = "the agent of node n1 may not write the object of node n2"
    assert judged(agent("n1"), old, new).denials == (said,)


@pytest.mark.parametrize(
    "user",
    [
        {"username": PUBLISHER},
        {"username": PUBLISHER, "extra": {}},
        {"username": PUBLISHER, "extra": {"authentication.kubernetes.io/pod-name": ["agent"]}},
        agent(),
        agent("n1", "n2"),
    ],
)
def test_a_token_that_does_not_name_one_node_writes_nothing(user: dict[str, Any]) -> None:
    (said,) = judged(user, None, "n1").denials
    assert said.startswith("the token does not say on which node its pod runs")


def test_who_is_no_agent_is_not_meant() -> None:
    assert judged({"username": "kubernetes-admin"}, None, "n1") == Judged(is_meant=False)


def test_it_is_about_what_agents_change() -> None:
    rules = POLICY["spec"]["matchConstraints"]["resourceRules"]
    guarded = {(each["apiGroups"][0], each["resources"][0]) for each in rules}
    role = manifests.of_kind("ClusterRole")["numalet-publisher"]
    changed = {
        (group, resource)
        for group, resource, verb in manifests.permissions(role)
        if verb in ("patch", "update", "delete")
    }
    assert guarded == changed
    operations = {each for rule in rules for each in rule["operations"]}
    assert operations == {"CREATE", "UPDATE", "DELETE"}


def pod(node: str = "n1", image: str = "a", **metadata: Any) -> dict[str, Any]:
    """A pod of a node with this metadata."""
    return {"metadata": metadata, "spec": {"nodeName": node, "containers": [{"image": image}]}}


OLD_POD: Final = pod(annotations={"a": "1", PLACEMENT: "[]"})


@pytest.mark.parametrize(
    ("old", "new", "denial"),
    [
        (OLD_POD, pod(annotations={"a": "1", PLACEMENT: "[{}]"}), ""),
        (OLD_POD, pod(annotations={"a": "1"}), ""),
        (pod(), pod(annotations={PLACEMENT: "[]"}), ""),
        (OLD_POD, pod(annotations={"a": "2", PLACEMENT: "[]"}), "KAI's annotations alone"),
        (OLD_POD, pod(annotations={PLACEMENT: "[]"}), "KAI's annotations alone"),
        (OLD_POD, pod(annotations={"a": "1", "b": ""}), "KAI's annotations alone"),
        (pod(), pod(labels={"a": "1"}), "nothing but annotations"),
        (pod(), pod(finalizers=["a"]), "nothing but annotations"),
        (pod(), pod(ownerReferences=[{"uid": "1"}]), "nothing but annotations"),
        (pod(), pod(image="b"), "nothing but annotations"),
        (pod("n2"), pod("n2"), "only the agent of node n2 may write on its pods"),
        ({"metadata": {}, "spec": {}}, {"metadata": {}, "spec": {}}, "only the agent of node "),
    ],
)
def test_an_agent_writes_the_annotations_of_kai_on_pods_of_its_node_alone(
    old: dict[str, Any], new: dict[str, Any], denial: str
) -> None:
    denials = judged_by(POD_POLICY, agent("n1"), old, new).denials
    assert len(denials) == bool(denial)
    assert denial in "".join(denials)


def test_who_is_no_agent_may_write_pods_as_before() -> None:
    said = judged_by(POD_POLICY, {"username": "kubernetes-admin"}, pod(), pod(image="b"))
    assert said == Judged(is_meant=False)


NOW: Final = "2030-01-01T12:00:00Z"


@pytest.mark.parametrize(
    ("owners", "data", "is_admitted"),
    [
        (["a"], {"a": "2030-01-01T12:00:01Z"}, False),
        (["b", "a"], {"a": "2030-01-01T12:00:01Z"}, False),
        (["a"], {"a": "2030-01-01T12:00:00Z"}, True),
        (["b"], {"a": "2030-01-01T12:00:01Z"}, True),
        (["a"], {}, True),
        (["a"], None, True),
        ([], {"a": "2030-01-01T12:00:01Z"}, True),
    ],
)
def test_a_pod_of_a_held_controller_is_refused_until_the_end(
    owners: list[str], data: dict[str, str] | None, is_admitted: bool
) -> None:
    spec = manifests.of_kind("ValidatingAdmissionPolicy")["numalet-hold"]["spec"]
    references = {"ownerReferences": [{"uid": each} for each in owners]} if owners else {}
    pod = {"metadata": {"creationTimestamp": NOW, **references}}
    values: dict[str, Any] = {"object": pod, "params": {} if data is None else {"data": data}}
    is_meant = all(cel.evaluate(each["expression"], values) for each in spec["matchConditions"])
    (rule,) = spec["validations"]
    assert (not is_meant or cel.evaluate(rule["expression"], values)) is is_admitted


@pytest.mark.parametrize("kind", ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"])
def test_its_members_are_those_of_kubernetes(kind: str) -> None:
    types = kubernetes_types.members(kind)
    assert {
        name: wrong(each, kind, types, kind) for name, each in manifests.of_kind(kind).items()
    } == {"numalet-own-objects": [], "numalet-own-pods": [], "numalet-hold": []}


def test_a_member_that_kubernetes_does_not_know_is_noticed() -> None:
    types = kubernetes_types.members("ValidatingAdmissionPolicy")
    broken = {"spec": {"validations": [{"expressions": "true"}]}}
    assert wrong(broken, "ValidatingAdmissionPolicy", types, "policy") == [
        "policy.spec.validations[0].expressions: unknown",
        "policy.spec.validations[0].expression: missing",
    ]


def wrong(value: Any, kind: str, types: dict[str, dict[str, Any]], place: str) -> list[str]:
    """Every member that the type does not have, or that it needs and is not there."""
    if kind.startswith("list["):
        inner = kind.removeprefix("list[").removesuffix("]")
        parts = [wrong(each, inner, types, f"{place}[{at}]") for at, each in enumerate(value)]
        return [line for part in parts for line in part]
    members = types.get(kind.removeprefix("V1"))
    if members is None:
        return []
    lines = [
        line
        for name, each in value.items()
        for line in (
            wrong(each, members[name].type, types, f"{place}.{name}")
            if name in members
            else [f"{place}.{name}: unknown"]
        )
    ]
    needed = [name for name, member in members.items() if member.is_needed and name not in value]
    return [*lines, *(f"{place}.{name}: missing" for name in needed)]
