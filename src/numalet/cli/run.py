"""``numalet run``: one command on exclusive CPUs and NUMA nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from numalet.cli import node_options, release_options
from numalet.cli.helping import Command
from numalet.cli.output import OutputFormat
from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from numalet.insight.explain.case import Case
    from numalet.insight.output.explanation_types import Explanation
    from numalet.insight.output.run_document import RunDocument

EPILOG = """Examples:

  # eight CPUs and 64 GiB, all of one NUMA node if one has them
  numalet run --cpus 8 --memory 64Gi -- ./app --fast

  # with four huge pages of 1 GiB, and two devices
  numalet run --cpus 8 --memory 8Gi --hugepages-1Gi 4 \\
      --device example.com/gpu=2 --devices devices.yaml -- ./app

  # eight CPUs, and memory of their NUMA nodes without a promised size
  numalet run --cpus 8 -- ./app

  # where would it go?
  numalet run --cpus 8 --memory 64Gi --dry-run -- ./app
  numalet run --cpus 8 --memory 64Gi --dry-run -o json -- ./app

  # wait until it fits, at most an hour
  numalet run --cpus 8 --memory 64Gi --wait=1h -- ./app

Exit status: that of the command, 128 and the signal's number if a signal ended it; 125 there is
no place, 126 it can not be executed, 127 it was not found, 2 unusable input, 3 a bug.
"""

_FOREVER: Final = "forever"
_WAIT: Final = "--wait"
_WITHOUT_VALUE: Final = frozenset({_WAIT, "--dry-run", "--quiet", "-q", "--help", "-h"})
_TIME: Final = re.compile(r"[0-9]+(ms|s|m|h)?")
_OTHERS: Final[Mapping[str, tuple[str, str]]] = {
    "-n": ("srun", "--cpus COUNT"),
    "--ntasks": ("srun", "--cpus COUNT"),
    "--cpus-per-task": ("srun", "--cpus COUNT"),
    "--mem": ("srun", "--memory SIZE"),
    "-N": ("numactl and srun", "--cpus COUNT --memory SIZE"),
    "--cpunodebind": ("numactl", "--cpus COUNT --memory SIZE"),
    "-C": ("numactl", "--cpus COUNT"),
    "--physcpubind": ("numactl", "--cpus COUNT"),
    "-m": ("numactl", "--memory SIZE"),
    "--membind": ("numactl", "--memory SIZE"),
}
"""Options of similar programs: the program, and numalet's equivalent."""


