"""Which pods the engine has to be asked about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.node_constraints import UNCONSTRAINED, HostPort, NodeConstraints
from numalet.core.model.pod import (
    Container,
    ContainerClaim,
    ContainerKind,
    Pod,
    PodClaim,
    PodLevelResources,
    QosClass,
)
from numalet.core.model.quantity import Quantity
from numalet.insight.scheduling import expected_nodes
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import FilterRules, NodeFilter
from values import gpu_fleet

ONE = Quantity.parse("1")


def burstable(**limits: str) -> Pod:
    """A pod that asks for 1 CPU, with a container that has these limits."""
    amounts = {name.replace("_", "-"): Quantity.parse(text) for name, text in limits.items()}
    only = Container("main", requests={"cpu": ONE, **amounts}, limits=amounts)
    return Pod(
        uid="p",
        name="p",
        app_containers=(only,),
        qos_class=QosClass.BURSTABLE,
        constraints=UNCONSTRAINED,
    )


PLAIN = burstable(memory="1Gi", ephemeral_storage="1Gi", hugepages_2Mi="4Mi")

MET_BY_THE_SCHEDULER: dict[str, Pod] = {
    "of best effort": Pod(uid="p", name="p"),
    "burstable": PLAIN,
    "critical": replace(PLAIN, priority=2_000_000_000),
    "with a selector and ports": replace(
        PLAIN, constraints=NodeConstraints(selector={"zone": "a"}, ports=(HostPort(80),))
    ),
}

(_ONLY,) = PLAIN.app_containers

TO_BE_ASKED_ABOUT: dict[str, Pod] = {
    "Guaranteed": gpu_fleet.pod("p", 0, 1, 1),
    "Guaranteed, with a share of a CPU": replace(
        PLAIN,
        app_containers=(Container("c", requests={"cpu": Quantity.parse("500m")}),),
        qos_class=QosClass.GUARANTEED,
    ),
    "with a device": replace(PLAIN, app_containers=(replace(_ONLY, limits={gpu_fleet.GPU: ONE}),)),
    "with none of a device": replace(
        PLAIN, app_containers=(replace(_ONLY, limits={gpu_fleet.GPU: Quantity.parse("0")}),)
    ),
    "with resources as a whole": replace(
        PLAIN, pod_level=PodLevelResources({"cpu": ONE}, {}, QosClass.BURSTABLE)
    ),
    "with a claim": replace(PLAIN, claims=(PodClaim("gpu", "gpu"),)),
    "with a claim of a container": replace(
        PLAIN, app_containers=(replace(_ONLY, claims=(ContainerClaim("gpu"),)),)
    ),
    "with a sidecar": replace(
        PLAIN, init_containers=(replace(_ONLY, name="s", kind=ContainerKind.SIDECAR),)
    ),
    "of a system": replace(PLAIN, constraints=NodeConstraints(os_name="linux")),
    "with a system as a label": replace(PLAIN, labels={"kubernetes.io/os": "linux"}),
    "with strict groups": replace(PLAIN, constraints=NodeConstraints(strict_groups=True)),
}


@pytest.mark.parametrize("which", MET_BY_THE_SCHEDULER)
def test_no_opinion_is_needed_on_what_the_scheduler_counts(which: str) -> None:
    assert not expected_nodes.needs_decision(MET_BY_THE_SCHEDULER[which])


@pytest.mark.parametrize("which", TO_BE_ASKED_ABOUT)
def test_an_opinion_is_needed_on_what_only_a_kubelet_knows(which: str) -> None:
    assert expected_nodes.needs_decision(TO_BE_ASKED_ABOUT[which])


def test_such_a_pod_is_answered_at_once_whatever_is_known_of_the_nodes() -> None:
    nodes = ExpectedNodes()
    nodes.put("full", gpu_fleet.running("full", []))
    answers = NodeFilter(nodes, FilterRules(passes_unknown=False))
    names = ["full", "of no one"]
    answer = answers.filtered(ClusterPod(pod=PLAIN), names, lambda: False)
    assert (answer.passed, answer.failed, answer.unknown) == (names, {}, 0)
    assert answers.filtered(gpu_fleet.asking(1), names).passed == ["full"]
