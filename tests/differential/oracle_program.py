"""The oracle: the managers of a real kubelet release, as a program that records scenarios.

``make oracle RELEASE=1.37.2`` builds it into the cache. Its source is in the folder ``oracle``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

SOURCE: Final = Path(__file__).parents[2] / "oracle"


class OracleFailedError(RuntimeError):
    """The oracle could not be built, or ended with an error."""


def cache() -> Path:
    """Return the folder in which every release has a folder of its own."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "numalet" / "oracle"


def program_file(version: str) -> Path:
    return cache() / version / "oracle"


def built_versions() -> list[str]:
    """Return the versions in the cache, such as ``1.37.2``, oldest release first."""
    found = (file.parent.name for file in cache().glob("1.*.*/oracle"))
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def release_of(version: str) -> str:
    """Return the minor release: ``1.37`` of ``1.37.2``."""
    return ".".join(version.split(".")[:2])


def build(version: str) -> Oracle:
    """Build the oracle, which takes minutes for a new release and else a second.

    Raises:
        OracleFailedError: there is no Go, or its source does not compile for this version.
    """
    if shutil.which("go") is None:
        raise OracleFailedError("the oracle is a Go program, and there is no go command")
    file = program_file(version)
    file.parent.mkdir(parents=True, exist_ok=True)
    if subprocess.run([SOURCE / "build", version, file], check=False).returncode:
        raise OracleFailedError(f"the oracle of {version} was not built; see the messages of Go")
    return Oracle(file, release_of(version))


@dataclass(frozen=True)
class Recorded:
    """What became of the scenarios of one call, by their names."""

    lines: Mapping[str, bytes]
    left_out: Mapping[str, str]
    """Why a scenario has no line: its outcome depends on chance, for example."""


@dataclass(frozen=True)
class Oracle:
    """A program that is built."""

    program: Path
    release: str

    def record(
        self,
        scenarios: Iterable[Mapping[str, Any]],
        *,
        runs: int = 1,
        device_runs: int = 8,
        failure_runs: int = 4,
    ) -> Recorded:
        """Record scenarios that all have different names."""
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in scenarios)
        counts = {"-runs": runs, "-device-runs": device_runs, "-failure-runs": failure_runs}
        flags = [part for name, count in counts.items() for part in (name, str(count))]
        return self.record_lines(lines, *flags)

    def record_lines(self, lines: bytes, *flags: str) -> Recorded:
        """Record lines, with flags of the oracle's command ``record``.

        Raises:
            OracleFailedError: the program failed, not a scenario.
        """
        command = [str(self.program), "record", *flags]
        done = subprocess.run(command, input=lines, capture_output=True, check=False)
        said = done.stderr.decode()
        if done.returncode:
            raise OracleFailedError(said)
        by_name = {
            msgspec.json.decode(line, type=_Named).name: line
            for line in done.stdout.splitlines(keepends=True)
        }
        return Recorded(by_name, dict(_left_out(said)))


class _Named(msgspec.Struct):
    name: str


def _left_out(said: str) -> Iterable[tuple[str, str]]:
    for line in said.splitlines():
        if line.startswith("left out: "):
            name, _, cause = line.removeprefix("left out: ").partition(": ")
            yield name, cause
