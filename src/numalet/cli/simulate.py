"""``numalet simulate``: predict the kubelet's decisions on these pods, on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from numalet.cli import kubelet_options as kubelet
from numalet.cli.drawing_options import PictureFiles
from numalet.cli.node_options import DeviceOptions, MachineOptions, PodChoice
from numalet.cli.options import RESULT, Options, argument, option, with_options
from numalet.cli.output import OutputFormat
from numalet.core.model import input_error

if TYPE_CHECKING:
    from numalet.insight.simulate.session import Record, Session
    from numalet.insight.usecases.simulating import Prepared, SimulateInputs
    from numalet.io.files.recording import Recording

EPILOG = """Examples:

  # a machine by its shape
  numalet simulate -c kubelet.yaml -m 2n16c2t --memory-per-node 64Gi pods.yaml

  # a captured machine, and flags of the kubelet
  numalet simulate -m node7.tar.gz --memory-manager-policy Static \\
      --topology-manager-policy restricted \\
      --reserved-memory 0:memory=100Mi pods.yaml

  # exclusive CPUs, and devices
  numalet simulate -m 2n16c2t --memory-per-node 64Gi \\
      --cpu-manager-policy static --reserved-cpus 0,32 \\
      --topology-manager-policy restricted \\
      --device example.com/gpu=gpu0@0,gpu1@1 pods.yaml

  # a built-in machine, and its GPUs
  numalet simulate -c kubelet.yaml -m profile:epyc-nps4 \\
      --devices profile:epyc-nps4 pods.yaml

  # the pods of one node of a cluster
  kubectl get pods -A -o json |
      numalet simulate -c kubelet.yaml --node-name worker-3 -

  # go on from state files, and write them
  numalet simulate -c kubelet.yaml --state-dir ./state pods.yaml -o json

  # the node after it as a page, to attach to a ticket
  numalet simulate -c kubelet.yaml -m 2n16c2t pods.yaml --html node.html

  # a scenario, which holds everything
  numalet simulate scenario.yaml

Exit status: 0 all pods admitted, 1 some rejected, 2 invalid input (also a configuration with
which the kubelet would not start), 3 a bug.
"""

FORGET: Final = option("A deleted pod in the state files; repeatable.", "UID|all")


class SimulateOptions(Options):
    pods: list[str] = argument(
        "Manifests (pods, lists, workloads; YAML or JSON), '-' for the standard input, or one"
        " scenario file.",
        "PODS...",
    )
    config: Path | None = kubelet.CONFIG_FILE
    machine: MachineOptions
    devices: DeviceOptions
    state_dir: Path | None = option(
        "Begin with the state files in DIR, and write them there at the end.", "DIR"
    )
    forget: list[str] = FORGET
    pod_choice: PodChoice
    record: Path | None = option(
        "Append the scenario with its outcome, for 'numalet replay'.", "FILE.jsonl"
    )
    output: OutputFormat = RESULT
    pictures: PictureFiles
    ignore_kubelet: bool = kubelet.IGNORE_KUBELET
    flags: kubelet.KubeletFlags


@with_options
def simulate(options: SimulateOptions) -> None:
    """Admit pods one after the other as the kubelet would, and show the node after it."""
    from numalet.insight.usecases.simulating import SimulateInputs

    pieces = SimulateInputs(
        machine=options.machine.choice(),
        config=options.flags.sources(options.config),
        pods=tuple(options.pods),
        **options.pod_choice.fields(),
        state_dir=options.state_dir,
        forget=tuple(options.forget),
        **options.devices.fields(),
        uses_kubelet=not options.ignore_kubelet,
    )
    raise typer.Exit(_run(pieces, options))


def _run(pieces: SimulateInputs, options: SimulateOptions) -> int:
    """Prepare, take the steps, write files, print; return the exit status.

    Files are written before the output, because the reader of a pipe may stop early.
    """
    from numalet.cli import output, simulate_view
    from numalet.cli.output import show_findings
    from numalet.core.config.rules import StartRefused
    from numalet.insight import decision_notes
    from numalet.insight.output import explanation_document
    from numalet.insight.simulate import simulation_document
    from numalet.insight.simulate.session import decisions
    from numalet.insight.usecases import simulating

    recording = None if options.record is None else _recording(options.record)
    prepared = simulating.prepare(pieces)
    if recording is not None:
        _check_recordable(prepared)
    show_findings((*prepared.contradictions.values(), *prepared.notes))
    if isinstance(prepared.session, StartRefused):
        if recording is not None:
            _append(recording, prepared)
        release = prepared.scenario.behaviour.release
        if options.output is not OutputFormat.TABLE:
            refused = simulation_document.not_started(prepared.session, release)
            output.print_document(refused, options.output)
        simulate_view.show_start_error(prepared.session, prepared.state_dir, release)
        return 2
    session, records = prepared.session.through(prepared.scenario.steps)
    if prepared.state_dir is not None:
        simulate_view.say_written(prepared.state_dir.write(session.node.state_files()))
    if recording is not None:
        _append(recording, prepared)
    show_findings(decision_notes.notes(decision_notes.collect(decisions(records))))
    causes = explanation_document.causes(session, decisions(records))
    if options.pictures.are_wanted:
        simulate_view.write_pictures(session, records, causes, options.pictures)
    if not options.pictures.is_on_output:
        _show(prepared, session, records, causes, options.output)
    return simulate_view.exit_status(records)


def _show(
    prepared: Prepared,
    session: Session,
    records: Sequence[Record],
    causes: Mapping[int, str],
    chosen: OutputFormat,
) -> None:
    """Print the simulation; only tables import the library that draws them."""
    from numalet.cli import output
    from numalet.insight.simulate import simulation_document

    document = simulation_document.simulation(
        session,
        records,
        causes=causes,
        running=prepared.running,
        assumed_running=prepared.assumed,
        forgotten=prepared.forgotten,
        ignored={cause.value: count for cause, count in prepared.ignored.items()},
    )
    if chosen is not OutputFormat.TABLE:
        output.print_document(document, chosen)
        return
    from numalet.cli import simulate_tables

    output.print_all(simulate_tables.tables(document, session, records, len(prepared.running)))


def _recording(path: Path) -> Recording:
    from numalet.io.files import recording

    return recording.read(path)


def _check_recordable(prepared: Prepared) -> None:
    """Refuse pods that run without admission: a recorded scenario cannot have them."""
    if prepared.held:
        raise input_error.NotSupported(
            "--record needs state files without assigned pods "
            f"({', '.join(prepared.held)}); leave --state-dir out or name an empty directory"
        ).bad_input()


def _append(recording: Recording, prepared: Prepared) -> None:
    from numalet.insight.simulate import recording as recordings
    from numalet.insight.simulate import runner

    scenario = prepared.scenario
    recording.append(recordings.document(scenario, runner.run(scenario)))
