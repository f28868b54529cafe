"""The command ``numalet``: its subcommands, and every way of ending.

Exit status: 0 success, 1 a negative answer (a pod rejected, a scenario failed), 2 the input is
unusable or too large for the memory, 3 a bug.
"""

from __future__ import annotations

import errno
import functools
import gc
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import typer

from numalet import __version__
from numalet.cli import command_line, output, streams
from numalet.cli.helping import Command, Commands, with_line_breaks
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding
from numalet.io.findings import documents

EXIT_UNUSABLE: Final = 2
EXIT_BUG: Final = 3
EXIT_INTERRUPTED: Final = 130

_YOUNG: Final = 50_000
"""Number of new objects that triggers a garbage collection."""

# Typer brings its own copy of click or uses the installed one, depending on its release; the
# base class of its public BadParameter is the usage error of whichever it is.
_USAGE_ERROR: Final[Any] = typer.BadParameter.__mro__[1]

# Imports of the packages of the extras `agent` and `cluster`.
_OF_THE_EXTRA: Final = frozenset(
    {
        *("structlog", "prometheus_client", "watchfiles", "grpc", "google", "aiohttp", "xxhash"),
        *("jsonpatch", "cryptography", "fnv_hash_fast", "aiohttp_socks"),
    }
)

_NOT_MAPPED: Final = "failed to map segment"
"""The loader's error if it lacks memory for a library."""

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

Exit status: 0 success, 1 the answer is no (a pod was rejected, a scenario failed),
2 invalid input, 3 a bug. See also 'numalet COMMAND --help'.
"""

_OFFLINE: Final = "Decide, without touching anything"
_CLUSTER: Final = "Work with a cluster"
_KUBELET: Final = "Maintain a kubelet"
_WITHOUT: Final = "Run pinned programs without Kubernetes"
_LAB: Final = "Try it"

_COMMANDS: Final = (
    (_OFFLINE, "machine", "Show the NUMA nodes of a machine."),
    (_OFFLINE, "simulate", "Decide on pods as the kubelet would."),
    (_OFFLINE, "explain", "Explain why a pod is rejected, and what would admit it."),
    (_OFFLINE, "what-if", "Compare policies and machines on the same pods."),
    (_OFFLINE, "replay", "Compare recorded decisions with numalet's."),
    (_KUBELET, "check", "Validate a kubelet configuration, its machine and pods."),
    (_KUBELET, "reserve", "Compute a valid reservedMemory."),
    (_KUBELET, "state", "Inspect, verify and repair state files."),
    (_KUBELET, "podresources", "Show the allocations on a node."),
    (_KUBELET, "publish", "Publish the free resources of a node for schedulers and fleet."),
    (_KUBELET, "nri", "Pin containers through the container runtime."),
    (_CLUSTER, "fleet", "Show what fits in a cluster, on which nodes, and why not."),
    (_CLUSTER, "extender", "Tell a scheduler what each kubelet would say."),
    (_CLUSTER, "breaker", "End storms of pods that kubelets reject again and again."),
    (_CLUSTER, "doctor", "Diagnose a cluster, and print fixes."),
    (_WITHOUT, "run", "Run a command on its own CPUs and NUMA nodes."),
    (_WITHOUT, "agent", "Run the node agent: admit, start and pin pods."),
    (_WITHOUT, "apply", "Submit pods to an agent."),
    (_WITHOUT, "ps", "List the pods of an agent, and where they are."),
    (_WITHOUT, "describe", "Show everything about one pod."),
    (_WITHOUT, "logs", "Print the output of a container."),
    (_WITHOUT, "dashboard", "Show a node in a browser."),
    (_WITHOUT, "top", "Show the node and its pods, live."),
    (_WITHOUT, "delete", "Delete pods."),
    (_LAB, "lab", "Run commands on machines with NUMA nodes."),
    (_LAB, "hollow", "Be nodes of a cluster that do not exist, and decide on pods."),
    (_LAB, "sample-device-plugin", "Offer simulated devices to a node."),
)


@functools.cache
def app(only: str = "") -> typer.Typer:
    """Return the application with all commands, or with one.

    A command line needs one of them, and importing the others takes longer than many commands.
    """
    made = typer.Typer(
        name="numalet",
        cls=Commands,
        help="The kubelet's NUMA resource managers: predict and explain the decisions of a node.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=with_line_breaks(_EPILOG),
    )
    made.callback(invoke_without_command=True)(_numalet)
    for panel, name, short_help in _COMMANDS:
        if only in ("", name):
            _add(made, panel, name, short_help)
    return made


def _add(to: typer.Typer, panel: str, name: str, short_help: str) -> None:
    """Add the command or group of commands from the module of its name."""
    identifier = name.replace("-", "_")
    module = importlib.import_module(f"numalet.cli.{identifier}")
    group = getattr(module, f"{name}_app", None)
    if group is not None:
        to.add_typer(group, name=name, short_help=short_help, rich_help_panel=panel)
        return
    to.command(
        name,
        cls=getattr(module, "RunCommand", Command),
        epilog=with_line_breaks(module.EPILOG),
        short_help=short_help,
        rich_help_panel=panel,
    )(getattr(module, identifier))


def _show_version(wanted: bool) -> None:
    if wanted:
        output.print_line(f"numalet {__version__}")
        raise typer.Exit


def _numalet(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """The kubelet's NUMA resource managers: predict and explain the decisions of a node."""
    if context.invoked_subcommand is None:
        output.print_line(context.get_help())


