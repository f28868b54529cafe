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
    }


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
        "matrix": 7,
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
