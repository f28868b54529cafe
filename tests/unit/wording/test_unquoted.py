"""What is said of a file to those who may not read it quotes nothing of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numalet.agent.controller.manifests import ManifestFolder
from numalet.cli import code_index
from numalet.core.model.findings import Finding, Location
from numalet.wording import foreign_texts
from running import agents

SECRET = "hunter2-swordfish"
SHADOW = f"root:$6${SECRET}$abc:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n"
VALUES = (SECRET, [SECRET], {SECRET: SECRET}, 4242424242, -4242424242, None, True)


def paths(value: object, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every place in a document."""
    yield before
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from paths(value[key], (*before, key))


def changed(value: Any, path: tuple[Any, ...], new: object) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def events(folder: Path) -> dict[str, str]:
    """What is said of every broken file."""
    source = ManifestFolder(folder, "node-a", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    return {path: foreign_texts.sentences(found) for path, found in source.read().broken.items()}


def test_no_value_of_a_broken_manifest_is_quoted(quick_path: Path) -> None:
    whole = agents.manifest("one")
    whole["spec"]["containers"][0]["env"] = [{"name": "A", "value": "b"}]
    for number, path in enumerate(paths(whole)):
        for kind, value in enumerate(VALUES):
            file = quick_path / f"{number}-{kind}.yaml"
            file.write_text(json.dumps(changed(whole, path, value)))
    said = events(quick_path)
    assert len(said) > 50
    for text in said.values():
        assert text
        assert SECRET not in text
        assert "4242424242" not in text


@pytest.mark.parametrize(
    "text",
    [
        SHADOW,
        f"a: b\n a: {SECRET}: [",
        f"{SECRET}: &x [*x, {{",
        f"- {SECRET}",
        f'"{SECRET}',
        "\x00",
    ],
)
def test_a_link_to_a_file_of_another_kind_shows_nothing_of_it(quick_path: Path, text: str) -> None:
    (quick_path / "shadow").write_text(text)
    (quick_path / "folder").mkdir()
    (quick_path / "folder" / "pod.yaml").symlink_to(quick_path / "shadow")
    (said,) = events(quick_path / "folder").values()
    assert said
    assert SECRET not in said
    assert "root" not in said


def _findings() -> dict[str, type[Finding]]:
    every = code_index.classes().items()
    return {code: each for code, each in every if issubclass(each, Finding)}


@pytest.mark.parametrize("code", _findings())
def test_every_sentence_can_be_said_without_its_values(code: str) -> None:
    of = _findings()[code]
    names = [each.name for each in msgspec.structs.fields(of) if each.required]
    values: dict[str, Any] = dict.fromkeys(
        names, 0 if code.startswith(("files/", "document/")) else SECRET
    )
    finding = of(**values, where=Location("x", line=3))
    assert SECRET not in foreign_texts.sentences([finding]) or {*names} & {
        "allowed", "expected", "least", "limit_bytes", "most", "nearest", "others"
    }  # fmt: skip
