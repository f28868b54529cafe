"""The definitions of our resources: as the code has them, and in a form that API servers accept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from numalet.io.documents.cluster import custom_resources

FOLDER = Path(__file__).parents[4] / "packaging" / "kubernetes" / "crds"
NAMES = sorted(custom_resources.definitions())
KEYWORDS = {
    *("type", "description", "properties", "required", "items", "additionalProperties"),
    *("format", "enum", "minimum", "nullable"),
    *("x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields"),
}


def schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and those inside."""
    yield schema
    inside = [*schema.get("properties", {}).values()]
    inside += [schema[name] for name in ("items", "additionalProperties") if name in schema]
    for each in inside:
        yield from schemas(each)


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_what_make_schemas_writes(name: str) -> None:
    expected = custom_resources.text(custom_resources.definitions()[name])

    assert (FOLDER / name).read_text(encoding="utf-8") == expected


def test_they_are_all_written(tmp_path: Path) -> None:
    custom_resources.write(tmp_path)

    assert sorted(each.name for each in tmp_path.iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_value_has_one_type_and_no_keyword_is_newer_than_1_20(name: str) -> None:
    (version,) = custom_resources.definitions()[name]["spec"]["versions"]
    for schema in schemas(version["schema"]["openAPIV3Schema"]):
        assert isinstance(schema["type"], str), schema
        assert KEYWORDS.issuperset(schema), schema
        assert not ("properties" in schema and "additionalProperties" in schema)


def test_the_state_is_replaced_as_a_whole() -> None:
    definition = yaml.safe_load((FOLDER / "numanodes.yaml").read_text(encoding="utf-8"))
    (version,) = definition["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]

    assert spec["properties"]["state"]["x-kubernetes-map-type"] == "atomic"
