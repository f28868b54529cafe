"""What notebooks show: pictures of values, and their rows; nothing for those who ask for none."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

import numalet
from numalet.core.cluster.cluster import ClusterPod
from values import gpu_fleet

_PODS = """
{apiVersion: v1, kind: Pod, metadata: {name: near, uid: near}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "2", memory: 1Gi}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: wide, uid: wide}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "80", memory: 1Gi}}}]}}
"""


@pytest.fixture
def shown() -> dict[str, Any]:
    """A value of every class that a notebook shows."""
    config = numalet.decode_config(
        {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0",
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
            "topologyManagerPolicy": "restricted",
        },
        "test",
    )
    machine = numalet.open_machine("2n4c2t", memory_per_node="64Gi")
    node: Any = numalet.start_node(config, machine)
    near, wide = numalet.read_pods(_PODS, "test").pods
    wide = replace(wide, name="<b>wide")
    after, admitted = node.admit(near)
    _, rejected = after.admit(wide)
    return {
        "machine": machine,
        "node": after,
        "admitted": admitted,
        "rejected": rejected,
        "changes": numalet.diff_snapshots(node.snapshot, after.snapshot),
        "nothing": numalet.diff_snapshots(node.snapshot, node.snapshot),
        "matrix": numalet.what_if([near, wide], {"m": machine}, {"c": config}),
        "simulated": numalet.simulate(config, machine, [near]),
    }


SPLIT = gpu_fleet.running("n", [gpu_fleet.pod(uid, 2) for uid in "abcd"], gone=("a", "c"))
WANTED = gpu_fleet.pod("big", 4)


@pytest.fixture
def asked() -> dict[str, Any]:
    """A fleet, and its answers about a pod that fits on one of its two nodes."""
    there = ClusterPod(
        pod=replace(WANTED, node_name="n", phase="Failed"), reason="TopologyAffinityError"
    )
    made = gpu_fleet.cluster([SPLIT, gpu_fleet.running("o", [])])
    fleet = numalet.Fleet(nodes=made.nodes, pods={**made.pods, "big": there})
    return {
        "fleet": fleet,
        "fit": fleet.fit(WANTED, count=2),
        "traps": fleet.traps(WANTED),
        "why": fleet.why("big"),
        "rejected": fleet.rejected(),
        "free": fleet.free(gpu_fleet.pod("huge", 4), nodes=["n"]),
        "never": fleet.free(gpu_fleet.pod("never", 8)),
        "there": fleet.why("b"),
    }


def test_answers_of_a_fleet_are_pictures_of_its_nodes(asked: dict[str, Any]) -> None:
    texts = {name: value._repr_html_() for name, value in asked.items()}
    for name, text in texts.items():
        ElementTree.fromstring(f"<all>{text}</all>")
        assert text.count("<svg") == 1, name
    assert {name for name, text in texts.items() if ' heat"' in text} == {
        "fleet", "fit", "traps", "why", "rejected", "never",
    }  # fmt: skip
    # A pod of four GPUs fits on o; n has as many, but not together.
    for name in ("fit", "why", "rejected"):
        assert "o; the pod fits; free nvidia.com/gpu by NUMA node: 4, 4" in texts[name]
        assert "n; trap; free nvidia.com/gpu by NUMA node: 2, 2" in texts[name]
    assert "was rejected on n: TopologyAffinityError\nIt asks for" in texts["why"]
    assert repr(asked["why"]).endswith(" was rejected on n: TopologyAffinityError: rows 2>")
    # The node of a plan, or of a pod, is drawn with its pods.
    assert "default/b" in texts["there"]
    assert [row["node"] for row in asked["fleet"].to_rows()] == ["n", "o"]


def test_heat_maps_of_one_page_share_no_id(asked: dict[str, Any]) -> None:
    ids = [re.findall(r' id="([^"]+)"', asked[each]._repr_html_()) for each in ("fit", "traps")]
    assert all(ids)
    assert not set(ids[0]) & set(ids[1])


def test_a_long_table_is_shown_in_part(asked: dict[str, Any]) -> None:
    fleet = asked["fleet"]
    nodes = {f"n{at}": replace(SPLIT, name=f"n{at}") for at in range(60)}
    many = replace(fleet, nodes=nodes).fit(WANTED)
    assert "The first 20 of 60 rows; to_rows() has all." in many._repr_html_()


def test_nodes_of_a_large_fleet_that_are_drawn_alike_share_a_cell(asked: dict[str, Any]) -> None:
    open_node = asked["fleet"].nodes["o"]
    nodes = {f"n{at}": replace(open_node, name=f"n{at}") for at in range(1_001)}
    text = replace(asked["fleet"], nodes={**nodes, "n": SPLIT}).fit(WANTED)._repr_html_()
    assert text.count("data-node=") == 2
    assert "1002 nodes, 1 trap, the pod fits on 1001" in text


def test_every_value_is_shown_without_scripts_and_with_styles_of_its_own(
    shown: dict[str, Any],
) -> None:
    for name, value in shown.items():
        text = value._repr_html_()
        assert "<script" not in text, name
        assert "<b>" not in text, name
        assert text.startswith("<style>.numalet-shown")
        ElementTree.fromstring(f"<all>{text}</all>")
    assert "<svg" in shown["machine"]._repr_html_()
    assert "default/near" in shown["node"]._repr_html_()
    assert "default/&lt;b&gt;wide" in shown["rejected"]._repr_html_()
    assert "Admitted" in shown["admitted"]._repr_html_()


def test_pictures_of_one_page_share_no_id_and_refer_to_their_own(shown: dict[str, Any]) -> None:
    pictures = [shown["machine"]._repr_html_(), shown["node"]._repr_html_()]
    ids = [re.findall(r' id="([^"]+)"', each) for each in pictures]
    assert all(ids)
    assert not set(ids[0]) & set(ids[1])
    for own, text in zip(ids, pictures, strict=True):
        referred = re.findall(r'url\(#([^)]+)\)| aria-(?:labelled|described)by="([^"]+)"', text)
        assert referred
        assert {first or second for first, second in referred} <= set(own)


def test_rows_are_flat_and_have_the_same_keys(shown: dict[str, Any]) -> None:
    expected = {
        "machine": 2, "node": 1, "admitted": 1, "rejected": 1, "changes": 1, "nothing": 0,
        "matrix": 7, "simulated": 1,
    }  # fmt: skip
    for name, value in shown.items():
        rows = value.to_rows()
        assert len(rows) == expected[name], name
        assert len({tuple(row) for row in rows}) <= 1


def test_who_does_not_ask_for_a_picture_pays_for_none() -> None:
    asked = (
        "import sys, numalet; numalet.start_node;"
        "assert not {'jinja2', 'numalet.drawing', 'numalet.pages'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", asked], check=True, timeout=120)
