"""The recorded decisions of kubelets after v1.32, put together again from what is stored of them.

Most scenarios were given to several releases, and most decisions are the same in all. So a release
is stored as a file of lines, one for each recorded scenario, in their order. A line is the scenario
itself, or it says of which release's scenario with the same name it is a copy (``as``), and which
values differ in it (``but``). What comes out is the recorded text, to the byte: a hash for each
line proves it, and one for all. ``store_release.py`` writes these files; their form is described
beside them, in ``conformance/data/README.md``.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from oracles import recordings

FIRST: Final = "1.32"
"""The release whose recordings are stored whole; see ``recordings``."""

Place: TypeAlias = list[str | int]
"""Where a value is in a scenario: names of members and indices, from the outside in."""


class Copy(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename={"as_": "as"}):
    """A scenario that is another release's, with other values at some places."""

    as_: str
    name: str
    but: list[tuple[Place, Any]] = []


class Contents(msgspec.Struct, forbid_unknown_fields=True):
    """What was recorded of a release: how many scenarios of which category, and their SHA-256.

    Those that differ were not given to v1.32, or something else came out.
    """

    sha256: str
    scenarios: dict[str, int]
    differing: dict[str, int]

    @property
    def count(self) -> int:
        """How many scenarios there are."""
        return sum(self.scenarios.values())


class _Named(msgspec.Struct):
    name: str


class ReleaseStore:
    """The files of a folder that hold releases; those of v1.32 are always the project's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stored = cache(self._read)

    @property
    def contents_file(self) -> Path:
        """Where it says which releases there are."""
        return self.folder / "releases.json"

    def scenarios_file(self, release: str) -> Path:
        """Where the scenarios of a release are."""
        return self.folder / f"release-{release}.jsonl.xz"

    def hashes_file(self, release: str) -> Path:
        """Where the hashes of its lines are."""
        return self.folder / f"release-{release}.hashes.xz"

    def contents(self) -> dict[str, Contents]:
        """The releases in their order, with what was recorded of them."""
        if not self.contents_file.exists():
            return {}
        return msgspec.json.decode(self.contents_file.read_bytes(), type=dict[str, Contents])

    def hashes(self, release: str) -> list[str]:
        """What ``hash_of`` was of every line when it was recorded."""
        return lzma.decompress(self.hashes_file(release).read_bytes()).decode().split()

    def names(self, release: str) -> tuple[str, ...]:
        """The names of its scenarios, in their order."""
        return tuple(self._stored(release))

    def names_that_differ(self, release: str) -> Iterator[str]:
        """Of scenarios that v1.32 was not given, or in which something else came out."""
        for name, stored in self._stored(release).items():
            copy = _copy(stored)
            if copy is None or copy.but or copy.as_ != FIRST:
                yield name

    def lines(self, release: str) -> Iterator[bytes]:
        """The recorded scenarios, one line each, as they were recorded."""
        return (self.line(release, name) for name in self._stored(release))

    def line(self, release: str, name: str) -> bytes:
        """The line of one scenario.

        Raises:
            KeyError: the release has no scenario of this name.
        """
        if release == FIRST:
            return of_first(category_of(name))[name]
        stored = self._stored(release)[name]
        copy = _copy(stored)
        if copy is None:
            return stored
        scenario = msgspec.json.decode(self.line(copy.as_, name))
        for place, value in copy.but:
            _put(scenario, place, value)
        return encode(scenario | {"release": release})

    def _read(self, release: str) -> dict[str, bytes]:
        with lzma.open(self.scenarios_file(release)) as opened:
            return by_name(opened)


STORE: Final = ReleaseStore(recordings.DATA)
"""The releases that are tested here."""


@lru_cache(maxsize=2)
def of_first(category: str) -> dict[str, bytes]:
    """The lines of v1.32 by the names of their scenarios; none of categories that it lacks."""
    return by_name(recordings.lines(category)) if category in recordings.COUNTS else {}


def by_name(lines: Iterable[bytes]) -> dict[str, bytes]:
    """Lines by the names of their scenarios, in their order."""
    return {msgspec.json.decode(each, type=_Named).name: each for each in lines}


def encode(scenario: dict[str, Any]) -> bytes:
    """The line of a scenario as recorders write it: members in order, no spaces."""
    return msgspec.json.encode(scenario, order="deterministic") + b"\n"


def hash_of(line: bytes) -> str:
    """The first 64 bits of its SHA-256: no line is altered by mistake and keeps them."""
    return hashlib.sha256(line).hexdigest()[:16]


def category_of(name: str) -> str:
    """The kind of scenario, with which its name begins."""
    return name.partition("-")[0]


def _put(scenario: Any, place: Place, value: Any) -> None:
    for key in place[:-1]:
        scenario = scenario[key]
    scenario[place[-1]] = value


def _copy(stored: bytes) -> Copy | None:
    return msgspec.json.decode(stored, type=Copy) if stored.startswith(b'{"as"') else None
