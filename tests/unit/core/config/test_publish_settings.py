"""Which settings of publishing win."""

from __future__ import annotations

from numalet.core.config.numalet_config import PublishSettings


def test_what_is_said_here_wins_and_the_rest_is_the_others() -> None:
    given = PublishSettings(force=False, refresh_seconds=60.0)
    configured = PublishSettings(kubeconfig="/k", force=True, node_resource_topology=False)
    assert given.over(configured) == PublishSettings(
        kubeconfig="/k", force=False, node_resource_topology=False, refresh_seconds=60.0
    )
    assert given.over(None) == given
    assert PublishSettings().over(configured) == configured
