"""Reading YAML and JSON texts: values, lines, limits, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numalet.core.model.findings import BadInput, Finding
from numalet.io.documents.text import yaml_source


def load(text: str) -> list[Any]:
    return [document.value for document in yaml_source.load_documents(text, "file.yaml")]


def refusal(action: Callable[[], object]) -> Finding:
    with pytest.raises(BadInput) as caught:
        action()
    (finding,) = caught.value.findings
    return finding


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1", [{"a": 1}]),
        ("a: 1\n---\nb: [x, 'y']\n---\n---\n# nothing\n", [{"a": 1}, {"b": ["x", "y"]}]),
        ("", []),
        ("\ufeffa: b", [{"a": "b"}]),
        ("a: {b: {c: [[1], {d: 2}]}}", [{"a": {"b": {"c": [[1], {"d": 2}]}}}]),
        ("1: a\ntrue: b\nnull: c\n1.5: d", [{"1": "a", "true": "b", "null": "c", "1.5": "d"}]),
        ("a: &x {k: 1}\nb: *x\nc: *x", [{"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 1}}]),
        ("a: &x v\nb: *x", [{"a": "v", "b": "v"}]),
        ("a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}", [{"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}}]),
        ("b: {<<: [{k: 1}, {k: 2, m: 3}]}", [{"b": {"k": 1, "m": 3}}]),
        ("b: {'<<': 1}", [{"b": {"<<": 1}}]),
        ("- <<", [["<<"]]),
        ("<<", ["<<"]),
        (
            "a: !!str 1\nb: !!int '2'\nc: !!map {}\nd: !!seq []",
            [{"a": "1", "b": 2, "c": {}, "d": []}],
        ),
        ("a: ! 1", [{"a": "1"}]),
    ],
)
def test_yaml_becomes_plain_values(text: str, expected: list[Any]) -> None:
    assert expected == load(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        ("-12", -12),
        ("1_000", 1000),
        ("0x1F", 31),
        ("-0b11", -3),
        ("010", 8),
        ("0o10", 8),
        ("0", 0),
        ("1.5", 1.5),
        ("1e3", 1000),
        ("1.0", 1),
        ("1e400", "1e400"),
        ("1e30", 1e30),
        ("-9223372036854775809", -(2**63)),
        ("18446744073709551615", 2**64 - 1),
        ("9" * 100, "9" * 100),
        ("09", 9),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("1Gi", "1Gi"),
        (".inf", ".inf"),
        ("-x", "-x"),
        ("yes", True),
        ("off", False),
        ("y", "y"),
        ("~", None),
        ("", None),
    ],
)
def test_a_plain_scalar_means_what_it_means_to_kubernetes(text: str, expected: object) -> None:
    ((value,),) = load(f"- {text}")

    assert (type(expected), expected) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": [1, 2.5, 1e3, 1e400]}', [{"a": [1, 2.5, 1000, "1e400"]}]),
        ('[1]\n {"b": "1"} ', [[1], {"b": "1"}]),
        ("{a: b}", [{"a": "b"}]),
        ('{"a": NaN}', [{"a": "NaN"}]),
        ('{"a": "\\ud83d\\ude00"}', [{"a": "\U0001f600"}]),
        ('{"a":\t1,\n\t"b": 2}', [{"a": 1, "b": 2}]),
        ('{"a": 1}\n0 "b" null', [{"a": 1}, 0, "b", None]),
    ],
)
def test_json_is_read_as_json(text: str, expected: list[Any]) -> None:
    assert expected == load(text)


def test_every_part_has_its_line() -> None:
    text = "kind: Pod\nspec:\n  containers:\n  - name: a\n    image: b\n---\nx:\n- 1\n- 2\n"
    first, second = yaml_source.load_documents(text, "pod.yaml")

    lines = [
        first.line_of("$"),
        first.line_of("$.spec.containers[0].image"),
        first.line_of("$.spec.containers[0].resources.limits"),
        first.line_of("$.spec.containers[7]"),
        first.line_of("nonsense"),
        second.line_of("$.x[1]"),
    ]

    assert lines == [1, 5, 4, 4, None, 9]
    assert (
        second.location("$.x[0]").document,
        second.location("$.x[0]").path,
        second.location("$.x[0]").line,
    ) == ("pod.yaml", "$.x[0]", 8)


def test_json_has_lines_too() -> None:
    (document,) = yaml_source.load_documents('{\n "a": {\n  "b": 1}}', "x.json")

    assert document.line_of("$.a.b") == 3


def test_json_that_is_no_yaml_has_no_lines() -> None:
    documents = yaml_source.load_documents('{"a": 1}{"a": 1, "a": 2}', "x.json")

    assert [document.line_of("$.a") for document in documents] == [1, None]
    assert [
        tuple(finding.where.path for finding in document.duplicates) for document in documents
    ] == [(), ("$",)]


@pytest.mark.parametrize(
    "text", ["a: 1\nb: {c: 1,\n c: 2}\na: 3\n", '{"a":1,\n"b":{"c":1,"c":2},\n"a":3}']
)
def test_a_key_that_comes_twice_is_noticed_and_the_last_one_counts(text: str) -> None:
    (document,) = yaml_source.load_documents(text, "file.yaml")

    assert document.value == {"a": 3, "b": {"c": 2}}
    assert [finding.where.path for finding in document.duplicates] == ["$.b.c", "$.a"]
    assert {"document/duplicate-key"} == {finding.code for finding in document.duplicates}


def test_keys_that_come_once_are_no_duplicates() -> None:
    (document,) = yaml_source.load_documents("a: {b: 1}\nb: 1", "file.yaml")

    assert document.duplicates == ()


LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: [1,\n", "document/syntax", 2),
        ("a: 1\nb:\n\t- c", "document/syntax", 3),
        ("a: b: c", "document/syntax", 1),
        ("a: 1\nb: \x00", "document/syntax", 2),
        ('{"a": [1, 2', "document/syntax", 2),
        ('{"a": "b}', "document/syntax", 1),
        ("%YAML 9.9\n---\na", "document/syntax", 1),
        ("a: &x [*x]", "input/invalid", 1),
        ("a: &x\n  b: {c: *x}", "input/invalid", 2),
        ("a: *x", "input/not-found", 1),
        ("a: &x 1\n---\nb: *x", "input/not-found", 3),
        (LAUGHS, "input/too-large", 7),
        ("[" * 5000, "document/too-deep", None),
        ("- " * 5000, "document/too-deep", 1),
        ("[" * 300 + "]" * 300, "document/too-deep", None),
        ("[" * 5000 + "]" * 5000, "document/too-deep", None),
        ("{a: 1}: b", "input/invalid", 1),
        ("a: !!python/object:os.system x", "input/not-supported", 1),
        ("a: !!set {x}", "input/not-supported", 1),
        ("a: !!binary x", "input/not-supported", 1),
        ("a: {<<: 1}", "input/invalid", 1),
        ("a: \ud800", "document/syntax", None),
        ('{"a": "\\ud800x"}', "document/syntax", None),
    ],
)
def test_a_broken_or_hostile_text_is_refused_with_its_line(
    text: str, code: str, line: int | None
) -> None:
    finding = refusal(lambda: load(text))

    assert (code, "file.yaml", line) == (finding.code, finding.where.document, finding.where.line)


def test_terabytes_are_refused_without_being_read(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    # More than any memory has room for, and nothing on the disk.
    with file.open("wb") as sparse:
        sparse.truncate(1 << 42)

    finding = refusal(lambda: yaml_source.read_text(file))

    assert ("document/too-large", str(file)) == (finding.code, finding.where.document)
    assert finding.fields == {"limit_bytes": 33554432}


def test_a_large_text_is_refused_unread() -> None:
    assert refusal(lambda: load("x" * 40_000_000)).code == "document/too-large"


def test_a_file_is_read_as_utf8_without_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("\ufeffa: é".encode())

    assert yaml_source.read_text(tmp_path / "a.yaml") == "a: é"


def test_a_file_that_is_not_utf8_is_refused_with_the_byte(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: 1\nb: \xff")

    finding = refusal(lambda: yaml_source.read_text(tmp_path / "a.yaml"))

    assert (finding.code, finding.where.line) == ("input/invalid", 2)
    assert "byte 0xFF at offset 8" in str(finding)


@pytest.mark.parametrize("name", ["missing.yaml", ".", "nul\0.yaml"])
def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path, name: str) -> None:
    finding = refusal(lambda: yaml_source.read_text(f"{tmp_path}/{name}"))

    assert finding.code == "document/unreadable"
    assert finding.fields["reason"]
