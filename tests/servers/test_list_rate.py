"""A thousand List calls a second, while pods come and go, against an agent in its own process.

``NUMALET_LIST_SECONDS`` sets for how long; ``make soak`` does it for 30 seconds. The rate that was
reached is reported and decides nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from running import agent_load, list_load, plugin_restarts
from running.list_load import ListLoad

SECONDS: Final = float(os.environ.get("NUMALET_LIST_SECONDS", "2"))


@pytest.mark.slow
@pytest.mark.timeout(180 + 20 * SECONDS)
def test_every_answer_is_one_moment_of_the_node(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    root = tmp_path / "root"
    with agent_load.agent(root, "--podresources-qps", "0") as agent:
        plugin = plugin_restarts.started(root, list_load.DEVICES)
        load = ListLoad(agent, root / "pod-resources" / "kubelet.sock")
        load.run(SECONDS)
        plugin_restarts.end(plugin)
    record_property("told", str(load))
    assert load.wrong == []
    assert load.calls == load.rate * SECONDS
    assert load.distinct > SECONDS
