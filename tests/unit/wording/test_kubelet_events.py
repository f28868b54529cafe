"""Events of containers, in the kubelet's words."""

from __future__ import annotations

from numalet.wording import kubelet


def test_the_words_are_the_kubelet_s() -> None:
    assert kubelet.created("app") == "Created container: app"
    assert kubelet.started("app") == "Started container app"
    assert kubelet.killing("app") == "Stopping container app"
    assert (
        kubelet.back_off("app", "web", "shop", "u-1")
        == "Back-off restarting failed container app in pod web_shop(u-1)"
    )
