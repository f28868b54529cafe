"""Which pods a label selector and a disruption budget mean."""

from __future__ import annotations

import pytest

from numalet.core.cluster.cluster import ClusterPod, DisruptionBudget
from numalet.core.cluster.objects import (
    BudgetFacts,
    ClusterObjects,
    LabelSelector,
    budgets_over,
)
from numalet.core.model.node_constraints import NodeRequirement
from numalet.core.model.pod import Pod

LABELS = {"app": "web", "tier": "front"}


def requirement(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(expressions=(NodeRequirement(key, operator, values),))


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        (LabelSelector(), True),
        (LabelSelector({"app": "web"}), True),
        (LabelSelector({"app": "db"}), False),
        (requirement("app", "In", "web", "db"), True),
        (requirement("app", "In", "db"), False),
        (requirement("other", "In", ""), False),
        (requirement("app", "NotIn", "web"), False),
        (requirement("other", "NotIn", "web"), True),
        (requirement("app", "Exists"), True),
        (requirement("other", "Exists"), False),
        (requirement("app", "DoesNotExist"), False),
        (requirement("other", "DoesNotExist"), True),
        (requirement("app", "Gt", "1"), False),
        (LabelSelector({"app": "web"}, (NodeRequirement("tier", "NotIn", ("front",)),)), False),
    ],
)
def test_a_selector_selects_by_labels(selector: LabelSelector, selects: bool) -> None:
    assert selector.selects(LABELS) is selects


def pod(uid: str, namespace: str, **labels: str) -> ClusterPod:
    return ClusterPod(pod=Pod(uid=uid, name=uid, namespace=namespace, labels=labels))


def test_a_budget_guards_the_pods_of_its_namespace_that_its_selector_means() -> None:
    pods = [pod("1", "a", app="web"), pod("2", "a", app="db"), pod("3", "b", app="web")]
    facts = [
        BudgetFacts(namespace="c", name="empty", selector=LabelSelector()),
        BudgetFacts(namespace="a", name="web", allowed=1, selector=LabelSelector({"app": "web"})),
        BudgetFacts(namespace="a", name="none", allowed=3),
    ]
    assert budgets_over(facts, pods) == (
        DisruptionBudget(namespace="a", name="none", allowed=3, pod_uids=frozenset()),
        DisruptionBudget(namespace="a", name="web", allowed=1, pod_uids=frozenset({"1"})),
        DisruptionBudget(namespace="c", name="empty", allowed=0, pod_uids=frozenset()),
    )


def test_objects_show_their_numbers() -> None:
    assert repr(ClusterObjects()) == "<ClusterObjects: nodes 0, pods 0>"
