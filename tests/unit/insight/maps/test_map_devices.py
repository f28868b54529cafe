"""What devices are called: in the drawing, in the find box and in the terminal alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.drawing import node_drawing
from numalet.insight.maps import finding, map_devices
from numalet.insight.maps.map_devices import DeviceUse, MapDevice
from numalet.insight.maps.node_map import NodeMap
from values import node_charts

_IDS = [f"GPU-{at}0f9e8d7-1111-2222-3333-{at}0a0a0a0a0a0" for at in (3, 1, 2)]


def test_numbers_follow_the_order_of_the_ids() -> None:
    assert map_devices.numbered(["gpu10", "gpu2", "gpu2", "gpu1"]) == {
        "gpu1": 0, "gpu2": 1, "gpu10": 2,
    }  # fmt: skip
    assert map_devices.numbered(_IDS) == {_IDS[1]: 0, _IDS[2]: 1, _IDS[0]: 2}
    # Ids of different forms have an order, too.
    assert map_devices.numbered(["7", "a", "", "7a"]) == {"": 0, "7": 1, "7a": 2, "a": 3}


@pytest.mark.parametrize(
    ("device_id", "called", "full"),
    [
        ("gpu3", "gpu3", "gpu3"),
        (_IDS[0], "gpu 2", f"gpu 2 ({_IDS[0]})"),
        (f"{_IDS[0]}::1", "gpu 2", f"gpu 2 ({_IDS[0]}::1)"),
    ],
)
def test_a_uuid_is_called_by_its_number(device_id: str, called: str, full: str) -> None:
    device = MapDevice("nvidia.com/gpu", device_id, (0,), DeviceUse.FREE, number=2)
    assert (device.called, device.full_name) == (called, full)


def _chart() -> NodeMap:
    held = node_charts.held()
    numbers = map_devices.numbered(_IDS)
    devices = tuple(
        MapDevice("nvidia.com/gpu", each, (0,), DeviceUse.FREE, number=numbers[each])
        for each in _IDS
    )
    (train,) = (pod for pod in held.pods if pod.name == "train")
    owned = replace(train, devices={"nvidia.com/gpu": (_IDS[0], _IDS[1])})
    return replace(held, devices=devices, pods=(owned,))


def test_the_number_is_the_same_in_the_find_box_and_in_the_drawing() -> None:
    chart = _chart()
    found = finding.find(chart, "GPU 2")
    assert found.device_ids == {_IDS[0]}
    assert found.sentence == f"nvidia.com/gpu gpu 2 ({_IDS[0]}) is on NUMA node 0: free."
    assert finding.find(chart, _IDS[0].upper()).device_ids == {_IDS[0]}
    assert finding.find(chart, "GPU 3").sentence == "Nothing here is called GPU 3."
    drawing = node_drawing.draw(chart)
    assert drawing.count(">gpu 2<") == 1
    assert f'data-device="{_IDS[0]}" data-called="gpu 2"' in drawing
    assert finding.holdings(chart, chart.pods).endswith("; gpu 2, gpu 0")


def test_a_number_finds_a_device_whose_id_is_another_word() -> None:
    chart = _chart()
    named = replace(chart, devices=(MapDevice("example.com/nic", "eth1", (0,), DeviceUse.FREE),))
    assert finding.find(named, "nic 0").device_ids == {"eth1"}
