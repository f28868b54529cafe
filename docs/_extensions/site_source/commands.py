"""A page for every command, from the tree of commands itself: usage, options, examples."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import typer

from numalet.cli import main
from site_source import markdown

_AS_WRITTEN: Final = "\b\n"


def pages() -> Mapping[str, str]:
    """Pages by the name of their command, in the order of ``numalet --help``."""
    root: Any = typer.main.get_command(main.app())
    context = root.make_context("numalet", [], resilient_parsing=True)
    return {
        name: "\n".join(_page(root.get_command(context, name), name, context, 1))
        for name in root.list_commands(context)
    }


def made() -> str:
    """The list of commands in their groups, with a line about each."""
    root: Any = typer.main.get_command(main.app())
    context = root.make_context("numalet", [], resilient_parsing=True)
    named = [(name, root.get_command(context, name)) for name in root.list_commands(context)]
    groups: dict[str, list[tuple[str, Any]]] = {}
    for name, each in named:
        groups.setdefault(str(getattr(each, "rich_help_panel", None) or "Others"), []).append(
            (name, each)
        )
    parts = []
    for title, members in groups.items():
        parts.append(f"## {title}\n")
        rows = [
            [f"[`numalet {name}`](commands/{name}.md)", markdown.escaped(_short(each))]
            for name, each in members
        ]
        parts.append(markdown.table(("Command", "What it does"), rows))
    listed = "\n".join(f"commands/{name}" for name, _ in named)
    return "\n".join([*parts, markdown.block(":hidden:\n\n" + listed, "{toctree}")])


def _short(command: Any) -> str:
    return str(command.get_short_help_str(200))


def _page(command: Any, name: str, parent: Any, level: int) -> Iterator[str]:
    context = type(parent)(command, info_name=name, parent=parent)
    yield f"{'#' * level} {context.command_path}\n"
    yield from _paragraphs(command.help or "")
    usage = [context.command_path, *command.collect_usage_pieces(context)]
    yield markdown.block(" ".join(usage), "text")
    yield from _parameters(command, context)
    yield from _paragraphs(command.epilog or "")
    for below in getattr(command, "commands", {}):
        yield from _page(command.commands[below], below, context, level + 1)


def _parameters(command: Any, context: Any) -> Iterator[str]:
    shown = [
        (_panel(each), record)
        for each in command.get_params(context)
        if (record := each.get_help_record(context)) and "--help" not in record[0]
    ]
    order = {panel: at for at, (panel, _) in reversed(list(enumerate(shown)))}
    shown.sort(key=lambda each: order[each[0]])
    for panel, records in itertools.groupby(shown, lambda each: each[0]):
        yield f"**{markdown.escaped(panel)}**\n"
        for _, (names, text) in records:
            yield f"`{names}`\n: {markdown.escaped(text) or 'see above'}\n"


def _panel(parameter: Any) -> str:
    plain = "Arguments" if parameter.param_type_name == "argument" else "Options"
    return str(getattr(parameter, "rich_help_panel", None) or plain)


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs as Markdown; those with indented lines are blocks as they were written."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.startswith(_AS_WRITTEN):
            lines = [line.removeprefix("  ") for line in paragraph[len(_AS_WRITTEN) :].split("\n")]
            yield markdown.block("\n".join(lines), "text")
        elif paragraph:
            yield f"{markdown.escaped(paragraph)}\n"
