"""What is stored of later releases is what was recorded of them: no line is lost or altered.

How a release is stored is tried on a few scenarios of our own, in an empty folder.
"""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numalet.core.config.releases.table import BASE, RELEASES
from oracles import recordings, store_release
from oracles.release_recordings import FIRST, STORE, ReleaseStore, category_of, encode, hash_of

STORED = STORE.contents()


def test_every_release_that_can_be_chosen_has_recordings() -> None:
    assert BASE.name == FIRST
    assert [each.name for each in RELEASES] == [FIRST, *STORED]


@pytest.mark.slow
@pytest.mark.parametrize("release", STORED)
def test_every_line_is_restored_to_the_byte(release: str) -> None:
    whole = hashlib.sha256()
    hashes = []
    categories: Counter[str] = Counter()
    for name, line in zip(STORE.names(release), STORE.lines(release), strict=True):
        whole.update(line)
        hashes.append(hash_of(line))
        categories[category_of(name)] += 1
        assert msgspec.json.decode(line)["name"] == name
    assert hashes == STORE.hashes(release)
    assert whole.hexdigest() == STORED[release].sha256
    assert categories == STORED[release].scenarios


@pytest.mark.parametrize("release", STORED)
def test_scenarios_that_differ_from_the_first_release_are_counted(release: str) -> None:
    differing = Counter(map(category_of, STORE.names_that_differ(release)))
    assert differing == STORED[release].differing


@pytest.mark.slow
@pytest.mark.parametrize("release", STORED)
def test_what_does_not_differ_has_the_outcome_of_the_first_release(release: str) -> None:
    differing = set(STORE.names_that_differ(release))
    equal = [name for name in STORE.names(release) if name not in differing]
    for name in equal[::50]:
        here, first = (msgspec.json.decode(STORE.line(each, name)) for each in (release, FIRST))
        assert here.pop("release") == release
        assert here == first


def test_they_take_little_room() -> None:
    files = [STORE.contents_file]
    for release in STORED:
        files += [STORE.scenarios_file(release), STORE.hashes_file(release)]
    assert sum(file.stat().st_size for file in files) <= 3 * 1024**2


def scenario(name: str, release: str, **members: Any) -> dict[str, Any]:
    """One that could have been recorded."""
    return {"name": name, "release": release, "machine": {}, "expect": {"steps": []}} | members


def stored(folder: Path, release: str, *scenarios: dict[str, Any]) -> tuple[bytes, ReleaseStore]:
    """Their lines, and a store that they were put into by the command."""
    lines = b"".join(map(encode, scenarios))
    store_release.store(ReleaseStore(folder), release, lines)
    return lines, ReleaseStore(folder)


def first(category: str) -> dict[str, Any]:
    """The first scenario of a category of v1.32."""
    found: dict[str, Any] = msgspec.json.decode(next(recordings.lines(category)))
    return found


def test_what_the_first_release_decided_is_stored_by_its_name(tmp_path: Path) -> None:
    lines, store = stored(tmp_path, "9.1", first("startup") | {"release": "9.1"})
    assert b"".join(store.lines("9.1")) == lines
    assert store.scenarios_file("9.1").stat().st_size < 200
    assert [*store.names_that_differ("9.1")] == []


DEEP = {"a": [1, {"b": None, "c": [True]}], "d": {"e": "text"}}

AFTERWARDS: dict[str, Any] = {
    "the same": DEEP,
    "another value": {"a": [1, {"b": 0, "c": [True]}], "d": {"e": "text"}},
    "another type": {"a": [True, {"b": None, "c": [1]}], "d": {"e": "text"}},
    "a new member": {"a": [1, {"b": None, "c": [True], "f": {}}], "d": {"e": "text"}},
    "a member less": {"a": [1, {"c": [True]}], "d": {"e": "text"}},
    "a longer list": {"a": [1, {"b": None, "c": [True, True]}], "d": {"e": "text"}},
    "an empty list": {"a": [], "d": {"e": "text"}},
    "nothing of before": [],
    "no sign of ASCII": {"a": "\u00e9\u2028<\u0007", "d": {"e": "text"}},
}


@pytest.mark.parametrize("kind", AFTERWARDS)
def test_differences_to_another_release_are_restored(kind: str, tmp_path: Path) -> None:
    long = {"steps": ["x" * 40] * 40}
    before = scenario("cpu-1", "9.1", expect=long | {"deep": DEEP}, tags=["gone"])
    after = scenario("cpu-1", "9.2", expect=long | {"deep": AFTERWARDS[kind]}, tags=["gone"])
    stored(tmp_path, "9.1", before)
    lines, store = stored(tmp_path, "9.2", after)
    (line,) = store.lines("9.2")
    assert line == lines
    assert [hash_of(line)] == store.hashes("9.2")
    assert store.contents()["9.2"].sha256 == hashlib.sha256(lines).hexdigest()
    assert [*store.names_that_differ("9.2")] == ["cpu-1"]


def test_a_scenario_that_lost_a_member_is_restored(tmp_path: Path) -> None:
    stored(tmp_path, "9.1", scenario("cpu-1", "9.1", tags=["x" * 400]))
    lines, store = stored(tmp_path, "9.2", scenario("cpu-1", "9.2"))
    assert b"".join(store.lines("9.2")) == lines


def test_the_order_of_the_lines_is_kept(tmp_path: Path) -> None:
    names = ["gates-3", "cpu-2", "gates-1"]
    lines, store = stored(tmp_path, "9.1", *(scenario(name, "9.1") for name in names))
    assert list(store.names("9.1")) == names
    assert b"".join(store.lines("9.1")) == lines
    assert store.contents()["9.1"].scenarios == {"cpu": 1, "gates": 2}


def test_a_release_is_stored_again(tmp_path: Path) -> None:
    stored(tmp_path, "9.1", scenario("cpu-1", "9.1"))
    lines, store = stored(tmp_path, "9.1", scenario("cpu-1", "9.1", tags=["second"]))
    assert b"".join(store.lines("9.1")) == lines


@pytest.mark.parametrize(
    "lines",
    [
        encode(scenario("cpu-1", "9.2")),
        encode(scenario("cpu-1", "9.1")) * 2,
        encode(scenario("cpu-1", "9.1")).replace(b":", b": "),
        encode(scenario("cpu-1", "9.1")).rstrip(b"\n"),
        gzip.compress(b""),
    ],
    ids=["of another release", "twice", "with spaces", "cut off", "no JSON"],
)
def test_what_would_not_be_restored_is_refused(lines: bytes, tmp_path: Path) -> None:
    with pytest.raises(store_release.NotRestorableError):
        store_release.store(ReleaseStore(tmp_path), "9.1", lines)
    assert [*tmp_path.iterdir()] == []
