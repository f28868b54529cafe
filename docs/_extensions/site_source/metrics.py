"""Every metric: name, kind, labels, meaning."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from numalet.agent.publish.publisher import PublishMetrics
from numalet.agent.telemetry.metrics import DEFINITIONS, Definition
from numalet.core.config.releases.table import RELEASES
from numalet.wording.metric_help import HELP
from site_source import markdown

_HEAD: Final = ("Metric", "Kind", "Labels", "What it says")
_PAGES: Final = (
    ("The extender", "extender-metrics.md"),
    ("The breaker", "breaker-metrics.md"),
    ("A fleet", "fleet-metrics.md"),
)
_ROW: Final = re.compile(r"^\| `numalet_\w+` \|.*\|\n", re.MULTILINE)


def made(docs: Path) -> str:
    """A table for each program. Those that have a page of their own are as on that page."""
    parts = ["## The agent\n", markdown.table(_HEAD, map(_of_agent, DEFINITIONS))]
    parts += ["## The publisher\n", markdown.table(_HEAD, _of_publisher())]
    for title, name in _PAGES:
        text = (docs / "reference" / name).read_text(encoding="utf-8")
        rows = [line.strip("| \n").split(" | ") for line in _ROW.findall(text)]
        # Every metric of a fleet is a gauge, and of a breaker as its name says.
        whole = [row if len(row) == 4 else [row[0], _kind(row[0]), *row[1:]] for row in rows]
        parts += [f"## {title}\n", f"More about them: [{title.lower()}]({name}).\n"]
        parts.append(markdown.table(_HEAD, whole))
    return "\n".join(parts)


def _kind(name: str) -> str:
    return "counter" if name.strip("`").endswith("_total") else "gauge"


def _of_agent(each: Definition) -> list[str]:
    meaning = markdown.escaped(HELP[each.name])
    if each.rule:
        names = [release.name for release in RELEASES if each.rule in release.rules]
        meaning += f" In exact mode from {names[0]} on." if names else ""
    return [f"`{each.name}`", each.kind.value, _labels(each.labels), meaning]


def _of_publisher() -> list[list[str]]:
    nothing: Any = SimpleNamespace(writers=(), pods=None)
    return [
        [
            f"`{each.name}{'_total' if each.type == 'counter' else ''}`",
            each.type,
            _labels(("kind", "result") if each.type == "counter" else ("kind",)),
            markdown.escaped(each.documentation),
        ]
        for each in PublishMetrics(nothing).collect()
    ]


def _labels(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
