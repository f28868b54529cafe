"""``numalet explain``: why a pod was admitted or rejected, and which changes would admit it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from numalet.cli import drawing_options, node_options, output
from numalet.cli import kubelet_options as kubelet
from numalet.cli.drawing_options import PictureFiles
from numalet.cli.options import REQUIRED, RESULT, Options, argument, option, with_options
from numalet.cli.output import OutputFormat
from numalet.cli.simulate import FORGET

if TYPE_CHECKING:
    from numalet.insight.explain.cases import Case
    from numalet.insight.explain.explanation_types import Explanation
    from numalet.insight.explain.story import Story
    from numalet.insight.explain.tally import Tally
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

Exit status: 0 the pod is admitted, 1 it is rejected, 2 invalid input (also a configuration with
which the kubelet would not start), 3 a bug.
"""


class ExplainOptions(Options):
    pod: str = argument(
        "A manifest, or '-'. Of several pods the last one is explained, or see --pod.",
        "POD",
        default=REQUIRED,
    )
    config: Path | None = kubelet.CONFIG_FILE
    machine: list[str] = option(
        "A folder or tarball with /sys, a description, profile:NAME, or a shape; default: this"
        " machine. Further ones are other nodes to try, empty ones.",
        "MACHINE",
        "-m",
    )
    after: list[str] = option(
        "Manifests of pods that asked for admission before it; repeatable.", "PODS"
    )
    name: str | None = option("Which pod: name, namespace/name or uid.", "NAME", "--pod")
    state_dir: Path | None = option("Begin with the state files in DIR; only read.", "DIR")
    pods: list[Path] = option(
        "Names for the pods of the state files: output of 'kubectl get pods -o json', a dump of"
        " the pod resources API, manifests, or a folder of these; repeatable.",
        "PATH",
    )
    forget: list[str] = FORGET
    devices: node_options.DeviceOptions
    sizes: node_options.Sizes
    pod_choice: node_options.PodChoice
    budget: str = option(
        "How long to search for what would have admitted the pod; 0 for no search.",
        "TIME",
        default="5s",
    )
    output: OutputFormat = RESULT
    pictures: PictureFiles
    ignore_kubelet: bool = kubelet.IGNORE_KUBELET
    flags: kubelet.KubeletFlags


@with_options
def explain(options: ExplainOptions) -> None:
    """Explain why the kubelet would admit or reject a pod, and what would have admitted it."""
    from numalet.insight.usecases.explaining import ExplainInputs
    from numalet.insight.usecases.simulating import SimulateInputs

    pieces = SimulateInputs(
        machine=options.sizes.choice(),
        config=options.flags.sources(options.config),
        **options.pod_choice.fields(),
        state_dir=options.state_dir,
        forget=tuple(options.forget),
        **options.devices.fields(),
        uses_kubelet=not options.ignore_kubelet,
    )
    question = ExplainInputs(
        pieces=pieces,
        pod=options.pod,
        after=tuple(options.after),
        name=options.name,
        machines=tuple(options.machine),
        names=tuple(options.pods),
    )
    raise typer.Exit(_run(question, options))


def _run(question: ExplainInputs, options: ExplainOptions) -> int:
    """Prepare, trace, search, print; return the exit status."""
    from numalet.cli import simulate_view
    from numalet.cli.output import show_findings
    from numalet.core.config.rules import StartRefused
    from numalet.insight import decision_notes
    from numalet.insight.explain import story
    from numalet.insight.output import explanation_document
    from numalet.insight.usecases import explaining

    seconds = explaining.seconds(options.budget)
    asked = explaining.prepare(question)
    show_findings(asked.notes)
    if isinstance(asked.case, StartRefused):
        release = asked.prepared.scenario.behaviour.release
        if options.output is not OutputFormat.TABLE:
            refused = explanation_document.not_started(asked.case, release)
            output.print_document(refused, options.output)
        simulate_view.show_start_error(asked.case, asked.prepared.state_dir, release)
        return 2
    traced = story.trace(asked.case)
    show_findings(decision_notes.notes(decision_notes.collect([traced.decision])))
    tallies = searched(asked.case, traced, seconds)
    show_findings(asked.fleet_notes)
    explanation = explanation_document.explanation(asked.case, traced, tallies, _running(asked))
    if options.pictures.are_wanted:
        _write_pictures(explanation, asked.case, options.pictures)
    if not options.pictures.is_on_output:
        _show(explanation, options.output)
    return 0 if traced.decision.admitted else 1


def _show(explanation: Explanation, chosen: OutputFormat) -> None:
    if chosen is not OutputFormat.TABLE:
        output.print_document(explanation, chosen)
        return
    from numalet.cli import explain_tables

    output.print_all(explain_tables.story(explanation))


def _write_pictures(explanation: Explanation, case: Case, pictures: PictureFiles) -> None:
    from numalet.core.model.value import replace
    from numalet.drawing import node_drawing
    from numalet.insight.maps import node_map, refusal
    from numalet.pages import explanation_page, templating

    name = f"{explanation.pod.namespace}/{explanation.pod.name}"
    chart = node_map.of_node(case.node, f"The node before {name}")
    if not explanation.admitted:
        wanted = {each for part in explanation.pod.containers for each in part.requests}
        of = refusal.Refusal(
            name, explanation.cause or explanation.message, refusal.devices_of(wanted)
        )
        chart = replace(chart, refused=(of,))
    chart = pictures.coloured(chart)
    origin = drawing_options.origin(release=explanation.release)
    title = f"Pod {name}: {'admitted' if explanation.admitted else explanation.reason}"
    pictures.write(
        html=lambda: templating.html_file(title, explanation_page.body(chart, explanation, origin)),
        svg=lambda: node_drawing.draw(chart),
    )


def _running(asked: PreparedCase) -> int:
    return len(asked.prepared.assumed)


def searched(case: Case, traced: Story, seconds: float) -> tuple[Tally, ...]:
    """Search for at most this many seconds for changes that would admit the pod."""
    from numalet.cli.progress import Progress
    from numalet.insight.explain import search
    from numalet.insight.explain.explanation_types import Category
    from numalet.insight.usecases import explaining
    from numalet.wording.explanations import SEARCHING

    if not seconds:
        return ()
    in_time = explaining.budgeted(seconds)
    progress = Progress(len(Category), SEARCHING)

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
