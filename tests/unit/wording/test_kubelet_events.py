"""Events of containers, in the kubelet's words."""

from __future__ import annotations

from numalet.wording import kubelet_events


def test_the_words_are_the_kubelet_s() -> None:
    assert kubelet_events.created("app") == "Created container: app"
    assert kubelet_events.started("app") == "Started container app"
    assert kubelet_events.killing("app") == "Stopping container app"
    assert kubelet_events.failed("no such file") == "Error: no such file"
    assert (
        kubelet_events.back_off("app", "web", "shop", "u-1")
        == "Back-off restarting failed container app in pod web_shop(u-1)"
    )


def test_our_own_events_name_the_file_and_the_reason() -> None:
    lost = kubelet_events.promise_lost("cpu_manager_state", "CPU 3 is gone")
    assert "cpu_manager_state" in lost
    assert lost.endswith(": CPU 3 is gone")
    unpromised = kubelet_events.unpromised("UnexpectedAdmissionError", "not enough CPUs")
    assert "UnexpectedAdmissionError: not enough CPUs" in unpromised
    assert kubelet_events.promised_anew("app") == (
        "Container app has been placed anew while it runs"
    )
    assert kubelet_events.start_delayed("no memory") == "The start is tried again: no memory"
