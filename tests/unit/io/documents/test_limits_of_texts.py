"""Texts beyond a limit end in a finding with the place and the limit; one bad object alone does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numalet.core.model import limits
from numalet.core.model.findings import BadInput, Finding
from numalet.io.documents.cluster import cluster_dump
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.text import yaml_source
from numalet.io.kube_api import watching
from numalet.io.kube_api.answers import ApiUnreachable

KINDS = ["Node", "Pod", "PodDisruptionBudget", "NodeResourceTopology", "NumaNode", "NumaNodeClass"]


def found(text: str) -> tuple[Finding, ...]:
    with pytest.raises(BadInput) as caught:
        pod_manifest.read_pods(text, "f")
    return caught.value.findings


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{}\n" * 6, "f:6"),
        ("--- {}\n" * 6, "f:6"),
        ("---\n" * 6, "f:6"),
        (json.dumps({"kind": "List", "items": [{}] * 6}), "f: $.items[5]"),
        (json.dumps({"kind": "PodList", "items": [{}] * 6}, indent=1), "f: $.items[5]"),
    ],
)
def test_objects_of_a_text(monkeypatch: pytest.MonkeyPatch, text: str, place: str) -> None:
    monkeypatch.setattr(limits, "OBJECTS_OF_A_TEXT", 5)
    (finding,) = found(text)
    assert finding.located == f"{place}: this is one object too many; at most 5 are read"


@pytest.mark.parametrize("kind", ["", "Pod"])
def test_errors_of_a_text(kind: str) -> None:
    item = {"kind": kind} if kind else {}
    findings = found(json.dumps({"kind": "List", "items": [item] * 5_000}))
    assert limits.ERRORS_OF_A_TEXT <= len(findings) <= limits.ERRORS_OF_A_TEXT + 10
    assert findings[-1].code == "input/too-large"


def test_digits_of_a_number() -> None:
    for number in ("9" * 65, "-" + "9" * 5_000):
        for text in (f'{{"a": {number}}}', f"a: {number}"):
            (document,) = yaml_source.load_documents(text, "f")
            assert document.value == {"a": number}


def test_lines_of_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    (short,) = yaml_source.load_documents("a:\n  b: 1", "f")
    assert short.location("$.a.b").text == "f:2: $.a.b"
    monkeypatch.setattr(limits, "TEXT_WITH_LINES_BYTES", 5)
    (long,) = yaml_source.load_documents("a:\n  b: 1", "f")
    assert long.location("$.a.b").text == "f: $.a.b"


def deep(kind: str, levels: int) -> str:
    nested = '{"a":' * levels + "1" + "}" * levels
    spec = f'{{"configuration":{{"zz":{nested}}},"nodeName":"n"}}'
    metadata = '{"name":"evil","namespace":"team","uid":"u"}'
    return f'{{"kind":"{kind}","metadata":{metadata},"spec":{spec}}}'


@pytest.mark.parametrize("levels", [limits.NESTING, 500, 3_000])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["list", "objects", "kubectl"])
def test_an_object_of_a_dump_that_is_too_deep_is_left_out(
    tmp_path: Path, kind: str, levels: int, form: str
) -> None:
    bad = deep(kind, levels)
    good = '{"kind":"Node","metadata":{"name":"good"}}'
    file = tmp_path / "d.json"
    if form == "list":
        file.write_text(f'{{"kind":"List","items":[{bad},{good}]}}')
    elif form == "objects":
        file.write_text(f"{good}\n{bad}\n{good}\n")
    else:
        inner = "\n".join(["        {", "        " + bad[1:-1], "        }"])
        file.write_text(
            '{\n    "apiVersion": "v1",\n    "items": [\n' + inner + ",\n        {\n"
            "        " + good[1:-1] + "\n        }\n    ]\n}\n"
        )
    read = cluster_dump.load([str(file)])
    assert set(read.nodes) == {"good"}
    (note,) = read.notes
    assert note.code == "input/ignored"
    assert f"at most {limits.NESTING} levels are read" in str(note)
    assert "evil" in str(note)


def test_too_many_objects_of_a_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OBJECTS_OF_A_DUMP", 5)
    file = tmp_path / "d.json"
    file.write_text('{"kind":"Pod"}\n' * 6)
    with pytest.raises(BadInput) as caught:
        cluster_dump.load([str(file)])
    (finding,) = caught.value.findings
    assert finding.located == f"{file}:6: $[5]: this is one object too many; at most 5 are read"


def test_an_event_that_is_too_deep_is_still_an_event() -> None:
    line = f'{{"type":"ADDED","object":{deep("NumaNodeClass", 3_000)}}}'
    event: Any = watching._event(line.encode(), "server")
    assert event.type == "ADDED"
    assert msgspec.json.decode(event.object)["metadata"]["name"] == "evil"
    with pytest.raises(ApiUnreachable):
        watching._event(line.encode()[:-1], "server")
