"""The generated sections of docs/benchmarks.md, and how the machine is named there.

A section stands between two comments, ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. What is
around it is written by hand and stays.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Callable
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Put this text in place of the section. Raises ``ValueError`` if the page has none."""
    before, _, after = _parts(name, page)
    page.write_text(f"{before}\n{text.strip()}\n\n{after}")


def section(name: str, page: Path = PAGE) -> str:
    """Return the text of the section. Raises ``ValueError`` if the page has none."""
    return _parts(name, page)[1]


def _parts(name: str, page: Path) -> tuple[str, str, str]:
    """Return what is before the text of the section, the text, and what is after it."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    before, found, rest = page.read_text().partition(begin)
    text, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no section {name}")
    return before + begin, text, closed + after


def machine() -> str:
    """Processors, Python and kernel in one line, without the machine's own name."""
    return (
        f"{os.cpu_count()} CPUs ({_processor()}), Python {platform.python_version()}, "
        f"{platform.system()} {platform.release().split('-')[0]}"
    )


def load() -> str:
    """What else ran: the load of the last minute and of the last five."""
    one, five, _ = os.getloadavg()
    return f"{one:.1f} and {five:.1f}"


def _processor() -> str:
    """The model name as the kernel tells it; the architecture where it tells none."""
    told = Path("/proc/cpuinfo")
    text = told.read_text() if told.is_file() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1) if found else platform.machine()


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def command(section: str, description: str | None, measure: Callable[[], str]) -> None:
    """Measure, print, and write the section if the command line wants that."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--write", action="store_true", help="write it into docs/benchmarks.md")
    given = parser.parse_args()
    text = measure()
    print(text)
    if given.write:
        write_section(section, text)
