"""Where a pod stands to the kubelet of one node, by its phase and its node."""

from __future__ import annotations

import pytest

from numalet.core.model.pod_standing import PodStanding, standing


@pytest.mark.parametrize(
    ("phase", "node_name", "here", "expected"),
    [
        ("Succeeded", "n", "n", PodStanding.FINISHED),
        ("Failed", "", None, PodStanding.FINISHED),
        ("Running", "n", None, PodStanding.ON_NODE),
        ("Pending", "n", "n", PodStanding.ON_NODE),
        ("Unknown", "n", "n", PodStanding.ON_NODE),
        ("Running", "other", "n", PodStanding.OTHER_NODE),
        ("Pending", "", "n", PodStanding.NOT_SCHEDULED),
        ("Pending", None, None, PodStanding.NOT_SCHEDULED),
        ("", "", "n", PodStanding.UNKNOWN),
        (None, None, None, PodStanding.UNKNOWN),
    ],
)
def test_phase_and_node_say_where_a_pod_stands(
    phase: object, node_name: object, here: str | None, expected: PodStanding
) -> None:
    assert standing(phase, node_name, here) is expected
