"""The layout of ``--help`` of a command: options in groups, and verbatim examples.

A group of options is the ``rich_help_panel`` of its options; those without one are plain "Options".
Typer rewraps paragraphs, except those whose first line is a single backspace, which the examples
therefore begin with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import typer
import typer.core

_AS_WRITTEN: Final = "\b\n"
_PLAIN: Final = "Options"
_SPACING: Final = 6


def with_line_breaks(text: str) -> str:
    """Mark indented paragraphs as verbatim."""
    # Typer fills paragraphs; only examples are indented.
    paragraphs = text.strip("\n").split("\n\n")
    return "\n\n".join(
        _AS_WRITTEN + paragraph if "\n " in f"\n{paragraph}" else paragraph
        for paragraph in paragraphs
    )


class Commands(typer.core.TyperGroup):
    """A group of commands whose help lists them by ``rich_help_panel``, in a fixed order.

    The order of the groups leads from questions about a machine to operating one.
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


_SYNONYMS: Final = {"explain": "why", "drain": "free", "evict": "free", "rejections": "rejected"}
"""Words that users of kubectl and of other commands try, and the command that is meant."""


class CommandsWithSynonyms(typer.core.TyperGroup):
    """A group of commands that names the command that a user means with another word."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        meant = _SYNONYMS.get(args[0]) if args and args[0] not in self.commands else None
        if meant is not None and meant in self.commands:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{meant}'?")
        return super().resolve_command(ctx, args)


class Command(typer.core.TyperCommand):
    """A command whose help shows arguments by their metavar and options in groups.

    An option of one value may occur once: with a second value the intention is unclear.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            # Parse once more: the parser alone knows how often an option occurs.
            _, _, in_order = self.make_parser(ctx).parse_args(args=list(args))
            _refuse_repeated(ctx, in_order)
        return list(super().parse_args(ctx, args))

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


class CommandWithOthers(typer.core.TyperGroup):
    """A command that works by itself and has subcommands; its options may occur once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            _, _, in_order = self.make_parser(ctx).parse_args(args=list(args))
            _refuse_repeated(ctx, in_order)
        return list(super().parse_args(ctx, args))


def _refuse_repeated(ctx: Any, in_order: Sequence[Any]) -> None:
    """Raise a usage error for a repeated option with one value, or with an opposite.

    ``in_order`` has a parameter for each of its occurrences. A switch without an opposite may be
    repeated, and ``--help`` always works.
    """
    counts = Counter(param for param in in_order if param.param_type_name == "option")
    if any(param.name == "help" for param in counts):
        # Help is an answer to any command line, even a wrong one.
        return
    for param, count in counts.items():
        is_switch = param.is_flag and not param.secondary_opts
        if count > 1 and not param.multiple and not is_switch:
            names = " / ".join(f"'{name}'" for name in (*param.opts, *param.secondary_opts))
            ctx.fail(f"Option {names} is given {count} times and takes one value.")
