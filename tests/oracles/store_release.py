"""Stores what was recorded of a release, as differences to the releases before it.

    PYTHONPATH=tests .venv/bin/python -m oracles.store_release 1.37 vectors-1.37.jsonl.gz

writes ``release-1.37.jsonl.xz``, ``release-1.37.hashes.xz`` and the entry in ``releases.json`` of
``tests/conformance/data``. Every line of the file that is given is one scenario, of that release.
A release that others are stored as copies of is stored before them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import lzma
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from oracles.release_recordings import (
    FIRST,
    STORE,
    Contents,
    Copy,
    Place,
    ReleaseStore,
    by_name,
    category_of,
    encode,
    hash_of,
)

_ADDED: Final = "release"
"""The member that a scenario of a later release has, and those of v1.32 have not."""


class NotRestorableError(ValueError):
    """A line that could not be restored from what would be stored of it."""


def store(into: ReleaseStore, release: str, recorded: bytes) -> None:
    """Write the files of one release, and its entry in the table of contents.

    Raises:
        NotRestorableError: a line is no scenario of this release, has another's name, or is not
            written as recorders write.
    """
    try:
        lines = by_name(recorded.splitlines(keepends=True))
    except msgspec.DecodeError as error:
        raise NotRestorableError(f"a line is no scenario: {error}") from None
    if b"".join(lines.values()) != recorded:
        raise NotRestorableError("two scenarios have one name")
    others = [FIRST, *(each for each in into.contents() if each != release)]
    written = [_shortest(into, release, name, line, others) for name, line in lines.items()]
    hashes = "".join(f"{hash_of(line)}\n" for line in lines.values())
    into.scenarios_file(release).write_bytes(_packed(b"".join(written)))
    into.hashes_file(release).write_bytes(_packed(hashes.encode()))
    contents = into.contents()
    contents[release] = Contents(
        sha256=hashlib.sha256(recorded).hexdigest(),
        scenarios=_categories(lines),
        differing=_categories(ReleaseStore(into.folder).names_that_differ(release)),
    )
    text = msgspec.json.format(msgspec.json.encode(contents), indent=2)
    into.contents_file.write_bytes(text + b"\n")


def changes(before: Any, after: Any) -> Iterator[tuple[Place, Any]]:
    """Places of what is other or new, with the values there.

    What lost a member, or has another number of elements, is replaced as a whole.
    """
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() <= after.keys():
        for name, value in after.items():
            if name not in before:
                yield [name], value
            else:
                yield from (([name, *at], new) for at, new in changes(before[name], value))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from (([index, *at], new) for at, new in changes(*pair))
    elif type(before) is not type(after) or before != after:
        yield [], after


def _shortest(into: ReleaseStore, release: str, name: str, line: bytes, others: list[str]) -> bytes:
    """The shortest of the scenario itself and what differs from it in another release."""
    scenario = msgspec.json.decode(line)
    if scenario.get(_ADDED) != release or encode(scenario) != line:
        raise NotRestorableError(f"{name}: not of {release}, or not written as recorders write")
    del scenario[_ADDED]
    candidates = [line]
    for other in others:
        try:
            before = msgspec.json.decode(into.line(other, name))
        except KeyError:
            continue
        before.pop(_ADDED, None)
        copy = Copy(as_=other, name=name, but=[*changes(before, scenario)])
        candidates.append(msgspec.json.encode(copy) + b"\n")
        if not copy.but:
            break
    return min(candidates, key=len)


def _categories(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(map(category_of, names)).items()))


def _packed(content: bytes) -> bytes:
    return lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)


def main() -> None:
    """Store the file that the command names."""
    parser = argparse.ArgumentParser(prog="python -m oracles.store_release")
    parser.add_argument("release", help="such as 1.37")
    parser.add_argument("file", type=Path, help="recorded scenarios, one JSON object per line, .gz")
    given = parser.parse_args()
    store(STORE, given.release, gzip.decompress(given.file.read_bytes()))
    contents = STORE.contents()[given.release]
    sys.stdout.write(f"{contents.count} scenarios, SHA-256 {contents.sha256}\n")


if __name__ == "__main__":
    main()
