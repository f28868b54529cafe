"""The published schema of a fleet file and its reader agree on what such a file may hold."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from architecture import tree
from numalet.core.cluster.cluster import TaintEffect
from numalet.core.managers.device.inventory import Health
from numalet.core.model.findings import BadInput
from numalet.insight.output import schemas
from numalet.insight.usecases import fleets

SCHEMA = schemas.input_schema("fleet-file")
EXAMPLE = tree.ROOT / "examples" / "fleet" / "fleet.yaml"
PAGE = tree.DOCS / "reference" / "fleet-file.md"
POOL = {
    "name": "gpu",
    "machine": "2n4c2t",
    "count": 2,
    "memory_per_node": "64Gi",
    "hugepages_per_node": {"1Gi": 4, "2Mi": "8"},
    "configuration": {"cpuManagerPolicy": "none"},
    "release": "1.34",
    "devices": [
        {"resource": "a.b/gpu", "devices": ["g0@0", {"id": "g1", "numa_nodes": [1]}]},
    ],
    "labels": {"tier": "gold", "example.com/zone": "", "a-b_c.d": "x_Y.z-1"},
    "taints": ["a/b=c:NoSchedule", "d:NoExecute", {"key": "e", "effect": "PreferNoSchedule"}],
    "match": {"names": ["gpu-*"], "labels": {"tier": "gold"}},
}
WRONG: tuple[Any, ...] = (None, True, -1, 7, 1.5, "", "a b", [], [5], {}, {"x": 5}, 100_001)
# Only the reader opens what a text names, and compares parts with each other.
READ_ONLY = {
    *("name", "machine", "memory_per_node", "configuration", "release", "devices", "match"),
    *("hugepages_per_node", "pods"),
}


def _is_valid(document: object) -> bool:
    return jsonschema_rs.is_valid(SCHEMA, document)


def _is_read(document: object, folder: Path) -> bool:
    path = folder / "fleet.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    try:
        fleets.load(str(path))
    except BadInput:
        return False
    return True


def test_the_examples_keep_to_the_schema() -> None:
    texts = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    texts.append(EXAMPLE.read_text(encoding="utf-8"))
    assert len(texts) > 2
    assert [text for text in texts if not _is_valid(yaml.safe_load(text))] == []


def test_a_whole_pool_is_valid_and_can_be_read(tmp_path: Path) -> None:
    document = {"pools": [POOL], "pods": []}
    assert _is_valid(document)
    assert _is_read(document, tmp_path)


@pytest.mark.parametrize("field", [*POOL, "size"])
def test_a_wrong_field_is_refused_by_both(field: str, tmp_path: Path) -> None:
    disagreed = []
    for wrong in WRONG:
        document = {"pools": [{**copy.deepcopy(POOL), field: wrong}]}
        valid, read = _is_valid(document), _is_read(document, tmp_path)
        if valid != read and not (valid and field in READ_ONLY):
            disagreed.append((wrong, valid, read))
    assert disagreed == []


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("pools", []),
        ("pools", None),
        ("pools", [5]),
        ("pools", [{"name": "a"}]),
        ("pools", [{"machine": "2n2c"}]),
        ("pods", 5),
        ("pods", [5]),
        ("labels", {}),
    ],
)
def test_a_wrong_part_is_refused_by_both(part: str, value: object, tmp_path: Path) -> None:
    document = {"pools": [POOL], part: value}
    assert (_is_valid(document), _is_read(document, tmp_path)) == (False, False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("labels", {"a b": "c"}),
        ("labels", {"a": "b/c"}),
        ("labels", {"a": "x" * 64}),
        ("labels", {"A/a": "x"}),
        ("taints", ["a=b"]),
        ("taints", ["a=b:Never"]),
        ("taints", [{"key": "a", "effect": "NoSchedule", "x": 1}]),
        ("taints", [{"key": "", "effect": "NoSchedule"}]),
        ("devices", [{"resource": "a.b/c"}]),
        ("devices", [{"resource": "a.b/c", "devices": [{"id": "x", "health": "Ill"}]}]),
        ("devices", ["a.b/c=x@0", {"resource": "a.b/d", "devices": []}]),
        ("match", {"name": "x"}),
    ],
)
def test_a_wrong_value_is_refused_by_both(field: str, value: object, tmp_path: Path) -> None:
    document = {"pools": [{**POOL, field: value}]}
    assert (_is_valid(document), _is_read(document, tmp_path)) == (False, False)


def test_choices_are_those_of_the_engine() -> None:
    parts = SCHEMA["$defs"]
    effects = parts["FleetTaintFields"]["properties"]["effect"]["enum"]
    assert sorted(effects) == sorted(each.value for each in TaintEffect)
    states = parts["FleetDeviceFields"]["properties"]["health"]["enum"]
    assert sorted(states) == sorted(each.value for each in Health)
