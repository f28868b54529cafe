"""One agent, or several commands, work with a tree of cgroups."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from numalet.agent.host.cgroup_v2 import tree
from numalet.core.model.findings import BadInput


def _refused(attempt: AbstractContextManager[None]) -> None:
    with pytest.raises(BadInput) as raised, attempt:
        pass
    assert [finding.code for finding in raised.value.findings] == ["cgroup/held"]


def test_an_agent_is_alone(tmp_path: Path) -> None:
    with tree.locked_alone(tmp_path):
        _refused(tree.locked_alone(tmp_path))
        _refused(tree.locked_with_others(tmp_path))
    with tree.locked_alone(tmp_path):
        pass


def test_commands_work_side_by_side_and_keep_agents_away(tmp_path: Path) -> None:
    with tree.locked_with_others(tmp_path), tree.locked_with_others(tmp_path):
        _refused(tree.locked_alone(tmp_path))


def test_without_a_tree_nobody_is_in_the_way() -> None:
    with tree.locked_alone(None), tree.locked_alone(None):
        pass
