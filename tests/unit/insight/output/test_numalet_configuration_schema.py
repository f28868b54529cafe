"""The published schema of a NumaletConfiguration and its reader agree on what it may hold."""

from __future__ import annotations

import re
from typing import Any

import jsonschema_rs
import pytest
import yaml

from architecture import tree
from numalet.core.model.findings import Findings
from numalet.insight.output import schemas
from numalet.io.documents.kubelet import numalet_config
from numalet.io.documents.text.typed import Place

SCHEMA = schemas.input_schema("numalet-configuration")
PAGES = ("reference/configuration.md", "how-to/install-in-a-cluster.md")
PUBLISH = {
    "kubeconfig": "node.conf",
    "context": "prod",
    "nodeResourceTopology": False,
    "takeOver": True,
    "refreshSeconds": 10,
    "configz": True,
}
WHOLE: dict[str, Any] = {
    "apiVersion": "numalet.dev/v1alpha1",
    "kind": "NumaletConfiguration",
    "mode": "native",
    "memoryNodeClasses": ["cpu", "memory", "empty"],
    "generalPredicates": True,
    "release": "1.34",
    "publish": PUBLISH,
}
WRONG: tuple[Any, ...] = (True, -1, 7, 9.5, "", "a b", [], [5], ["cpu"], {}, {"x": 5}, "exact")
# Only the reader knows which releases there are.
READ_ONLY = {"release"}


def _is_valid(document: object) -> bool:
    return jsonschema_rs.is_valid(SCHEMA, document)


def _is_read(document: object) -> bool:
    findings = Findings()
    numalet_config.decode(document, Place("d"), findings)
    return not findings.has_errors


def test_the_documentations_examples_keep_to_the_schema() -> None:
    documents = [
        document
        for page in PAGES
        for text in re.findall(r"```yaml\n(.*?)```", (tree.DOCS / page).read_text(), re.DOTALL)
        for document in yaml.safe_load_all(text)
        if numalet_config.is_meant(document)
    ]
    assert len(documents) > 2
    assert [each for each in documents if not (_is_valid(each) and _is_read(each))] == []


@pytest.mark.parametrize("field", [*WHOLE, "size"])
def test_a_wrong_field_is_refused_by_both(field: str) -> None:
    disagreed = []
    for value in (None, *WRONG):
        document = {**WHOLE, field: value}
        valid, read = _is_valid(document), _is_read(document)
        if valid != read and not (valid and field in READ_ONLY):
            disagreed.append((value, valid, read))
    assert disagreed == []


@pytest.mark.parametrize("field", [*PUBLISH, "every"])
def test_a_wrong_field_about_publishing_is_refused_by_both(field: str) -> None:
    disagreed = []
    for value in (None, *WRONG, 1e300):
        document = {**WHOLE, "publish": {**PUBLISH, field: value}}
        if _is_valid(document) != _is_read(document):
            disagreed.append(value)
    assert disagreed == []


def test_all_of_it_is_valid_and_can_be_read() -> None:
    assert (_is_valid(WHOLE), _is_read(WHOLE)) == (True, True)
    assert (_is_valid({}), _is_read({})) == (True, True)