class RunCommand(Command):
    """A command whose ``--wait`` has an optional time, and whose last words are a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.allow_interspersed_args = False
        if not ctx.resilient_parsing:
            _refuse_others(args)
        return list(super().parse_args(ctx, with_wait(args)))


def with_wait(args: list[str]) -> list[str]:
    """Add a time to a ``--wait`` without one, but not in the words of the command.

    Raises ``BadInput`` for a separate time, which would be the command.
    """
    words = list(args)
    for at in _options(args):
        if words[at] == _WAIT:
            following = words[at + 1] if at + 1 < len(words) else ""
            # ``--wait 30`` would run a command named 30.
            if _TIME.fullmatch(following):
                raise input_error.Invalid(
                    f"--wait takes its time after '='; did you mean --wait={following}?",
                    where=Location(_WAIT),
                ).bad_input()
            words[at] = f"{_WAIT}={_FOREVER}"
    return words


def _options(args: list[str]) -> Iterator[int]:
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "--":
        yield at
        at += 1 if "=" in args[at] or args[at] in _WITHOUT_VALUE else 2


def _refuse_others(args: list[str]) -> None:
    """Raise ``BadInput`` for an option of another program that has another meaning here."""
    for at in _options(args):
        name, equals, value = args[at].partition("=")
        if not name.startswith("--") and len(name) > len("-c"):
            name, value = name[:2], name[2:]
        elif not equals:
            value = args[at + 1] if at + 1 < len(args) else ""
        if name in _OTHERS:
            whose, equivalent = _OTHERS[name]
            raise input_error.NotSupported(
                f"{name} is an option of {whose}; did you mean {equivalent}? Request amounts; "
                "numalet chooses CPUs and NUMA nodes (--dry-run shows them)"
            ).bad_input()
        if name == "-c" and value.isdecimal() and not Path(value).exists():
            raise input_error.NotFound(
                f"-c names a configuration file, and {value!r} does not exist; did you mean "
                f"--cpus {value} (srun's -c)?"
            ).bad_input()


def run(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND...", help="The command and its arguments.", show_default=False
        ),
    ] = None,
    *,
    cpus: Annotated[
        str,
        typer.Option("--cpus", metavar="CPUS", help="Whole CPUs are exclusive; 1500m are shared."),
    ],
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Such as 64Gi; without it no size is reserved, and pages stay on the NUMA nodes"
            " of its CPUs.",
            show_default=False,
        ),
    ] = None,
    hugepages_1gi: Annotated[
        str | None,
        typer.Option("--hugepages-1Gi", metavar="PAGES", help="A number of pages, or a size."),
    ] = None,
    hugepages_2mi: Annotated[
        str | None,
        typer.Option("--hugepages-2Mi", metavar="PAGES", help="A number of pages, or a size."),
    ] = None,
    hugepages: Annotated[
        list[str] | None,
        typer.Option(
            "--hugepages", metavar="PAGE=PAGES", help="Pages of another size, such as 64Ki=16."
        ),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device", metavar="RESOURCE=COUNT", help="Devices of a resource; repeatable."
        ),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option("--devices", metavar="FILE", help="The devices that there are."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "-c",
            "--config",
            metavar="FILE",
            help="KubeletConfiguration; default: one that is fitted to the machine.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="POLICY",
            help="none, best-effort, restricted or single-numa-node; default: restricted.",
        ),
    ] = None,
    release: Annotated[
        str | None,
        release_options.named("Release of the kubelet to follow, such as 1.34; default: 1.32."),
    ] = None,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait", metavar="[=TIME]", help="Wait until it fits, at most this long: 30 (s), 5m."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show where it would run, and start nothing.")
    ] = False,
    output: Annotated[
        OutputFormat, typer.Option("-o", "--output", help="Output format of --dry-run.")
    ] = OutputFormat.TABLE,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            metavar="DIR",
            help="Folder of the node state; default: /var/lib/numalet, or XDG_STATE_HOME/numalet"
            " for a user other than root.",
            show_default=False,
        ),
    ] = None,
    kubelet_root: Annotated[
        Path,
        node_options.kubelet_root(
            "Root directory of a kubelet on this machine; beside one that pins, nothing is started."
        ),
    ] = node_options.KUBELET_ROOT,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Do not print where the command runs.")
    ] = False,
) -> None:
    """Reserve CPUs, memory and devices for a command, and run it there to its end."""
    from numalet.agent.run import command as running
    from numalet.agent.run import request
    from numalet.agent.run.options import RunOptions, Voice
    from numalet.cli.output import show_findings
    from numalet.core.model.findings import Severity

    if not command:
        raise input_error.Required("no command; write it after the options and '--'").bad_input()
    if output is not OutputFormat.TABLE and not dry_run:
        raise input_error.Conflict(
            "-o needs --dry-run; without it, the output is that of the command",
            where=Location("--output"),
        ).bad_input()
    pages = dict(request.parse_pairs(tuple(hugepages or ()), "--hugepages"))
    pages |= {size: text for size, text in (("1Gi", hugepages_1gi), ("2Mi", hugepages_2mi)) if text}
    asked = request.RunRequest(
        command=tuple(command),
        cpus=cpus,
        memory=memory,
        hugepages=pages,
        devices=request.parse_pairs(tuple(device or ()), "--device"),
    )
    options = RunOptions(
        request=asked,
        root=root,
        config_file=config,
        policy=policy,
        release=release,
        devices_file=devices,
        wait_seconds=_seconds(wait),
        dry_run=dry_run,
        kubelet_root=kubelet_root,
    )

    def report(finding: Finding) -> None:
        if not (quiet and finding.severity is Severity.NOTE):
            show_findings([finding])

    def explain(explanation: Explanation, by: str) -> None:
        _explain(explanation, by, command[0])

    raise typer.Exit(running.run(options, Voice(report, _explained, explain, _shown(output))))


def _shown(chosen: OutputFormat) -> Callable[[RunDocument], None] | None:
    """Return the function that prints a dry run as a document, unless as sentences."""
    from numalet.cli.output import print_document

    if chosen is OutputFormat.TABLE:
        return None
    return lambda document: print_document(document, chosen)


def _seconds(wait: str | None) -> float | None:
    from numalet.core.model import go_duration

    if wait is None or wait == _FOREVER:
        return None if wait is None else float("inf")
    if wait.isascii() and wait.isdecimal():
        return float(wait)
    where = Location(_WAIT)
    try:
        seconds = go_duration.parse_ns(wait) / go_duration.SECOND_NS
    except go_duration.DurationError as error:
        raise input_error.Invalid(
            f"invalid duration {wait!r} ({error.go_text})",
            expected="30 (seconds), 90s or 1h30m",
            where=where,
        ).bad_input() from None
    if seconds < 0:
        raise input_error.Invalid(
            f"invalid duration {wait!r} (it is negative)",
            expected="30 (seconds), 90s or 1h30m",
            where=where,
        ).bad_input()
    return seconds


def _explained(case: Case, running: int) -> Explanation:
    """Explain the rejection, and search changes that would admit the command."""
    from numalet.agent.run.options import SEARCH_SECONDS
    from numalet.cli import explain
    from numalet.insight.explain import story
    from numalet.insight.output import explanation_document

    traced = story.trace(case.node, case.pod)
    tallies = explain.searched(case, traced, SEARCH_SECONDS)
    return explanation_document.explanation(case, traced, tallies, running)


def _explain(explanation: Explanation, by: str, command: str) -> None:
    """Print the story, unless it would mix with the command's output."""
    from numalet.cli import output, run_view

    with output.aside():
        output.print_all(run_view.story(explanation, command, by_agent=by == "agent"))
