"""The formats of ``docs/reference/kubelet-files.md``; as a program it writes them into the page.

``python -m numalet.insight.output.formats_page FILE`` puts the formats between their marks. All
facts are rows of ``io.documents.vendor_table``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from numalet.io.documents import config_parts, vendor_table
from numalet.io.documents.vendor_format import VendorFormat

_MARK: Final = re.compile(r"(<!-- table: formats -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    sections = "".join(map(_section, vendor_table.FORMATS))
    return _MARK.sub(lambda mark: mark[1] + sections + mark[2], page)


def _section(of: VendorFormat) -> str:
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
    shown = (f"- {name}: {', '.join(each)}\n" for name, each in facts.items() if each)
    return f"### {of.name}\n\n{''.join(shown)}\n"


def _path(path: str) -> str:
    return f"`{path}`" if path else "the document itself"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m numalet.insight.output.formats_page FILE")
    page = Path(sys.argv[1])
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
