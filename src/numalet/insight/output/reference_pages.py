"""The generated parts of the pages in ``docs/reference``; as a program it writes them.

``python -m numalet.insight.output.reference_pages FILE...`` puts each part between its marks. The
facts come from ``core.config.releases`` and ``io.documents.vendor_table``. Long facts are lists,
because a table would be too wide.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from numalet.core.config.releases.release import Gate, Maturity, Release, ReleaseRules
from numalet.core.config.releases.rule import Rule
from numalet.core.config.releases.table import RELEASES
from numalet.insight.upgrade.gates import deciding, standing
from numalet.io.documents.kubelet import config_parts, vendor_table
from numalet.io.documents.kubelet.vendor_format import VendorFormat

_MARK: Final = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def tables() -> Mapping[str, str]:
    """Return the parts in Markdown, by their marks."""
    return {
        "rules": _rules(),
        "options": _options(),
        "gates": _gates(),
        "others": _other_gates(),
        "formats": _formats(),
    }


def filled(page: str) -> str:
    by_mark = tables()
    return _MARK.sub(lambda mark: f"{mark[1]}{by_mark[mark[2]]}{mark[3]}", page)


def _rules() -> str:
    return "".join(_rule(rule) for rule in ReleaseRules.stated.values())


def _rule(rule: Rule) -> str:
    facts = [
        f"Releases: {_held(rule.name)}.",
        f"Kubelet: {_listed(rule.kubelet.split(', '))}.",
        f"Test: `{rule.test}`.",
    ]
    return f"### `{rule.name}`\n\n{rule.sentence}\n\n{_list(facts)}"


def _held(name: str) -> str:
    """Return the releases that have a rule, those with the same gates as one range."""
    ranges = []
    for gates, run in itertools.groupby(RELEASES, lambda release: _gates_of(release, name)):
        names = [release.name for release in run]
        if gates is not None:
            shown = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
            ranges.append(f"{shown} {gates}".strip())
    return "; ".join(ranges)


def _gates_of(release: Release, name: str) -> str | None:
    """Return the gates that a rule needs in a release, or None if the release lacks the rule."""
    when = release.rules.get(name)
    if when is None:
        return None
    on = [f"`{gate}`{_by_default(release, gate, wanted=True)}" for gate in when.on]
    off = [f"`{gate}`{_by_default(release, gate, wanted=False)}" for gate in when.off]
    parts = (f"{word} {', '.join(each)}" for word, each in (("with", on), ("without", off)) if each)
    return " and ".join(parts)


def _by_default(release: Release, name: str, *, wanted: bool) -> str:
    gate = release.gates.get(name)
    is_on = gate is not None and gate.is_on
    return " (default)" if is_on is wanted else ""


def _options() -> str:
    rows = [*_option_rows("CPU Manager", lambda release: release.cpu_options)]
    rows += _option_rows("Topology Manager", lambda release: release.topology_options)
    return _table(["option", "of", *_names()], rows)


def _option_rows(
    manager: str, options: Callable[[Release], Mapping[str, Maturity]]
) -> Iterator[list[str]]:
    # A dictionary instead of a set, to keep the order of the releases.
    for name in dict.fromkeys(name for release in RELEASES for name in options(release)):
        yield [f"`{name}`", manager, *(_level(options(each).get(name)) for each in RELEASES)]


def _level(maturity: Maturity | None) -> str:
    return "" if maturity is None else maturity.value.lower()


def _gates() -> str:
    """Return the gates that decide something here, in every release."""
    return _table(
        ["gate", *_names(), "needs"],
        [
            [f"`{name}`", *(_standing(each, name) for each in RELEASES), _needs(name)]
            for name in deciding()
        ],
    )


def _standing(release: Release, name: str) -> str:
    gate = release.gates.get(name)
    return "" if gate is None else standing(gate)


def _needs(name: str) -> str:
    gate = RELEASES[-1].gates.get(name)
    return "" if gate is None else ", ".join(f"`{each}`" for each in gate.needs)


def _other_gates() -> str:
    """Return the changes of gates that only decide whether the kubelet starts."""
    sections = []
    for before, after in itertools.pairwise(RELEASES):
        shown_above = {*deciding()}
        mine, earlier = _without(after.gates, shown_above), _without(before.gates, shown_above)
        changed = (
            name
            for name in mine.keys() & earlier.keys()
            if (mine[name].is_on, mine[name].is_locked)
            != (earlier[name].is_on, earlier[name].is_locked)
        )
        facts = [
            f"New: {_listed(sorted(mine.keys() - earlier.keys()))}.",
            f"Removed: {_listed(sorted(earlier.keys() - mine.keys()))}.",
            f"Another default, or locked: {_listed(sorted(changed))}.",
        ]
        sections.append(f"### Changes in {after.name}\n\n{_list(facts)}")
    return "".join(sections)


def _formats() -> str:
    """Return the documents of vendors that contain a kubelet configuration."""
    return "".join(map(_format, vendor_table.FORMATS))


def _format(of: VendorFormat) -> str:
    sets = [f"`{each}`" for each in config_parts.shown(of.sets)]
    for path, values, more in of.sets_when:
        condition = f"if `{path}` is {' or '.join(values)}"
        sets += [f"`{each}` ({condition})" for each in config_parts.shown(more)]
    facts = {
        "Settings at": [
            f"`{each.path}`" if each.path else "the document itself" for each in of.settings
        ],
        "The vendor also sets": sets,
        "Not in the document": [f"`{each}`" for each in of.unknown],
        "Source": [of.source],
    }
    return f"### {of.name}\n\n" + _list(
        f"{name}: {', '.join(each)}" for name, each in facts.items() if each
    )


def _without(gates: Mapping[str, Gate], names: set[str]) -> dict[str, Gate]:
    return {name: gate for name, gate in gates.items() if name not in names}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _list(facts: Iterable[str]) -> str:
    return "".join(f"- {fact}\n" for fact in facts) + "\n"


def _names() -> list[str]:
    return [release.name for release in RELEASES]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m numalet.insight.output.reference_pages FILE...")
    for page in map(Path, sys.argv[1:]):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
