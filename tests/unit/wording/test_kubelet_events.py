"""Events of containers, in the kubelet's words."""

from __future__ import annotations

from numalet.wording import kubelet_events


def test_the_words_are_the_kubelet_s() -> None:
    assert kubelet_events.created("app") == "Created container: app"
    assert kubelet_events.started("app") == "Started container app"
    assert kubelet_events.killing("app") == "Stopping container app"
    assert (
        kubelet_events.back_off("app", "web", "shop", "u-1")
        == "Back-off restarting failed container app in pod web_shop(u-1)"
    )
