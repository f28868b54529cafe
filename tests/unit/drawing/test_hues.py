"""Colours of holders: a name each, twelve at most, the rest neutral."""

from __future__ import annotations

from numalet.core.model.pod import QosClass
from numalet.drawing.sheets import hues
from numalet.insight.maps.node_map import MapPod, NodeMap


def _pod(number: int, namespace: str, qos: QosClass | None = QosClass.GUARANTEED) -> MapPod:
    return MapPod(
        uid=f"u{number}", namespace=namespace, name=f"p{number}", qos_class=qos, nodes=(),
        cpus=frozenset(), memory_bytes={}, devices={},
    )  # fmt: skip


def test_by_namespace_where_there_are_several() -> None:
    chart = NodeMap(title="", nodes=(), pods=(_pod(1, "b"), _pod(2, "a"), _pod(3, "b")))
    colours = hues(chart)
    assert colours.by_name == {"a": "hue-1", "b": "hue-2"}
    assert [colours.of(uid) for uid in ("u1", "u2", "u3", "nobody")] == [
        "hue-2", "hue-1", "hue-2", "holder",
    ]  # fmt: skip


def test_by_qos_class_within_one_namespace() -> None:
    chart = NodeMap(
        title="",
        nodes=(),
        pods=(_pod(1, "a"), _pod(2, "a", QosClass.BURSTABLE), _pod(3, "a", None)),
    )
    assert [*hues(chart).by_name] == ["Burstable", "Guaranteed", "held by pods"]


def test_the_thirteenth_is_neutral() -> None:
    chart = NodeMap(title="", nodes=(), pods=tuple(_pod(n, f"ns-{n:02}") for n in range(13)))
    assert [*hues(chart).by_name.values()][-2:] == ["hue-12", "holder"]


def test_a_namespace_that_is_not_known() -> None:
    chart = NodeMap(title="", nodes=(), pods=(_pod(1, "a"), _pod(2, "", None)))
    assert [*hues(chart).by_name] == ["a", "not known"]
