"""The table of ``docs/reference/kubelet-files.md``; as a program it writes it into the page.

``python -m numalet.insight.output.formats_page FILE`` puts the table between its marks. Every cell
comes from the rows of ``io.documents.vendor_table``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from numalet.io.documents import config_parts, vendor_table
from numalet.io.documents.vendor_format import VendorFormat

_MARK: Final = re.compile(r"(<!-- table: formats -->\n).*?(<!-- end -->)", re.DOTALL)
_HEADS: Final = ("document", "settings at", "the vendor also sets", "cannot be known", "source")


def filled(page: str) -> str:
    rows = [_HEADS, ["---"] * len(_HEADS), *map(_row, vendor_table.FORMATS)]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in rows)
    return _MARK.sub(lambda mark: mark[1] + table + mark[2], page)


def _row(of: VendorFormat) -> list[str]:
    sets = config_parts.shown(of.sets)
    for path, values, more in of.sets_when:
        sets += [
            f"{each} (if {path} is {' or '.join(values)})" for each in config_parts.shown(more)
        ]
    paths = [each.path or "the document itself" for each in of.settings]
    return [of.name, _code(paths), _code(sets), _code(of.unknown), of.source]


def _code(texts: Iterable[str]) -> str:
    return "<br>".join(f"`{each}`" for each in texts) or "-"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m numalet.insight.output.formats_page FILE")
    page = Path(sys.argv[1])
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
