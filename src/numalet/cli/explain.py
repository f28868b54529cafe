"""``numalet explain``: why a pod was admitted or rejected, and which changes would admit it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numalet.cli import drawing_options, machine_options
from numalet.cli import kubelet_options as kubelet
from numalet.cli import simulate as simulating
from numalet.cli.option_groups import expanded
from numalet.cli.output import OutputFormat

if TYPE_CHECKING:
    from numalet.cli.drawing_options import PictureFiles
    from numalet.insight.explain.case import Case
    from numalet.insight.explain.story import Story
    from numalet.insight.explain.tally import Tally
    from numalet.insight.output.explanation_types import Explanation
    from numalet.insight.usecases.explaining import ExplainInputs, PreparedCase

EPILOG = """Examples:

  # why is this pod rejected on an empty node?
  numalet explain -c kubelet.yaml -m node7.tar.gz pod.yaml

  # ... after these pods were admitted
  numalet explain -c kubelet.yaml -m node7.tar.gz pod.yaml --after running.yaml

  # ... on a node with these state files
  numalet explain -c kubelet.yaml --state-dir /var/lib/kubelet pod.yaml

  # one pod of a queue; those before it ask before it
  numalet explain -c kubelet.yaml -m node7.tar.gz queue.yaml --pod default/third

  # as a page, to attach to a ticket
  numalet explain -c kubelet.yaml -m node7.tar.gz pod.yaml --html pod.html

  # would it run on another node of the fleet?
  numalet explain -c kubelet.yaml -m node7.tar.gz -m node8.tar.gz pod.yaml

Exit status: 0 the pod is admitted, 1 it is rejected, 2 unusable input (also a configuration with
which the kubelet would not start), 3 a bug.
"""

PodFile = Annotated[
    str,
    typer.Argument(
        metavar="POD",
        help="A manifest, or '-'. Of several pods the last one is explained, or see --pod.",
        show_default=False,
    ),
]
After = Annotated[
    list[str] | None,
    typer.Option(
        "--after",
        metavar="PODS",
        help="Manifests of pods that asked for admission before it; repeatable.",
        show_default=False,
    ),
]
StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir", metavar="DIR", help="Begin with the state files in DIR; only read."
    ),
]
StatePods = Annotated[
    list[Path] | None,
    typer.Option(
        "--pods",
        metavar="PATH",
        help=(
            "Names for the pods of the state files: output of 'kubectl get pods -o json', a dump"
            " of the pod resources API, manifests, or a folder of these; repeatable."
        ),
        show_default=False,
    ),
]
Name = Annotated[
    str | None,
    typer.Option("--pod", metavar="NAME", help="Which pod: name, namespace/name or uid."),
]
Machines = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--machine",
        metavar="MACHINE",
        help=(
            "A folder or tarball with /sys, a description, profile:NAME, or a shape; default: this"
            " machine."
            " Further ones are other nodes to try, empty ones."
        ),
        show_default=False,
    ),
]
Budget = Annotated[
    str,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="How long to search for what would have admitted the pod; 0 for no search.",
    ),
]
Output = Annotated[OutputFormat, typer.Option("-o", "--output", help="How the result is printed.")]


@expanded
def explain(
    pod: PodFile,
    *,
    config: kubelet.ConfigFile = None,
    machine: Machines = None,
    after: After = None,
    name: Name = None,
    state_dir: StateDir = None,
    pods: StatePods = None,
    forget: simulating.Forget = None,
    devices: machine_options.Devices,
    sizes: machine_options.Sizes,
    pod_choice: machine_options.ChosenPods,
    budget: Budget = "5s",
    output: Output = OutputFormat.TABLE,
    pictures: drawing_options.PageAndDrawing,
    ignore_kubelet: kubelet.IgnoreKubelet = False,
    flags: kubelet.AllFlags,
) -> None:
    """Explain why the kubelet would admit or reject a pod, and what would have admitted it."""
    from numalet.insight.usecases.explaining import ExplainInputs
    from numalet.insight.usecases.simulating import SimulateInputs

    pieces = SimulateInputs(
        machine=sizes.choice(),
        config=flags.sources(config),
        **pod_choice.fields(),
        state_dir=state_dir,
        forget=tuple(forget or ()),
        devices=devices.texts,
        device_file=devices.file,
        uses_kubelet=not ignore_kubelet,
    )
    question = ExplainInputs(
        pieces=pieces,
        pod=pod,
        after=tuple(after or ()),
        name=name,
        machines=tuple(machine or ()),
        names=tuple(pods or ()),
    )
    raise typer.Exit(_run(question, budget, output, pictures))


def _run(question: ExplainInputs, budget: str, output: OutputFormat, pictures: PictureFiles) -> int:
    """Prepare, trace, search, print; return the exit status."""
    from numalet.cli import explain_view
    from numalet.cli.output import show_findings
    from numalet.core.config.rules import StartRefused
    from numalet.insight import decision_notes
    from numalet.insight.explain import story
    from numalet.insight.output import explanation_document
    from numalet.insight.usecases import explaining

    seconds = explaining.seconds(budget)
    asked = explaining.prepare(question)
    show_findings(asked.notes)
    if isinstance(asked.case, StartRefused):
        release = asked.prepared.scenario.behaviour.release
        explain_view.show_start_error(asked.case, output, asked.prepared.state_dir, release)
        return 2
    traced = story.trace(asked.case.node, asked.case.pod)
    show_findings(decision_notes.notes(decision_notes.collect([traced.decision])))
    tallies = searched(asked.case, traced, seconds)
    show_findings(asked.fleet_notes)
    explanation = explanation_document.explanation(asked.case, traced, tallies, _running(asked))
    if pictures.are_wanted:
        _write_pictures(explanation, asked.case, pictures)
    if not pictures.is_on_output:
        explain_view.show(explanation, output)
    return 0 if traced.decision.admitted else 1


def _write_pictures(explanation: Explanation, case: Case, pictures: PictureFiles) -> None:
    from numalet.drawing import node_drawing
    from numalet.insight.maps import node_map
    from numalet.pages import explanation_page, file

    name = f"{explanation.pod.namespace}/{explanation.pod.name}"
    chart = node_map.of_node(case.node, f"The node before {name}")
    origin = drawing_options.origin(release=explanation.release)
    title = f"Pod {name}: {'admitted' if explanation.admitted else explanation.reason}"
    pictures.write(
        html=lambda: file.file(title, explanation_page.body(chart, explanation, origin)),
        svg=lambda: node_drawing.draw(chart),
    )


def _running(asked: PreparedCase) -> int:
    return len(asked.prepared.assumed)


def searched(case: Case, traced: Story, seconds: float) -> tuple[Tally, ...]:
    """Search for at most this many seconds for changes that would admit the pod."""
    from numalet.cli.progress import Progress
    from numalet.insight.explain import search
    from numalet.insight.explain.tally import Category
    from numalet.insight.usecases import explaining
    from numalet.wording import explanations

    if not seconds:
        return ()
    in_time = explaining.budgeted(seconds)
    progress = Progress(len(Category), explanations.SEARCHING)

    def keep_going() -> bool:
        progress.touch()
        return in_time()

    tallies = []
    try:
        for tally in search.search(case, traced, keep_going):
            tallies.append(tally)
            progress.advance()
    finally:
        progress.finish()
    return tuple(tallies)
