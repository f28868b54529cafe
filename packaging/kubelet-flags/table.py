"""Make the table of kubelet flags out of what the kubelets of all releases print.

    table.py FOLDER/1.32.13/flags.json FOLDER/1.33.13/flags.json ...

A line of the table has the releases that have the flag, its name, its type, its value without
``=`` (``-`` if it needs one), its shorthand (``-`` without) and its default in JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TABLE = Path(__file__).parents[2] / "src/numalet/core/config/releases/flag_table.py"
BEGIN, END = '_TABLE: Final = r"""\n', '"""\n'


def main(paths: list[str]) -> None:
    """Write the table."""
    releases: dict[str, dict[str, dict[str, object]]] = {}
    for path in map(Path, paths):
        release = ".".join(path.parent.name.split(".")[:2])
        releases[release] = json.loads(path.read_text())
    lines = []
    for name in sorted({name for flags in releases.values() for name in flags}):
        having = {release: flags[name] for release, flags in releases.items() if name in flags}
        # From release to release a line of its own where a flag changes.
        shapes: dict[str, list[str]] = {}
        for release, flag in having.items():
            shapes.setdefault(_shape(flag), []).append(release)
        for shape, names in shapes.items():
            span = "-" if len(names) == len(releases) else f"{names[0]}-{names[-1]}"
            lines.append(f"{span} {name} {shape}\n")
    text = TABLE.read_text()
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END, begin)
    TABLE.write_text(text[:begin] + "".join(lines) + text[end:])


def _shape(flag: dict[str, object]) -> str:
    default = json.dumps(flag["default"], ensure_ascii=False)
    kind = str(flag["type"]).replace(" ", "_")
    return f"{kind} {flag.get('noOption') or '-'} {flag.get('shorthand') or '-'} {default}"


if __name__ == "__main__":
    main(sys.argv[1:])