@functools.cache
def commands(only: str = "") -> Callable[..., Any]:
    """Return all commands, or one; cached because building takes longer than most commands."""
    made: Callable[..., Any] = typer.main.get_command(app(only))
    return made


def _wanted(arguments: Sequence[str] | None) -> str:
    """Return the command at the start of a command line; empty if all may answer."""
    given = sys.argv[1:] if arguments is None else arguments
    first = given[0] if given and _COMPLETION not in os.environ else ""
    return first if any(name == first for _, name, _ in _COMMANDS) else ""


def run(arguments: list[str] | None = None) -> int:
    """Run one command line; return the exit status."""
    streams.prepare()
    try:
        with command_line.running(arguments):
            command = commands(_wanted(arguments))
            # ``__main__`` disabled it for the imports.
            if not gc.isenabled():
                _collect_garbage_seldom()
            status = command(args=arguments, standalone_mode=False, prog_name="numalet")
        sys.stdout.flush()
    except _USAGE_ERROR as error:
        shown = io.StringIO()
        error.show(shown)
        output.say(shown.getvalue().rstrip())
        _print_document([input_error.Invalid(error.format_message())], arguments)
        return EXIT_UNUSABLE
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except SystemExit as ended:
        # Typer exits like this after printing a completion.
        return int(ended.code or 0)
    except BrokenPipeError:
        # Only a command that follows something raises this.
        return 0
    except BadInput as bad:
        return _unusable(bad, arguments)
    except MemoryError:
        return _out_of_memory()
    except OSError as error:
        # A lack of memory may appear as an error of any system call.
        if error.errno == errno.ENOMEM:
            return _out_of_memory()
        unusable = documents.unusable_path(error)
        if unusable is not None:
            return _unusable(unusable, arguments)
        # Without a file name it is the standard output that is full.
        if error.errno != errno.ENOSPC or error.filename is not None:
            return _bug()
        _turn_away_output()
        return _unusable(
            BadInput([input_error.Unwritable(f"cannot write the output: {error.strerror}")])
        )
    except ModuleNotFoundError as missing:
        return _missing(missing, arguments)
    except Exception as error:
        if isinstance(error, ImportError) and _NOT_MAPPED in str(error):
            return _out_of_memory()
        return _bug()
    return status if isinstance(status, int) else 0


def _collect_garbage_seldom() -> None:
    """Enable garbage collection, which ``__main__`` disabled: rarely, not for loaded modules.

    A short command creates little except modules. Servers with many objects have other rules.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
    gc.enable()


def _unusable(bad: BadInput, arguments: list[str] | None = None) -> int:
    output.show_findings(bad.findings)
    _print_document(bad.findings, arguments)
    return EXIT_UNUSABLE


def _print_document(findings: Sequence[Finding], arguments: list[str] | None) -> None:
    """Print findings for a program too, if the command line requests a document."""
    asked = output.asked_format(sys.argv[1:] if arguments is None else arguments)
    if asked is not None:
        from numalet.insight.output import findings_document

        output.print_document(findings_document.of(findings), asked)
        sys.stdout.flush()


def _missing(error: ModuleNotFoundError, arguments: list[str] | None) -> int:
    """Report a missing package of an extra, which is not a bug."""
    module = (error.name or "").partition(".")[0]
    # Only a missing extra has a remedy; any other missing module is a bug.
    if module not in _OF_THE_EXTRA:
        return _bug()
    return _unusable(
        BadInput(
            [
                input_error.Unavailable(
                    f"this command needs the package {module!r}; in a clone of the numalet "
                    "repository, run: pip install '.[agent,cluster]'"
                )
            ]
        ),
        arguments,
    )


def _out_of_memory() -> int:
    """Report it: neither a bug nor a finding with a place."""
    output.say("error: out of memory; raise the limit (ulimit -v), or give less input")
    return EXIT_UNUSABLE


def _bug() -> int:
    import traceback

    output.say(traceback.format_exc().rstrip())
    output.say(f"numalet {__version__}: this is a bug; please report the lines above")
    return EXIT_BUG


def _turn_away_output() -> None:
    """Discard further output: the buffered rest would fail again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
