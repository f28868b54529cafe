"""Objects of a dump are cut out of its text, whatever form the text has and however it arrives."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import yaml

from numalet.core.model.findings import BadInput
from numalet.io.documents.text import object_stream, yaml_source
from numalet.io.documents.text.object_stream import ObjectText
from values import kube_lists


class Trickle(io.BytesIO):
    """Gives a few bytes at a time, as a pipe does."""

    def __init__(self, content: bytes, seed: int) -> None:
        super().__init__(content)
        self._random = random.Random(seed)

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._random.randint(1, 40))


def made(number: int) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{at}", "note": "}\n        },\n        {\n" * (at % 2)},
            "spec": {},
        }
        for at in range(number)
    ]


def values(texts: list[ObjectText]) -> list[Any]:
    read = []
    for each in texts:
        if each.is_json:
            read.append(msgspec.json.decode(each.text))
        else:
            (loaded,) = yaml_source.load_documents(each.text.decode(), "x")
            is_member = isinstance(loaded.value, list)
            read.append(loaded.value[0] if is_member else loaded.value)
    return read


def cut(content: bytes) -> list[ObjectText]:
    return list(object_stream.objects(io.BytesIO(content), "dump"))


FORMS: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "kubectl": kube_lists.kubectl_json,
    "indented by two": lambda given: json.dumps({"kind": "List", "items": given}, indent=2),
    "indented by tabs": lambda given: json.dumps({"kind": "List", "items": given}, indent="\t"),
    "one line": lambda given: json.dumps({"kind": "List", "items": given}),
    "an object a line": lambda given: "\n".join(map(json.dumps, given)),
    "objects one after the other": lambda given: "\n".join(json.dumps(e, indent=4) for e in given),
    "windows": lambda given: kube_lists.kubectl_json(given).replace("\n", "\r\n"),
    "yaml": lambda given: str(yaml.safe_dump({"apiVersion": "v1", "items": given, "kind": "List"})),
    "yaml documents": lambda given: str(yaml.safe_dump_all(given, explicit_start=True)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [1, 2, 5])
def test_every_form_gives_the_same_objects(form: str, number: int) -> None:
    given = made(number)
    assert values(cut(FORMS[form](given).encode())) == given


@pytest.mark.parametrize("form", ["kubectl", "yaml", "one line"])
@pytest.mark.parametrize("seed", range(5))
def test_a_text_may_come_in_pieces_of_any_size(form: str, seed: int) -> None:
    given = made(4)
    source = Trickle(FORMS[form](given).encode(), seed)
    assert values(list(object_stream.objects(source, "-"))) == given


@pytest.mark.parametrize("form", ["kubectl", "yaml"])
def test_the_line_is_that_on_which_the_object_begins(form: str) -> None:
    text = FORMS[form](made(3))
    lines = text.splitlines()
    for each in cut(text.encode()):
        first = each.text.decode().splitlines()[0]
        assert lines[each.line - 1].strip() == first.strip()


def test_the_list_says_the_kind_of_members_that_do_not() -> None:
    """``kubectl cluster-info dump`` writes typed lists, with the kind in front."""
    nodes = [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]
    listed = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": nodes}
    for text in (json.dumps(listed, indent=4), json.dumps(listed)):
        assert [each.kind for each in cut(text.encode())] == ["Node", "Node"]
    must_gather = "---\n" + yaml.safe_dump({"kind": "NodeList", "items": nodes}, sort_keys=False)
    assert [each.kind for each in cut(must_gather.encode())] == ["Node", "Node"]


def test_logs_between_lists_are_passed_over() -> None:
    """``kubectl cluster-info dump`` prints lists and logs of containers to one output."""
    given = made(2)
    listed = kube_lists.kubectl_json(given)
    log = (
        '==== START logs for container c of pod x/y ====\nat {\n}\n"items": [\n==== END logs ====\n'
    )
    assert values(cut(f"{listed}{log}{listed}".encode())) == [*given, *given]


@pytest.mark.parametrize("text", ["", " \n", '{\n    "items": [],\n    "kind": "List"\n}\n'])
def test_nothing_is_no_object(text: str) -> None:
    assert cut(text.encode()) == []


def test_members_of_odd_kinds_are_given_as_they_are() -> None:
    odd: list[Any] = [made(1)[0], None, {}, "text", [], [1], made(1)[0]]
    text = kube_lists.kubectl_json(odd)
    assert values(cut(text.encode())) == odd


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_a_list_that_ends_early_is_refused_after_what_is_whole(kept: float) -> None:
    text = kube_lists.kubectl_json(made(8)).encode()
    source = io.BytesIO(text[: int(len(text) * kept)])
    whole: list[ObjectText] = []
    with pytest.raises(BadInput) as caught:
        whole.extend(object_stream.objects(source, "dump"))
    assert [each.code for each in caught.value.findings] == ["input/invalid"]
    assert values(whole) == made(8)[: len(whole)]
    assert whole


def test_what_is_no_json_is_refused_with_its_line() -> None:
    with pytest.raises(BadInput) as caught:
        cut(b'{"kind": "List",\n "items": [\n  {"a" 1}]}')
    (only,) = caught.value.findings
    assert only.code == "document/syntax"
    assert only.where.line == 3


def test_half_a_text_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(BadInput) as caught:
        cut(b'{"items": [' + b"[" * 100_000)
    assert [each.code for each in caught.value.findings] == ["document/syntax"]
