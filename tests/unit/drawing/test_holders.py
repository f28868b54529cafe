"""Holders in a drawing: a letter and a colour for each pod, namespace or QoS class."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from numalet.core.model.pod import QosClass
from numalet.drawing import node_drawing
from numalet.drawing.node import holders
from numalet.insight.maps import node_map
from numalet.insight.maps.node_map import ColoursBy, MapPod, NodeMap
from values import node_charts


def _pod(
    number: int, namespace: str, qos: QosClass | None = QosClass.GUARANTEED, **more: object
) -> MapPod:
    pod = MapPod(
        uid=f"u{number}", namespace=namespace, name=f"p{number}", qos_class=qos, nodes=(),
        cpus=frozenset(), memory_bytes={}, devices={},
    )  # fmt: skip
    return replace(pod, **more)  # type: ignore[arg-type]


def _letters(chart: NodeMap) -> dict[str, str]:
    return {uid: holder.letter for uid, holder in holders.by_uid(chart).items()}


def test_each_pod_has_a_letter_and_a_colour_and_those_with_cpus_are_first_by_name() -> None:
    pods = (_pod(1, "b"), _pod(2, "a"), _pod(3, "b", cpus=frozenset({4})))
    chart = NodeMap(title="", nodes=(), pods=pods)
    assert _letters(chart) == {"u3": "A", "u2": "B", "u1": "C"}
    colours = [holder.css_class for holder in holders.by_uid(chart).values()]
    assert colours == ["hue-1", "hue-2", "hue-3"]


def test_letters_differ_where_colours_repeat() -> None:
    chart = NodeMap(title="", nodes=(), pods=tuple(_pod(100 + n, "ns") for n in range(28)))
    of_pods = [*holders.by_uid(chart).values()]
    assert [of_pods[at].css_class for at in (0, 11, 12)] == ["hue-1", "hue-12", "hue-1"]
    assert [of_pods[at].letter for at in (25, 26, 27)] == ["Z", "AA", "AB"]


def test_pods_of_one_namespace_are_one_holder_on_request() -> None:
    pods = (_pod(1, "b"), _pod(2, ""), _pod(3, "b"))
    chart = NodeMap(title="", nodes=(), pods=pods, colours_by=ColoursBy.NAMESPACE)
    assert _letters(chart) == {"u1": "A", "u3": "A", "u2": "B"}
    names = [holder.name for holder in holders.by_uid(chart).values()]
    assert names == ["b", "b", "namespace not known"]


def test_pods_of_one_qos_class_are_one_holder_on_request() -> None:
    pods = (_pod(1, "a"), _pod(2, "a", QosClass.BURSTABLE), _pod(3, "a", None))
    chart = NodeMap(title="", nodes=(), pods=pods, colours_by=ColoursBy.QOS)
    names = [holder.name for holder in holders.by_uid(chart).values()]
    assert names == ["Guaranteed", "Burstable", "QoS class not known"]
    assert [holder.label for holder in holders.by_uid(chart).values()][:1] == ["A p1"]


def test_a_pod_has_one_letter_in_drawings_that_share_them() -> None:
    first, second, third = (_pod(number, "a", cpus=frozenset({number})) for number in (1, 2, 3))
    every = node_map.in_letter_order((first, second, third, second))
    before = NodeMap(title="", nodes=(), pods=(first, second), lettered=every)
    after = NodeMap(title="", nodes=(), pods=(second, third), lettered=every)
    assert _letters(before) == {"u1": "A", "u2": "B"}
    assert _letters(after) == {"u2": "B", "u3": "C"}
    assert [each.css_class for each in holders.by_uid(after).values()] == ["hue-2", "hue-3"]


def test_a_pod_keeps_its_letter_when_others_come_and_go() -> None:
    one, two, early, last = (
        _pod(number, namespace, cpus=frozenset({number}))
        for number, namespace in ((1, "m"), (2, "n"), (3, "a"), (4, "z"))
    )
    first = NodeMap(title="", nodes=(), pods=(one, two))
    more = node_map.with_letters_of(first, replace(first, pods=(one, two, early)))
    assert _letters(more) == {"u1": "A", "u2": "B", "u3": "C"}
    less = node_map.with_letters_of(more, replace(first, pods=(two, early)))
    assert _letters(less) == {"u2": "B", "u3": "C"}
    # A new pod has the letter of the one that left, and a changed one keeps its own.
    grown = replace(two, cpus=frozenset({2, 7}))
    again = node_map.with_letters_of(less, replace(first, pods=(grown, early, last)))
    assert _letters(again) == {"u4": "A", "u2": "B", "u3": "C"}
    assert grown in again.lettered
    assert node_map.with_letters_of(again, again) == again


def test_the_legend_says_what_a_pod_holds() -> None:
    whole = _pod(
        1, "a", cpus=frozenset({2, 3, 8}), memory_bytes={"memory": 1 << 30, "hugepages-2Mi": 0},
        devices={"example.com/gpu": ("gpu0", "gpu1")},
    )  # fmt: skip
    pages = _pod(2, "a", cpus=frozenset({9}), memory_bytes={"hugepages-2Mi": 1 << 21})
    chart = NodeMap(title="", nodes=(), pods=(whole, pages))
    assert [holders.words(chart, each) for each in holders.by_uid(chart).values()] == [
        "a/p1: CPUs 2-3, 8; 1Gi; gpu0, gpu1",
        "a/p2: CPU 9; 2Mi of hugepages-2Mi",
    ]
    chart = NodeMap(title="", nodes=(), pods=(whole, pages), colours_by=ColoursBy.NAMESPACE)
    (both, _) = holders.by_uid(chart).values()
    assert (
        holders.words(chart, both)
        == "a: 2 pods; CPUs 2-3, 8-9; 1Gi; 2Mi of hugepages-2Mi; gpu0, gpu1"
    )
    assert holders.words(chart, replace(both, pods=(_pod(3, "a"),))) == "a"


def _texts(chart: NodeMap, css_class: str) -> list[str]:
    read = ElementTree.fromstring(node_drawing.draw(chart))
    return [
        "".join(each.itertext())
        for each in read.iter()
        if css_class in each.get("class", "").split()
    ]


def test_adjacent_cpus_of_a_pod_have_one_outline_and_one_label() -> None:
    chart = node_charts.held()
    holding = {pod.uid for pod in chart.pods if pod.cpus}
    read = ElementTree.fromstring(node_drawing.draw(chart))
    runs = [each for each in read.iter() if each.get("class") == "run"]
    assert {each.get("data-pod") for each in runs} == holding
    cells = [each for each in read.iter() if each.get("data-use") == "exclusive"]
    assert len(runs) < len(cells)
    labelled = [each for each in _texts(chart, "letter") if each.startswith("A")]
    assert len(labelled) < len(cells)


def test_many_pods_are_listed_below_the_blocks() -> None:
    def is_listed_first(count: int) -> bool:
        pods = tuple(_pod(100 + n, "ns") for n in range(count))
        drawn = node_drawing.draw(replace(node_charts.machine("2n8c2t"), pods=pods))
        return drawn.index("ns/p100") < drawn.index("NUMA node 0</text>")

    assert is_listed_first(12)
    assert not is_listed_first(13)
