"""A pod that runs and could not be admitted again stays active with what the node state holds."""

from __future__ import annotations

from values import builders


def test_a_pod_that_is_kept_is_active_and_gets_nothing() -> None:
    node = builders.node(builders.rules(builders.machine(10)))
    kept = node.keep_active(builders.simple("u", "40Gi"))
    assert {"u"} == set(kept.snapshot.pods)
    assert node.state_files() == kept.state_files()
