"""The command ``numalet``: its subcommands, and every way of ending.

Exit status: 0 fine, 1 the answer is no (a pod rejected, a scenario failed), 2 the input can not
be used, 3 a bug.
"""

from __future__ import annotations

import errno
import functools
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final

import typer

from numalet import __version__
from numalet.cli import (
    agent,
    apply,
    breaker,
    check,
    command_line,
    dashboard,
    delete,
    describe,
    doctor,
    explain,
    extender,
    fleet,
    hollow,
    lab,
    logs,
    machine,
    podresources,
    ps,
    publish,
    replay,
    reserve,
    sample_device_plugin,
    simulate,
    state,
    top,
    what_if,
)
from numalet.cli import run as run_
from numalet.cli.findings import CliUsage, FilesExtraMissing, FilesOutputUnwritable
from numalet.cli.helping import Command, Commands, with_line_breaks
from numalet.core.model.findings import BadInput, Finding

EXIT_UNUSABLE: Final = 2
EXIT_BUG: Final = 3
EXIT_INTERRUPTED: Final = 130

# Typer brings its own copy of click or uses the installed one, depending on its release; the
# base class of its public BadParameter is the usage error of whichever it is.
_USAGE_ERROR: Final[Any] = typer.BadParameter.__mro__[1]

# What the extras `agent` and `cluster` bring, by the names under which it is imported.
_OF_THE_EXTRA: Final = frozenset(
    {
        *("structlog", "prometheus_client", "watchfiles", "grpc", "google", "httpx", "xxhash"),
    }
)

_COMPLETION: Final = "_NUMALET_COMPLETE"

_EPILOG: Final = """Examples:

  numalet machine
  numalet simulate -c kubelet.yaml -m 2n16c2t --memory-per-node 64Gi pods.yaml
  numalet explain -c kubelet.yaml --after running.yaml rejected.yaml
  numalet check -c kubelet.yaml pods.yaml
  numalet state verify /var/lib/kubelet
  numalet run --cpus 8 --memory 64Gi -- ./app
  numalet agent --manifests /etc/numalet/manifests
  numalet lab run --topology 4n8c-distances -- numactl --hardware

Exit status: 0 fine, 1 the answer is no (a pod was rejected, a scenario failed),
2 the input can not be used, 3 a bug. 'numalet COMMAND --help' says more.
"""

app = typer.Typer(
    name="numalet",
    cls=Commands,
    help="The kubelet's NUMA resource managers: ask what a node would decide, and why.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=with_line_breaks(_EPILOG),
)
_OFFLINE: Final = "Decide, without touching anything"
_CLUSTER: Final = "Work with a cluster"
_KUBELET: Final = "Maintain a kubelet"
_WITHOUT: Final = "Run pinned programs without Kubernetes"
_LAB: Final = "Try it"

