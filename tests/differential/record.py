"""Record what a kubelet release decides in the known scenarios, and compare.

    PYTHONPATH=tests .venv/bin/python -m differential.record 1.37.2

takes the scenarios of the newest stored release, writes the lines of the given one into ``build``,
and prints the differences to the release before it by kind, with one example of each. The changes
of its feature gates go into a file beside the lines. If the given
release is stored already, the new lines are compared with the stored ones too: these must agree.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from differential import gates, kinds, oracle_program
from numalet.core.config.releases import table
from oracles import recordings
from oracles.release_recordings import FIRST, STORE, by_name, category_of

_CHANCE: Final = frozenset({"device-10045", "mixed-10294", "devnodes-10972", "podlevel-15030"})
"""Scenarios in which recorded fields depend on chance without being marked."""


def number_of(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def inputs(of: str) -> Mapping[str, bytes]:
    """Return the lines of the newest stored release; of the given one, if it is stored."""
    stored = list(STORE.contents())
    chosen = of if of in stored else stored[-1]
    return by_name(STORE.lines(chosen))


def stored_lines(release: str) -> Mapping[str, bytes]:
    if release != FIRST:
        return by_name(STORE.lines(release))
    names = (name for name in recordings.COUNTS if name != "windows")
    return by_name(line for name in names for line in recordings.lines(name))


def before(release: str) -> str:
    """Return the stored release that precedes the given one."""
    older = [each for each in STORE.contents() if number_of(each) < number_of(release)]
    return max(older, key=number_of, default=FIRST)


def _given(files: Iterable[Path]) -> Iterator[bytes]:
    for file in files:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            yield from opened


def compare(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Iterator[tuple[str, str, str]]:
    """Yield name, kind and text of every scenario whose outcome differs."""
    for name, line in new.items():
        if name in old:
            found = kinds.most_important(_expect(old[name]), _expect(line))
            if found is not None:
                yield name, *found


def _expect(line: bytes) -> dict[str, Any]:
    expect: dict[str, Any] = msgspec.json.decode(line)["expect"]
    return expect


def _is_of(line: bytes, release: str) -> bool:
    return bool(msgspec.json.decode(line).get("release") == release)


def report(title: str, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> int:
    """Print the differences by kind, and return how many scenarios differ for no known chance."""
    found = list(compare(old, new))
    shared = old.keys() & new.keys()
    print(f"{title}: {len(shared) - len(found)} of {len(shared)} scenarios agree")
    for kind in kinds.ORDER:
        of_kind = [(name, text) for name, each, text in found if each == kind]
        if of_kind:
            by_category = Counter(category_of(name) for name, _ in of_kind)
            listed = ", ".join(f"{category} {count}" for category, count in by_category.items())
            name, text = of_kind[0]
            print(f"  {kind}: {len(of_kind)} ({listed})\n    for example {name}, {text}")
    return sum(name not in _CHANCE for name, _, _ in found)


def write_gates(oracle: oracle_program.Oracle, older: str, folder: Path) -> None:
    """Write the gates that differ from an older release, as ``v1_NN.py`` has them."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"gates-{oracle.release}.py"
    kubelets = gates.of_kubelet(oracle)
    file.write_text(gates.source(table.of_name(older).gates, kubelets) + "\n")
    print(f"{file}: the feature gates that differ from {older}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", help="version of Kubernetes, such as 1.37.2")
    parser.add_argument("--into", type=Path, default=Path("build"))
    parser.add_argument(
        "--inputs", type=Path, nargs="+", help="scenario files in place of the stored ones"
    )
    arguments = parser.parse_args()
    release = oracle_program.release_of(arguments.version)
    older = before(release)
    given = by_name(_given(arguments.inputs)) if arguments.inputs else inputs(release)
    try:
        oracle = oracle_program.build(arguments.version)
        write_gates(oracle, older, arguments.into)
        recorded = oracle.record_lines(b"".join(given.values()), "-keep-marks")
    except oracle_program.OracleFailedError as error:
        print(f"cannot record: {error}", file=sys.stderr)
        return 2
    file = arguments.into / f"vectors-{release}.jsonl.gz"
    file.write_bytes(gzip.compress(b"".join(recorded.lines.values()), mtime=0))
    print(f"{file}: {len(recorded.lines)} scenarios of {arguments.version}")
    for name, cause in recorded.left_out.items():
        print(f"  left out: {name}: {cause}")
    report(f"compared with {older}", stored_lines(older), recorded.lines)
    known = {name: line for name, line in given.items() if _is_of(line, release)}
    if not known:
        return 0
    return 1 if report(f"compared with the records of {release}", known, recorded.lines) else 0


if __name__ == "__main__":
    sys.exit(main())
