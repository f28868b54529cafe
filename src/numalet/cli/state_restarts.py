"""``numalet state restore-check``, ``upgrade-check``, ``rebase``: the next start of a kubelet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli.helping import Command
from numalet.cli.node_options import DeviceOptions, MachineOptions, PodChoice
from numalet.cli.options import RESULT, Options, argument, option, with_options
from numalet.cli.output import OutputFormat
from numalet.core.model.value import replace

if TYPE_CHECKING:
    from numalet.insight.state.restart_check import RestoreCheck
    from numalet.insight.usecases.state_doctor import Kubelet, PodsSeenAgain, StateSource


ROOT_DIR: Final = "/var/lib/kubelet"
"""A copy of the value in ``wording.kubelet_start``, which is imported only when needed."""
DIRECTORY: Final = "A kubelet's root directory, a copy of its state files, or one such file."

PATH: Final = argument(DIRECTORY, "[PATH]", default=Path(ROOT_DIR))
_PODS_THAT_RUN: Final = option(
    "The pods that run there: output of 'kubectl get pods -o json', or manifests. The kubelet sees"
    " them again in the order of their creation; repeatable.",
    "PATH",
    "--pods",
)
STRICT: Final = option("Treat warnings as errors.")


class RestoreCheckOptions(Options):
    path: Path = PATH
    config: Path | None = kubelet.CONFIG_FILE
    machine: MachineOptions
    pods: list[str] = _PODS_THAT_RUN
    pod_choice: PodChoice
    output: OutputFormat = RESULT
    ignore_kubelet: bool = kubelet.IGNORE_KUBELET
    flags: kubelet.KubeletFlags


class UpgradeCheckOptions(Options):
    path: Path = PATH
    before: str | None = option(
        "Release of the kubelet that wrote the files. Default: as for --release.",
        "RELEASE",
        "--from",
    )
    after: str | None = option(
        "Release of the kubelet that starts with them. Default: the newest.", "RELEASE", "--to"
    )
    pods: list[str] = _PODS_THAT_RUN
    pod_choice: PodChoice
    config: Path | None = kubelet.CONFIG_FILE
    machine: MachineOptions
    devices: DeviceOptions
    show_all: bool = option(
        "Show also the changes of rules and gates that do not affect these files and pods.",
        name="--all",
    )
    strict: bool = STRICT
    output: OutputFormat = RESULT
    ignore_kubelet: bool = kubelet.IGNORE_KUBELET
    flags: kubelet.KubeletFlags


class RebaseOptions(Options):
    path: Path = PATH
    write: bool = option(
        "Replace the files, keeping backups; or only show what would be done.",
        name="--write/--dry-run",
    )
    config: Path | None = kubelet.CONFIG_FILE
    machine: MachineOptions
    output: OutputFormat = RESULT
    ignore_kubelet: bool = kubelet.IGNORE_KUBELET
    flags: kubelet.KubeletFlags


@with_options
def restore_check(options: RestoreCheckOptions) -> None:
    """Check whether a kubelet with this configuration, on this machine, accepts the files.

    If it does not, print its error and the changes of the machine and configuration since the files
    were written. With --pods, also list the running pods that it would reject after its start.
    """
    from numalet.cli import state_view
    from numalet.insight.usecases import state_doctor

    source = state_doctor.read(options.path)
    running = state_doctor.running(options.pods, **options.pod_choice.fields())
    check = _checked(source, _kubelet(options), running)
    state_view.show_check(check, source, options.output)
    raise typer.Exit(state_view.status_of_check(check))


@with_options
def upgrade_check(options: UpgradeCheckOptions) -> None:
    """Show the effect of an upgrade or downgrade of the kubelet on its state files.

    Shows whether the new kubelet starts with them, the lost records, the running pods that it
    admits again, and whether the old kubelet would start again afterwards.
    """
    from numalet.cli import output, upgrade_view
    from numalet.core.config.releases.table import NEWEST
    from numalet.insight.usecases import state_doctor, upgrading
    from numalet.insight.usecases.checking import CheckInputs
    from numalet.io.documents.kubelet import kubelet_version

    before, after = options.before, options.after
    first = None if before is None else kubelet_version.of_name(before, "--from")
    second = NEWEST if after is None else kubelet_version.of_name(after, "--to")
    pieces = CheckInputs(
        machine=options.machine.choice(),
        config=options.flags.sources(options.config),
        pods=tuple(options.pods),
        **options.pod_choice.fields(),
        **options.devices.fields(),
        state_dir=options.path if options.path.is_dir() else None,
        uses_kubelet=not options.ignore_kubelet,
    )
    upgrade = upgrading.upgrade(pieces, second, first, files=state_doctor.read(options.path).files)
    output.show_findings(upgrade.notes)
    if options.output is OutputFormat.TABLE:
        upgrade_view.print_changes(upgrade, shows_all=options.show_all)
    else:
        upgrade_view.print_document(upgrade, options.output)
    raise typer.Exit(1 if upgrade.fails(strict=options.strict) else 0)


@with_options
def rebase(options: RebaseOptions) -> None:
    """Make state files that the kubelet accepts on this machine; allocations that fit are kept.

    Nothing is written without --write, or while a kubelet uses the directory.
    """
    from numalet.cli import state_view
    from numalet.insight.usecases import state_doctor

    if options.write:
        state_doctor.settle(options.path)
    source = state_doctor.read(options.path)
    check = _checked(source, _kubelet(options))
    if check.rebased is None:
        state_view.show_check(check, source, options.output)
        raise typer.Exit(state_view.status_of_check(check))
    written = state_doctor.replace(source, check.rebased.files) if options.write else ()
    state_view.show_rebased(check.rebased, written, options.output)
    raise typer.Exit(state_view.status_of_rebased(check.rebased))


def _kubelet(options: RestoreCheckOptions | RebaseOptions) -> Kubelet:
    """Return the kubelet that starts with the files. Raises ``BadInput``."""
    from numalet.insight.usecases import state_doctor

    config = options.flags.sources(options.config)
    uses_kubelet = not options.ignore_kubelet
    machine = options.machine.choice()
    return state_doctor.load_kubelet(machine, config, options.path, uses_kubelet=uses_kubelet)


def _checked(
    source: StateSource, asked: Kubelet, pods: PodsSeenAgain | None = None
) -> RestoreCheck:
    from numalet.cli.output import show_findings
    from numalet.insight.state import restart_check
    from numalet.insight.state.verify import missing_files

    show_findings(asked.notes)
    checked = restart_check.check(
        asked.config.config,
        asked.machine.info,
        source.files,
        asked.config.behaviour,
        *(() if pods is None else (pods.pods, pods.identity)),
    )
    if not source.path.is_dir():
        return checked
    return replace(checked, drift=(*missing_files(source.files), *checked.drift))


def register(app: typer.Typer) -> None:
    app.command(
        "restore-check",
        cls=Command,
        short_help="Check whether a kubelet would start with state files.",
        epilog=(
            "Exit status: 0 it starts, 1 it does not, or only sometimes, or a pod is lost, 2"
            " invalid input (also a configuration that no kubelet starts with), 3 a bug."
        ),
    )(restore_check)
    app.command(
        "upgrade-check",
        cls=Command,
        short_help="Predict how a kubelet of another release reads state files.",
        epilog=(
            "Exit status: 0 nothing is lost, 1 the kubelet does not start, or a pod or a record is"
            " lost (with --strict: warnings too), 2 invalid input, 3 a bug."
        ),
    )(upgrade_check)
    app.command(
        "rebase",
        cls=Command,
        short_help="Rewrite state files for the current machine.",
        epilog=(
            "Exit status: 0 all allocations are kept, 1 some are lost, 2 invalid input (also a"
            " running kubelet, and a configuration that no kubelet starts with), 3 a bug."
        ),
    )(rebase)
