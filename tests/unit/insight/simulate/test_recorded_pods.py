"""Pods as a scenario has them."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.model.node_constraints import NodeConstraints
from numalet.insight.simulate import recording
from values import builders


def test_where_a_pod_may_run_is_written_only_if_it_is_known() -> None:
    pod = builders.simple("u", "1Gi")
    free = recording.pod_document(replace(pod, constraints=NodeConstraints()))
    unknown = recording.pod_document(replace(pod, constraints=None))
    assert unknown["spec"] == {
        name: value
        for name, value in free["spec"].items()
        if name not in ("nodeSelector", "affinity")
    }
