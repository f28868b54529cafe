"""What a check says about pods is true when it is tried."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import largest_request
from numalet.insight.lint import formats, rows, rules, starting
from numalet.insight.lint.formats import PlacedRow
from numalet.insight.lint.subject import LintSubject
from numalet.io.documents.kubelet import kubelet_config
from numalet.wording import kubelet_start
from values import builders

pytestmark = pytest.mark.property

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SAY_NO = ("lint/pod-not-whole-units", "lint/pod-larger-than-node")
AMOUNTS = st.fixed_dictionaries(
    {"memory": st.sampled_from(["1Gi", "5Gi", "9Gi", "11Gi", "25Gi", "7777777777"])},
    optional={
        "cpu": st.sampled_from(["1", "2", "3", "5", "7", "1500m"]),
        "hugepages-2Mi": st.sampled_from(["2Mi", "1Gi", "5Gi"]),
    },
)


@st.composite
def subjects(draw: st.DrawFn) -> LintSubject:
    """One to four nodes, any policy, one pod of one to three containers."""
    machine = builders.machine(
        *draw(st.lists(st.sampled_from([4, 10]), min_size=1, max_size=4)), hugepages={2048: 512}
    )
    options = {"full-pcpus-only": "true"} if draw(st.booleans()) else None
    config = KubeletConfig(
        memory_manager_policy="Static",
        cpu_manager_policy="static",
        cpu_manager_policy_options=options,
        reserved_system_cpus="0-1",
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("100Mi")}),),
        uses_default_eviction=True,
        topology_manager_policy=draw(st.sampled_from(POLICIES)),
        topology_manager_scope=draw(st.sampled_from(["container", "pod"])),
    )
    asked = draw(st.lists(AMOUNTS, min_size=1, max_size=3))
    containers = []
    for index, amounts in enumerate(asked):
        resources = {name: Quantity.parse(text) for name, text in amounts.items()}
        containers.append(Container(f"c{index}", requests=resources, limits=resources))
    pod = Pod("u", "p", app_containers=tuple(containers), qos_class=QosClass.GUARANTEED)
    return LintSubject(config=config, machine=machine, pods=(pod,))


def amount(finding: Finding, name: str) -> Quantity:
    return Quantity.parse(str(finding.fields[name]).partition(" ")[0])


@settings(deadline=None, max_examples=30)
@given(subjects())
def test_the_most_that_is_named_is_admitted_and_one_unit_more_is_not(subject: LintSubject) -> None:
    node = starting.start(subject).empty
    assert node is not None
    (pod,) = subject.pods
    for finding in rules.check(subject).own:
        if finding.code not in ("lint/pod-never-admitted", "lint/pod-not-whole-units"):
            continue
        container = next(c for c in pod.app_containers if c.name == finding.fields["container"])
        resource, most = finding.fields["resource"], amount(finding, "most")
        assert largest_request.admits(node, largest_request.alone(pod, container, resource, most))
        if finding.code == "lint/pod-never-admitted":
            unit = largest_request.quantity(resource, largest_request.unit_of(node.rules, resource))
            assert not largest_request.admits(
                node, largest_request.alone(pod, container, resource, most + unit)
            )
            assert most + amount(finding, "excess") == container.requests[resource]


@settings(deadline=None, max_examples=30)
@given(subjects())
def test_a_pod_is_reported_exactly_if_the_empty_node_rejects_it(subject: LintSubject) -> None:
    node = starting.start(subject).empty
    assert node is not None
    told = {f.code for f in rules.check(subject).own}
    says_no = any(c.startswith("lint/pod-never") or c in SAY_NO for c in told)
    assert says_no is not largest_request.admits(node, subject.pods[0])


@settings(deadline=None, max_examples=30)
@given(subjects())
def test_every_way_out_is_one(subject: LintSubject) -> None:
    node = starting.start(subject).empty
    assert node is not None
    (pod,) = subject.pods
    for finding in rules.check(subject).own:
        if finding.code != "lint/pod-never-admitted-together":
            continue
        for way in finding.fields["ways"].split("; or "):
            name, _, rest = way.partition(" with ")
            text, _, rest = rest.partition(" of ")
            resource = rest.partition(" instead")[0]
            less = Quantity.parse(text.partition(" ")[0])
            assert largest_request.admits(node, largest_request.asking(pod, name, resource, less))


@settings(deadline=None, max_examples=30)
@given(subjects())
def test_a_check_changes_nothing_and_says_the_same_again(subject: LintSubject) -> None:
    assert rules.check(subject) == rules.check(replace(subject))


QUANTITIES = st.sampled_from(
    ["0", "1", "-1Gi", "1500m", "1.5Gi", "9223372036854775807", "8Ei", "3Gi", "20Gi", "much"]
)
PERCENTAGES = st.sampled_from(["5%", "100%", "-5%", "much", "100Mi", "0"])
FIELDS: dict[str, st.SearchStrategy[object]] = {
    "memoryManagerPolicy": st.sampled_from(["None", "Static", "BestEffort", "odd"]),
    "cpuManagerPolicy": st.sampled_from(["none", "static", "odd"]),
    "topologyManagerPolicy": st.sampled_from([*POLICIES, "odd"]),
    "topologyManagerScope": st.sampled_from(["container", "pod", "odd"]),
    "topologyManagerPolicyOptions": st.dictionaries(
        st.sampled_from(["max-allowable-numa-nodes", "prefer-closest-numa-nodes", "odd"]),
        st.sampled_from(["true", "9", "", "-1"]),
    ),
    "cpuManagerPolicyOptions": st.dictionaries(
        st.sampled_from(["full-pcpus-only", "strict-cpu-reservation", "align-by-socket", "odd"]),
        st.sampled_from(["true", "false", "9"]),
    ),
    "kubeReserved": st.dictionaries(st.sampled_from(["cpu", "memory", "odd"]), QUANTITIES),
    "evictionHard": st.dictionaries(
        st.sampled_from(["memory.available", "nodefs.available", "odd"]), PERCENTAGES
    ),
    "reservedSystemCPUs": st.sampled_from(["", "0", "0-1", "99", "odd"]),
    "featureGates": st.dictionaries(
        st.sampled_from(["CPUManagerPolicyAlphaOptions", "MemoryManager", "Odd"]), st.booleans()
    ),
    "reservedMemory": st.lists(
        st.fixed_dictionaries(
            {
                "numaNode": st.integers(-1, 3),
                "limits": st.dictionaries(
                    st.sampled_from(["memory", "hugepages-2Mi", "hugepages-1Gi", "odd"]),
                    QUANTITIES.filter(lambda text: text != "much"),
                ),
            }
        ),
        max_size=3,
    ),
}
MACHINES = st.sampled_from(
    [builders.machine(10, 10, hugepages={2048: 512}), builders.machine(1), builders.machine(4, 0)]
)


@settings(deadline=None, max_examples=150)
@given(MACHINES, st.fixed_dictionaries({}, optional=FIELDS), st.lists(AMOUNTS, max_size=2))
def test_every_configuration_gets_an_answer_in_words(
    machine: MachineInfo, fields: dict[str, object], asked: list[dict[str, str]]
) -> None:
    containers = tuple(
        Container(f"c{at}", requests={n: Quantity.parse(t) for n, t in amounts.items()})
        for at, amounts in enumerate(asked)
    )
    pods = tuple(
        Pod(qos.value, qos.value, app_containers=containers, qos_class=qos) for qos in QosClass
    )
    config = kubelet_config.decode(fields, "kubelet.yaml")
    checked = rules.check(LintSubject(config=config, machine=machine, pods=pods))
    told = rows.rows(checked.findings)
    assert all(row.sentence and row.rule and row.fix for row in told)
    if checked.refused is not None:
        assert Severity.ERROR in {each.severity for each in checked.findings}
        assert kubelet_start.text(checked.refused)
    assert formats.sarif_document([PlacedRow(each) for each in told], "1")["version"] == "2.1.0"
    assert all(line.startswith("::") and "\n" not in line for line in formats.github_lines(told))
