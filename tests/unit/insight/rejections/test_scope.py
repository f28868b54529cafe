"""Whose pods matter to the breaker."""

from __future__ import annotations

import pytest

from numalet.core.cluster.objects import LabelSelector
from numalet.insight.rejections.rules import BreakerScope
from values.pod_storms import rejection


@pytest.mark.parametrize(
    ("scope", "covers"),
    [
        (BreakerScope(), True),
        (BreakerScope(namespaces=("team-*", "def*")), True),
        (BreakerScope(namespaces=("team-*",)), False),
        (BreakerScope(without_namespaces=("default",)), False),
        (BreakerScope(owners=("Deployment/*",)), True),
        (BreakerScope(owners=("Deployment/api",)), False),
        (BreakerScope(without_owners=("*/web",)), False),
        (BreakerScope(pod_labels=LabelSelector({"app": "web"})), True),
        (BreakerScope(pod_labels=LabelSelector({"app": "api"})), False),
    ],
)
def test_a_pod_matters_if_all_selectors_mean_it(scope: BreakerScope, covers: bool) -> None:
    assert scope.covers(rejection("p", labels={"app": "web"})) is covers
