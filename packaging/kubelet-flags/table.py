"""Make the table of kubelet flags out of what the kubelets of all releases print.

    table.py FOLDER/1.32.13/flags.json FOLDER/1.33.13/flags.json ...

A word of the table is ``name:type:default``; before it ``1.32-1.33!`` says which releases have the
flag, if not all of them do. A flag that has changed is as the last of them has it.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

TABLE = Path(__file__).parents[2] / "src/numalet/core/config/releases/flag_table.py"
BEGIN, END = '_TABLE: Final = """\n', '"""\n'
SWITCHES, SHORTHANDS = ("bool", "version"), {"v": "v", "help": "h"}


def main(paths: list[str]) -> None:
    """Write the table."""
    releases: dict[str, dict[str, dict[str, str]]] = {}
    for path in map(Path, paths):
        release = ".".join(path.parent.name.split(".")[:2])
        releases[release] = json.loads(path.read_text())
    words = []
    for name in sorted({name for flags in releases.values() for name in flags}):
        having = [release for release, flags in releases.items() if name in flags]
        flag = releases[having[-1]][name]
        _check(name, flag)
        span = "" if len(having) == len(releases) else f"{having[0]}-{having[-1]}!"
        words.append(f"{span}{name}:{flag['type']}:{flag['default']}")
    text = TABLE.read_text()
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END, begin)
    lines = textwrap.wrap(" ".join(words), 98, break_long_words=False, break_on_hyphens=False)
    TABLE.write_text(text[:begin] + "\n".join(lines) + "\n" + text[end:])


def _check(name: str, flag: dict[str, str]) -> None:
    """Refuse what the table cannot express: then it needs another form."""
    assert not {" ", "\\", "!"}.intersection(flag["type"] + flag["default"]), (name, flag)
    assert flag.get("noOption") == ("true" if flag["type"] in SWITCHES else None), (name, flag)
    assert flag.get("shorthand", "") == SHORTHANDS.get(name, ""), (name, flag)


if __name__ == "__main__":
    main(sys.argv[1:])
