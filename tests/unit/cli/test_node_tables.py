"""Devices in the tables of a simulation have the numbers of drawings where their ids are UUIDs."""

from __future__ import annotations

import io

from rich.console import Console

from numalet.cli import node_tables
from numalet.insight.maps.resource_maps import SimulationDevicesDocument

_IDS = [f"GPU-{at}0f9e8d7-1111-2222-3333-{at}0a0a0a0a0a0" for at in (1, 2, 3)]


def _rows(*ids: str) -> str:
    rows = [
        SimulationDevicesDocument("nvidia.com/gpu", [0], free=[ids[1]], in_use=[], unhealthy=[]),
        SimulationDevicesDocument("nvidia.com/gpu", [1], free=[], in_use=[ids[0]], unhealthy=[]),
    ]
    said = io.StringIO()
    Console(file=said, width=200).print(node_tables.device_table(rows))
    return said.getvalue()


def test_uuids_are_numbered_over_all_numa_nodes() -> None:
    first, second = _rows(*_IDS).splitlines()[1:3]
    assert first.split(maxsplit=3)[3].split("  ")[0] == f"gpu 1 ({_IDS[1]})"
    assert f"gpu 0 ({_IDS[0]})" in second


def test_other_ids_are_their_own_names() -> None:
    assert _rows("gpu7", "gpu9").splitlines()[1].split() == [
        "nvidia.com/gpu",
        "0",
        "-",
        "gpu9",
        "-",
    ]
