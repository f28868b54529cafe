"""What device plugins hand out with their devices."""

from __future__ import annotations

from numalet.agent.host import device_plugins
from numalet.io.rpc import device_plugin_v1beta1_pb2 as messages


def answer(**parts: object) -> bytes:
    return messages.ContainerAllocateResponse(**parts).SerializeToString()  # type: ignore[arg-type]


def test_answers_are_merged_and_the_first_value_counts() -> None:
    first = answer(
        envs={"A": "1"},
        mounts=[messages.Mount(container_path="/lib", host_path="/one")],
        devices=[messages.DeviceSpec(container_path="/dev/g", host_path="/dev/g0")],
        cdi_devices=[messages.CDIDevice(name="c=1")],
    )
    second = answer(
        envs={"A": "2", "B": "3"},
        mounts=[messages.Mount(container_path="/lib", host_path="/two")],
        annotations={"x": "y"},
        cdi_devices=[messages.CDIDevice(name="c=1"), messages.CDIDevice(name="c=2")],
    )
    given = device_plugins.merged_responses([first, second])
    assert given.environment == {"A": "1", "B": "3"}
    assert given.mounts == {"/lib": "/one"}
    assert given.device_nodes == {"/dev/g": "/dev/g0"}
    assert given.annotations == {"x": "y"}
    assert given.cdi_devices == ("c=1", "c=2")


def test_what_can_not_be_decoded_hands_out_nothing() -> None:
    assert device_plugins.merged_responses([b"\xff\xff"]).environment == {}
