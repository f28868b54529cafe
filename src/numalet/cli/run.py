"""``numalet run``: one command on exclusive CPUs and NUMA nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from numalet.cli import node_options
from numalet.cli.helping import Command
from numalet.cli.options import REQUIRED, Options, argument, option, with_options
from numalet.cli.output import OutputFormat
from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from numalet.insight.explain.cases import Case
    from numalet.insight.explain.explanation_types import Explanation
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

  # threads of OpenMP bound to the CPUs, and the GPUs of their NUMA node
  numalet run --cpus 8 --env openmp,cuda -- ./app

  # one process of MPI on each NUMA node
  mpirun -np 2 --bind-to none numalet run --per-rank --cpus 8 --env openmp,mpi -- ./app

  # wait until it fits, at most an hour
  numalet run --cpus 8 --memory 64Gi --wait=1h -- ./app

Exit status: that of the command, 128 and the signal's number if a signal ended it; 125 it
does not fit, 126 it cannot be executed, 127 it was not found, 2 invalid input, 3 a bug.
"""

_FOREVER: Final = "forever"
_WAIT: Final = "--wait"
_WITHOUT_VALUE: Final = frozenset(
    {_WAIT, "--dry-run", "--quiet", "-q", "--help", "-h", "--per-rank", "--any-cpu"}
)
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


class CommandOptions(Options):
    command: list[str] = argument("The command and its arguments.", "COMMAND...")
    cpus: str = option("Whole CPUs are exclusive; 1500m are shared.", "CPUS", default=REQUIRED)
    memory: str | None = option(
        "Such as 64Gi; without it no size is reserved, and pages stay on the NUMA nodes of its"
        " CPUs.",
        "SIZE",
    )
    hugepages_1gi: str | None = option("A number of pages, or a size.", "PAGES", "--hugepages-1Gi")
    hugepages_2mi: str | None = option("A number of pages, or a size.", "PAGES", "--hugepages-2Mi")
    hugepages: list[str] = option("Pages of another size, such as 64Ki=16.", "PAGE=PAGES")
    device: list[str] = option("Devices of a resource; repeatable.", "RESOURCE=COUNT")
    devices: str | None = option("The devices that there are.", "FILE")
    config: Path | None = option(
        "KubeletConfiguration; default: one that is fitted to the machine.", "FILE", "-c"
    )
    policy: str | None = option(
        "none, best-effort, restricted or single-numa-node; default: restricted.", "POLICY"
    )
    env: list[str] = option(
        "Set the variables of openmp, cuda, mpi, or all, for this place; repeatable.", "NAME,..."
    )
    per_rank: bool = option(
        "Give each process of mpirun or srun on this machine another NUMA node, in turn."
    )
    any_cpu: bool = option("Also use CPUs outside the inherited CPU affinity.")
    release: str | None = node_options.release_option(
        "Release of the kubelet to follow, such as 1.34; default: the newest that numalet knows."
    )
    wait: str | None = option("Wait until it fits, at most this long: 30 (s), 5m.", "[=TIME]")
    dry_run: bool = option("Show where it would run, and start nothing.")
    output: OutputFormat = option(
        "Output format of --dry-run.", name="-o", default=OutputFormat.TABLE
    )
    root: Path | None = option(
        "Folder of the node state; default: /var/lib/numalet, or XDG_STATE_HOME/numalet for a user"
        " other than root.",
        "DIR",
    )
    kubelet_root: Path = node_options.kubelet_root(
        "Root directory of a kubelet on this machine; numalet run refuses to start if it pins."
    )
    quiet: bool = option("Do not print where the command runs.", name="-q")


@with_options
def run(options: CommandOptions) -> None:
    """Reserve CPUs, memory and devices for a command, and run it there to its end."""
    from numalet.agent.run import command as running
    from numalet.agent.run import request, requested_environment
    from numalet.agent.run.request import RunOptions, Voice
    from numalet.cli.output import show_findings
    from numalet.core.model.findings import Severity

    command = options.command
    if not command:
        raise input_error.Required("no command; write it after the options and '--'").bad_input()
    if options.output is not OutputFormat.TABLE and not options.dry_run:
        raise input_error.Conflict(
            "-o needs --dry-run; without it, the output is that of the command",
            where=Location("--output"),
        ).bad_input()
    pages = dict(request.parse_pairs(tuple(options.hugepages), "--hugepages"))
    usual = (("1Gi", options.hugepages_1gi), ("2Mi", options.hugepages_2mi))
    pages |= {size: text for size, text in usual if text}
    asked = request.RunRequest(
        command=tuple(command),
        cpus=options.cpus,
        memory=options.memory,
        hugepages=pages,
        devices=request.parse_pairs(tuple(options.device), "--device"),
    )
    inputs = RunOptions(
        request=asked,
        root=options.root,
        config_file=options.config,
        policy=options.policy,
        release=options.release,
        devices_file=options.devices,
        wait_seconds=_seconds(options.wait),
        dry_run=options.dry_run,
        env=requested_environment.chosen(options.env),
        per_rank=options.per_rank,
        any_cpu=options.any_cpu,
        kubelet_root=options.kubelet_root,
    )

    def report(finding: Finding) -> None:
        if not (options.quiet and finding.severity is Severity.NOTE):
            show_findings([finding])

    def explain(explanation: Explanation, by: str) -> None:
        _explain(explanation, by, command[0])

    raise typer.Exit(
        running.run(inputs, Voice(report, _explained, explain, _shown(options.output)))
    )


def _shown(chosen: OutputFormat) -> Callable[[RunDocument], None] | None:
    """Return the function that prints a dry run as a document, unless as sentences."""
    from numalet.cli.output import print_document

    if chosen is OutputFormat.TABLE:
        return None
    return lambda document: print_document(document, chosen)


def _seconds(wait: str | None) -> float | None:
    from numalet.core.model import go_text

    if wait is None or wait == _FOREVER:
        return None if wait is None else float("inf")
    if wait.isascii() and wait.isdecimal():
        return float(wait)
    where = Location(_WAIT)
    try:
        seconds = go_text.parse_duration_ns(wait) / go_text.SECOND_NS
    except go_text.DurationError as error:
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
    from numalet.agent.run.request import SEARCH_SECONDS
    from numalet.cli import explain
    from numalet.insight.explain import story
    from numalet.insight.output import explanation_document

    traced = story.trace(case)
    tallies = explain.searched(case, traced, SEARCH_SECONDS)
    return explanation_document.explanation(case, traced, tallies, running)


def _explain(explanation: Explanation, by: str, command: str) -> None:
    """Print the story, unless it would mix with the command's output."""
    from numalet.cli import output, run_view

    with output.aside():
        output.print_all(run_view.story(explanation, command, by_agent=by == "agent"))
