"""``numalet state``: show, verify, compare, test and rebase the kubelet's state files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from numalet.cli import node_options, state_pictures, state_restarts
from numalet.cli.drawing_options import PictureFiles
from numalet.cli.helping import Command, with_line_breaks
from numalet.cli.node_options import ReleaseOptions
from numalet.cli.options import REQUIRED, RESULT, Options, Part, argument, option, with_options
from numalet.cli.output import OutputFormat
from numalet.cli.state_pictures import PictureChoice
from numalet.cli.state_restarts import DIRECTORY, PATH, STRICT

EPILOG = """Examples:

  # the allocations on this node
  kubectl get pods -A -o json > pods.json
  numalet state show --pods pods.json

  # the same as a page for a ticket, with CPUs and devices drawn where they are
  numalet state show -m / --html node.html --pods pods.json

  # before and after side by side
  numalet state diff -m node7.tar.gz --html diff.html before after

  # are the files sound, and about this machine
  numalet state verify -m node7.tar.gz ./copy-of-var-lib-kubelet

  # after a reboot: whether the kubelet would start, or which changes prevent it
  numalet state restore-check -c /etc/kubernetes/kubelet.yaml --pods pods.json
  numalet state rebase -c /etc/kubernetes/kubelet.yaml --write

  # before an upgrade of the kubelet
  kubectl get pods -A -o json --field-selector spec.nodeName=node7 > pods.json
  numalet state upgrade-check --from 1.32 --to 1.36 --pods pods.json

Exit status: 0 success, 1 the answer is no, 2 invalid input, 3 a bug.
See also 'numalet state COMMAND --help'.
"""

state_app = typer.Typer(
    name="state",
    help="Inspect, verify and repair a kubelet's state files: memory, CPUs, devices.",
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog=with_line_breaks(EPILOG),
)


_PODS: Final = option(
    "Names for the pods: manifests, output of 'kubectl get pods -o json', a dump of the pod"
    " resources API, or a folder of these; repeatable.",
    "PATH",
)


class ShowOptions(Options):
    path: Path = PATH
    pods: list[Path] = _PODS
    drawn_on: PictureChoice
    output: OutputFormat = RESULT
    pictures: PictureFiles


class VerifyOptions(Options):
    path: Path = PATH
    machine: str | None = option(
        "Also check whether the files match this machine: a folder or tarball with /sys, a"
        " description, profile:NAME, or a shape; '/' for the machine that this runs on.",
        "MACHINE",
        "-m",
    )
    sizes: node_options.Sizes
    release: ReleaseOptions
    strict: bool = STRICT
    output: OutputFormat = RESULT


class DiffOptions(Options):
    before: Path = argument(DIRECTORY, "BEFORE", default=REQUIRED)
    after: Path = argument("The same, later.", "AFTER", default=REQUIRED)
    pods: list[Path] = _PODS
    drawn_on: PictureChoice
    output: OutputFormat = RESULT
    pictures: Annotated[PictureFiles, Part(without=("svg",))]


@state_app.command(
    "show",
    cls=Command,
    short_help="Draw the node map with all allocations.",
    epilog="Exit status: 0 shown, 2 invalid input, 3 a bug.",
)
@with_options
def show(options: ShowOptions) -> None:
    """Draw what state files say: NUMA nodes by group, the shared pool, what containers hold.

    Files are shown whether or not they are sound; 'numalet state verify' says whether they are.
    """
    from numalet.cli import state_view
    from numalet.insight.state import holder_map, reading
    from numalet.insight.usecases import state_doctor
    from numalet.io.documents.pods import listed_pods

    source = state_doctor.read(options.path)
    names = listed_pods.load(options.pods)
    states = reading.read(source.files)

    def is_gone(uid: str) -> bool:
        unknown = source.known_pods is not None and uid not in source.known_pods
        return unknown or uid in names.finished

    known = state_doctor.names(states, names)
    chart = holder_map.state_map(states, known, is_gone)
    pictures = options.pictures
    on = state_pictures.pictured(options.drawn_on, [source])
    if pictures.are_wanted:
        state_pictures.write_shown(states, str(options.path), known, pictures, on)
    if not pictures.is_on_output:
        state_view.show_map(chart, states, options.output)


@state_app.command(
    "verify",
    cls=Command,
    short_help="Check whether state files are sound.",
    epilog=(
        "Exit status: 0 sound (perhaps with warnings), 1 broken (with --strict: warnings too),"
        " 2 invalid input, 3 a bug."
    ),
)
@with_options
def verify(options: VerifyOptions) -> None:
    """Recompute checksums, check every rule that a state file must obey, list violations.

    An error is what no kubelet writes. A warning is what the kubelet brings about itself.
    """
    from numalet.cli import state_view
    from numalet.cli.output import show_findings
    from numalet.insight.state import verify as state_verify
    from numalet.insight.usecases import state_doctor

    info = None
    if options.machine is not None:
        loaded = options.sizes.choice(options.machine).open()
        show_findings(loaded.notes)
        info = loaded.info
    path, release = options.path, options.release
    source = state_doctor.read(path)
    followed, notes = state_doctor.release_of(release.release, release.kubelets(), path)
    show_findings(notes)
    verify_all = state_verify.verify_directory if source.path.is_dir() else state_verify.verify
    reports = verify_all(source.files, info, followed)
    state_view.show_reports(reports, options.output, followed)
    raise typer.Exit(state_view.status_of_reports(reports, options.strict))


@state_app.command(
    "diff",
    cls=Command,
    short_help="Compare two sets of state files.",
    epilog="Exit status: 0 the same content, 1 different, 2 invalid input, 3 a bug.",
)
@with_options
def diff(options: DiffOptions) -> None:
    """Compare what two sets of state files say, member by member.

    Checksums and the order of members and blocks do not matter.
    """
    from numalet.cli import state_view
    from numalet.insight.state import reading, state_diff
    from numalet.insight.usecases import state_doctor
    from numalet.io.documents.pods import listed_pods

    paths = (options.before, options.after)
    sources = [state_doctor.read(each) for each in paths]
    both = [reading.read(each.files) for each in sources]
    differences = state_diff.differences(*both)
    unreadable = tuple(each for states in both for each in state_diff.unreadable(states))
    on = state_pictures.pictured(options.drawn_on, sources)
    if options.pictures.are_wanted:
        compared = tuple(zip(map(str, paths), both, strict=True))
        listed = listed_pods.load(options.pods)
        names = {**state_doctor.names(both[0], listed), **state_doctor.names(both[1], listed)}
        state_pictures.write_compared(compared, names, differences, options.pictures, on)
    if not options.pictures.is_on_output:
        state_view.show_differences(differences, unreadable, options.output)
    raise typer.Exit(1 if differences or unreadable else 0)


state_restarts.register(state_app)
