"""How ``--help`` of a command looks: options in groups, and examples as they were written.

A group of options is the ``rich_help_panel`` of its options; those without one are plain
"Options". The help of a command fills paragraphs anew; a paragraph that begins with a line
holding only a backspace is left as it is, which command lines among the examples need.
"""

from __future__ import annotations

from typing import Any, Final

import typer
import typer.core

_AS_WRITTEN: Final = "\b\n"
_PLAIN: Final = "Options"
_SPACING: Final = 6


def with_line_breaks(text: str) -> str:
    """The text with its indented paragraphs marked to be printed as they were written."""
    paragraphs = text.strip("\n").split("\n\n")
    return "\n\n".join(
        _AS_WRITTEN + paragraph if "\n " in f"\n{paragraph}" else paragraph
        for paragraph in paragraphs
    )


class Commands(typer.core.TyperGroup):
    """A command of commands, whose help lists them in groups: by ``rich_help_panel``, in order.

    The groups tell a story, from questions about a machine to keeping one.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            group = str(getattr(command, "rich_help_panel", None) or "Commands")
            limit = formatter.width - _SPACING - len(name)
            groups.setdefault(group, []).append((name, command.get_short_help_str(limit)))
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class Command(typer.core.TyperCommand):
    """A command whose help shows arguments by their metavar and options in groups."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [
            param.metavar or str(param.name)
            for param in self.get_params(ctx)
            if param.param_type_name == "argument"
        ]
        return [str(self.options_metavar), *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        groups: dict[str, list[tuple[str, str]]] = {_PLAIN: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if param.param_type_name == "argument":
                arguments.append((str(param.metavar), getattr(param, "help", None) or ""))
            elif record is not None:
                group = getattr(param, "rich_help_panel", None) or _PLAIN
                groups.setdefault(group, []).append(record)
        for title, records in {"Arguments": arguments, **groups}.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
