"""One line for each cause of a refusal."""

from __future__ import annotations

import pytest

from numalet.insight.scheduling import reasons
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import NodeFilter
from values import gpu_fleet


def test_a_full_memory_of_texts_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasons, "_MOST", 1)
    every = ExpectedNodes()
    for name, node in gpu_fleet.split_fleet().nodes.items():
        every.put(name, node)
    answers = NodeFilter(every)
    for gpus in (8, 4):
        first = answers.filtered(gpu_fleet.asking(gpus), [*every.nodes])
        assert first.failed
        assert answers.filtered(gpu_fleet.asking(gpus), [*every.nodes]) == first
