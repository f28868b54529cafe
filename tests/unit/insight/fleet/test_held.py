"""What pods have to themselves, in words."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster import classes
from numalet.insight.fleet import parts, victims
from numalet.insight.fleet.victims import HeldWords
from values import gpu_fleet


def test_devices_cpus_and_memory_of_all_containers() -> None:
    _, decision = gpu_fleet.empty().admit(gpu_fleet.pod("a", 2))
    assert victims.held(parts.placements(decision.placements)) == HeldWords(
        "nvidia.com/gpu gpu0,gpu1", "2-9", "64Gi memory"
    )


def test_devices_whose_ids_are_not_known_are_numbered_and_nothing_is_a_dash() -> None:
    _, decision = gpu_fleet.empty().admit(gpu_fleet.pod("a", 2))
    (main,) = parts.placements(decision.placements).values()
    ids = tuple(map(classes.device_id, range(3)))
    numbered = replace(main, devices={"nvidia.com/gpu": ids})
    assert victims.held({"main": numbered}).devices == "nvidia.com/gpu 0-2"
    assert victims.held({}) == HeldWords("-", "-", "-")
