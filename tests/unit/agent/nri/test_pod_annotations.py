"""Annotations of pods, and the file with which an administrator permits them."""

from pathlib import Path

import pytest

from numalet.agent.nri import pod_annotations
from numalet.agent.nri.pod_annotations import (
    NO_CHOICE,
    NOTHING_PERMITTED,
    Cpus,
    NoRoom,
    Permissions,
    Placement,
    PodChoice,
)
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.model.findings import BadInput
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from running.plugin_runtime import permitting

EVERYTHING = Permissions(
    {"*": {name: frozenset(values) for name, values in pod_annotations.ALLOWED.items()}}
)


def choice(permissions: Permissions = EVERYTHING, **annotations: str) -> PodChoice:
    named = {f"numalet.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
    return pod_annotations.choice_of(named, "prod", "db", permissions)


def problems(of: PodChoice) -> list[str]:
    return [each.located for each in of.findings]


def test_every_annotation_has_its_values() -> None:
    assert choice(
        placement="ignore",
        cpus="exclusive",
        topology_policy="best-effort",
        topology_scope="pod",
        memory_nodes="memory, cpu",
        no_room="unpinned",
    ) == PodChoice(
        placement=Placement.IGNORE,
        cpus=Cpus.EXCLUSIVE,
        policy=TopologyPolicy.BEST_EFFORT,
        scope=Scope.POD,
        memory_nodes=frozenset({NodeClass.CPU, NodeClass.MEMORY}),
        no_room=NoRoom.UNPINNED,
    )


def test_other_annotations_do_not_matter() -> None:
    assert choice(recreate="true") is NO_CHOICE


def test_an_unknown_name_in_the_domain_is_named_with_the_nearest_one() -> None:
    made = choice(topology_polcy="restricted", no_room="reject")
    assert problems(made) == [
        "pod prod/db: $.metadata.annotations: there is no annotation 'numalet.dev/topology-polcy', "
        "so it is ignored; expected numalet.dev/topology-policy"
    ]
    assert (made.policy, made.no_room) == (None, NoRoom.REJECT)
    (far,) = problems(choice(zzz="1"))
    assert far.endswith("numalet.dev/memory-nodes, numalet.dev/no-room")


@pytest.mark.parametrize(
    ("asked", "is_fine"), [(["2"], True), (["500m", "1"], True), (["500m"], False), ([None], False)]
)
def test_exclusive_cpus_need_a_whole_number_of_cpus(
    asked: list[str | None], *, is_fine: bool
) -> None:
    containers = tuple(
        Container(f"c{at}", requests={} if text is None else {"cpu": Quantity.parse(text)})
        for at, text in enumerate(asked)
    )
    pod = Pod("u", "db", "prod", app_containers=containers, qos_class=QosClass.BURSTABLE)
    assert pod_annotations.no_whole_cpus(NO_CHOICE, pod) is None
    problem = pod_annotations.no_whole_cpus(choice(cpus="exclusive"), pod)
    assert (problem is None) is is_fine
    assert is_fine or str(problem) == (
        "annotation numalet.dev/cpus: exclusive has no effect, because no container of the pod "
        "requests a whole number of CPUs"
    )


def test_an_unknown_value_is_named_with_the_allowed_ones() -> None:
    made = choice(topology_policy="strict", no_room="reject")
    assert problems(made) == [
        "pod prod/db: $.metadata.annotations: annotation numalet.dev/topology-policy: 'strict' is "
        "unknown, so it is ignored; expected one of: none, best-effort, restricted, "
        "single-numa-node"
    ]
    assert made.policy is None
    assert made.no_room is NoRoom.REJECT
    assert "one or more of: cpu, memory" in problems(choice(memory_nodes="cpu,,gpu"))[0]


def test_what_is_not_permitted_is_ignored_and_named() -> None:
    made = choice(NOTHING_PERMITTED, placement="ignore")
    assert made.placement is None
    assert problems(made) == [
        "pod prod/db: $.metadata.annotations: annotation numalet.dev/placement: 'ignore' is not "
        "permitted in this namespace, so it is ignored; expected no such annotation"
    ]
    made = choice(permitting(placement=["one-numa-node"]), placement="ignore")
    assert problems(made)[0].endswith("; expected one of: one-numa-node")


def test_a_namespace_adds_to_what_all_may() -> None:
    both = Permissions(
        {
            "*": {"no-room": frozenset({"reject"})},
            "prod": {"no-room": frozenset({"unpinned"}), "memory-nodes": frozenset({"memory"})},
        }
    )
    assert choice(both, no_room="reject").no_room is NoRoom.REJECT
    assert choice(both, no_room="unpinned").no_room is NoRoom.UNPINNED
    other = pod_annotations.choice_of({"numalet.dev/no-room": "unpinned"}, "test", "db", both)
    assert other.no_room is None
    assert both.memory_classes == {NodeClass.MEMORY}


def test_one_numa_node_says_policy_and_scope() -> None:
    made = choice(placement="one-numa-node", topology_policy="none", topology_scope="container")
    assert (made.placement, made.policy, made.scope) == (Placement.ONE_NUMA_NODE, None, None)
    assert len(problems(made)) == 2
    assert "means the policy single-numa-node in pod scope" in problems(made)[0]


FILE = """\
apiVersion: numalet.dev/v1alpha1
kind: WorkloadPermissions
namespaces:
- name: prod
  permits: {placement: [one-numa-node], cpus: [exclusive]}
- name: "*"
  permits: {no-room: [reject, unpinned]}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "permissions.yaml"
    path.write_text(text)
    return path


def test_the_file_permits_by_namespace(tmp_path: Path) -> None:
    assert pod_annotations.read(written(tmp_path, FILE)) == Permissions(
        {
            "prod": {
                "placement": frozenset({"one-numa-node"}),
                "cpus": frozenset({"exclusive"}),
            },
            "*": {"no-room": frozenset({"reject", "unpinned"})},
        }
    )


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("WorkloadPermissions", "Other", "$.kind: unknown value 'Other'"),
        ("[exclusive]", "[all]", "$.namespaces[0].permits.cpus[0]: unknown value 'all'"),
        ("[exclusive]", "[true]", "permissions.yaml:5: $.namespaces[0].permits.cpus[0]"),
        ("cpus", "cpu", "no field is called 'cpu' here"),
        ("namespaces:", "more: 1\nnamespaces:", "no field is called 'more' here"),
        ("- name: prod", "- extra: 1\n  name: prod", "no field is called 'extra' here"),
        ('"*"', "prod", "$.namespaces[1].name: namespace 'prod' is listed twice"),
        (FILE, "", "the file has 0 documents"),
        (FILE, "[]", "an object is expected, not a list"),
        ("  permits: {no", "  allows: {no", "permits"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    with pytest.raises(BadInput) as raised:
        pod_annotations.read(written(tmp_path, FILE.replace(before, after)))
    assert problem in "\n".join(each.located for each in raised.value.findings)
