"""``numalet run`` beside an agent, with plain options: without the engine and the command line.

``run`` returns None for everything else, and ``cli.run`` does it: other options, unusual values,
mistakes, another manager of CPUs on the machine, no agent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

from numalet.agent.run import direct
from numalet.io import owner_programs
from numalet.io.agent_client import root as root_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from numalet.agent.run.direct import Finished

_AMOUNTS: Final = {"--cpus": "cpu", "--memory": "memory"}
_UNITS: Final = {"--cpus": ("", "m"), "--memory": ("Ki", "Mi", "Gi", "Ti")}
_EXIT_INTERRUPTED: Final = 130
_KUBELET_ROOT: Final = "/var/lib/kubelet"


class _Request(SimpleNamespace):
    command: Sequence[str]
    amounts: Mapping[str, str]
    root: str
    is_quiet: bool


def run(words: Sequence[str]) -> int | None:
    """Run a command; return its exit status, or None if nothing was started."""
    request = _parsed(words)
    kubelet_root = os.environ.get("NUMALET_KUBELET_ROOT") or _KUBELET_ROOT
    if (
        request is None
        # A new file would become a missing standard stream of the command.
        or None in (sys.stdin, sys.stdout, sys.stderr)
        # Only errors are shown then, and these managers are worth a note.
        or owner_programs.may_be_near(kubelet_root, only_kubelets=request.is_quiet)
    ):
        return None

    def report(place: Mapping[str, Any]) -> None:
        if not request.is_quiet:
            _report(place)

    try:
        finished = direct.run(request.root, request.amounts, request.command, report)
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    if finished is None:
        return None
    ended = finished.ended
    if ended.not_started is None and ended.limit_hits is None:
        return ended.status
    return _explained(finished)


def _parsed(words: Sequence[str]) -> _Request | None:
    """The request, if every option is one of the few that are read here, in its plain form."""
    given: dict[str, str] = {}
    amounts: dict[str, str] = {}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        name, equals, value = words[at].partition("=")
        at += 1
        if name in ("-q", "--quiet"):
            name, value = "-q", ""
        elif not equals:
            value = words[at] if at < len(words) else ""
            at += 1
        if name in given:
            return None
        given[name] = value
        if name in _AMOUNTS:
            number = value.rstrip("mKMGTi")
            unit = value.removeprefix(number)
            is_plain = number.isascii() and number.isdecimal() and int(number) > 0
            if not is_plain or unit not in _UNITS[name]:
                return None
            amounts[_AMOUNTS[name]] = value
        elif name == "--root":
            if not value:
                return None
        elif name != "-q" or equals:
            return None
    command = words[at + 1 :] if "--" in words[at : at + 1] else words[at:]
    if not command or "--cpus" not in given:
        return None
    root = given.get("--root") or root_folder.default()
    return _Request(
        command=command, amounts=amounts, root=os.path.abspath(root), is_quiet="-q" in given
    )


def _report(place: Mapping[str, Any]) -> None:
    """Print where the command runs, as ``cli.output`` does."""
    text = f"note: {place['note']}"
    is_screen = os.isatty(2)
    if (
        # Ids of devices are texts of others.
        text.isprintable()
        and os.geteuid() == 0
        and _cpus(place) <= os.sched_getaffinity(0)
        and not (is_screen and len(text) > os.get_terminal_size(2).columns - 2)
    ):
        if is_screen:
            from numalet.io import terminals

            if terminals.has_styles():
                text = text.replace("note", "\x1b[36m\x1b[1mnote\x1b[0m", 1)
        # As everywhere, a closed reader does not end the command.
        try:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        return
    from numalet.agent.run import placement_notes
    from numalet.cli import output
    from numalet.insight.output import run_document

    output.show_findings(placement_notes.held(run_document.decode(place)))


def _cpus(place: Mapping[str, Any]) -> set[int]:
    """The CPUs of a list such as ``0-3,8``, exclusive or shared."""
    cpus: set[int] = set()
    for part in (place["cpus"] or place["shared_cpus"]).split(","):
        first, _, last = part.partition("-")
        if first:
            cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def _explained(finished: Finished) -> int:
    """Print why the command did not start or was killed; return the exit status."""
    from numalet.agent.run import program
    from numalet.cli import output

    outcome = program.outcome(finished.ended, finished.ready, finished.place["numa_nodes"])
    if outcome.finding is not None:
        output.show_findings([outcome.finding])
    return outcome.status