_COMMANDS: Final[tuple[tuple[str, ModuleType, str, str], ...]] = (
    (_OFFLINE, machine, "machine", "Show the NUMA nodes of a machine."),
    (_OFFLINE, simulate, "simulate", "Decide on pods as the kubelet would."),
    (_OFFLINE, explain, "explain", "Explain why a pod is rejected, and what would admit it."),
    (_OFFLINE, what_if, "what-if", "Compare policies and machines on the same pods."),
    (_OFFLINE, replay, "replay", "Compare recorded decisions with numalet's."),
    (_KUBELET, check, "check", "Say whether a kubelet would start, and what is wrong."),
    (_KUBELET, reserve, "reserve", "Compute a valid reservedMemory."),
    (_KUBELET, state, "state", "Inspect, verify and repair state files."),
    (_KUBELET, podresources, "podresources", "Show who holds what on a node."),
    (_KUBELET, publish, "publish", "Publish what a node has free, for schedulers and fleet."),
    (_CLUSTER, fleet, "fleet", "Say over a whole cluster what fits, where, and why not."),
    (_CLUSTER, extender, "extender", "Tell a scheduler what each kubelet would say."),
    (_CLUSTER, breaker, "breaker", "End storms of pods that kubelets reject again and again."),
    (_CLUSTER, doctor, "doctor", "Say what a cluster lacks, and print the mend."),
    (_WITHOUT, run_, "run", "Run a command on its own CPUs and NUMA nodes."),
    (_WITHOUT, agent, "agent", "Run the node agent: admit, start and pin pods."),
    (_WITHOUT, apply, "apply", "Submit pods to an agent."),
    (_WITHOUT, ps, "ps", "List the pods of an agent, and where they are."),
    (_WITHOUT, describe, "describe", "Show everything about one pod."),
    (_WITHOUT, logs, "logs", "Print what a container has written."),
    (_WITHOUT, dashboard, "dashboard", "Show a node in a browser."),
    (_WITHOUT, top, "top", "Show the node and its pods, live."),
    (_WITHOUT, delete, "delete", "Delete pods."),
    (_LAB, lab, "lab", "Run commands on machines with NUMA nodes."),
    (_LAB, hollow, "hollow", "Be nodes of a cluster that do not exist, and decide on pods."),
    (_LAB, sample_device_plugin, "sample-device-plugin", "Offer simulated devices to a node."),
)
for _panel, _module, _name, _help in _COMMANDS:
    _sub = getattr(_module, f"{_name}_app", None)
    if _sub is not None:
        app.add_typer(_sub, name=_name, short_help=_help, rich_help_panel=_panel)
    else:
        app.command(
            _name,
            cls=getattr(_module, "RunCommand", Command),
            epilog=with_line_breaks(_module.EPILOG),
            short_help=_help,
            rich_help_panel=_panel,
        )(getattr(_module, _name.replace("-", "_")))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"numalet {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _numalet(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """The kubelet's NUMA resource managers: ask what a node would decide, and why."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@functools.cache
def commands() -> Callable[..., Any]:
    """All commands, made once: to make them takes longer than most of what they do."""
    made: Callable[..., Any] = typer.main.get_command(app)
    return made


def run(arguments: list[str] | None = None) -> int:
    """Run one command line; the exit status."""
    _prepare_streams()
    try:
        with command_line.running(arguments):
            status = commands()(args=arguments, standalone_mode=False, prog_name="numalet")
        sys.stdout.flush()
    except _USAGE_ERROR as error:
        error.show()
        _print_document([CliUsage(problem=error.format_message())], arguments)
        return EXIT_UNUSABLE
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except SystemExit as ended:
        # Typer ends so when it printed a completion, and when the reader of the output has
        # enough, as in `numalet ... | head`. That is no error.
        return int(ended.code or 0) if _COMPLETION in os.environ else 0
    except BrokenPipeError:
        _turn_away_output()
        return 0
    except BadInput as bad:
        return _unusable(bad, arguments)
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            return _bug()
        _turn_away_output()
        return _unusable(BadInput([FilesOutputUnwritable(error=error.strerror)]))
    except ModuleNotFoundError as missing:
        return _missing(missing, arguments)
    except Exception:
        return _bug()
    return status if isinstance(status, int) else 0


def _prepare_streams() -> None:
    """Let nothing that is printed fail for its characters, or for want of a stream."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open until the end
    for stream in (sys.stdout, sys.stderr):
        # A file name need not be text, and an output need not know every character.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _unusable(bad: BadInput, arguments: list[str] | None = None) -> int:
    from numalet.cli import output

    output.show_findings(bad.findings)
    _print_document(bad.findings, arguments)
    return EXIT_UNUSABLE


def _print_document(findings: Sequence[Finding], arguments: list[str] | None) -> None:
    """Print findings for a program too, if the command line asks for a document."""
    from numalet.cli import output

    asked = output.asked_format(sys.argv[1:] if arguments is None else arguments)
    if asked is not None:
        from numalet.insight.output import findings_document

        output.print_document(findings_document.of(findings), asked)
        sys.stdout.flush()


def _missing(error: ModuleNotFoundError, arguments: list[str] | None) -> int:
    """A package of an extra that is not installed is no bug."""
    module = (error.name or "").partition(".")[0]
    if module not in _OF_THE_EXTRA:
        return _bug()
    return _unusable(BadInput([FilesExtraMissing(module=module)]), arguments)


def _bug() -> int:
    import traceback

    traceback.print_exc()
    typer.echo(f"numalet {__version__}: this is a bug; please report the lines above", err=True)
    return EXIT_BUG


def _turn_away_output() -> None:
    """Say nothing more: what is still in the buffer would fail again at the very end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
