"""``numalet breaker``: ends storms of rejected pods; its ``undo`` reverts all changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from numalet.cli import cluster_options, output
from numalet.cli.cluster_options import ClassOptions, ClusterOptions
from numalet.cli.helping import Command, CommandWithOthers, with_line_breaks
from numalet.cli.options import Options, option, with_options
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput

if TYPE_CHECKING:
    from numalet.cluster.leading import LeaseName
    from numalet.insight.rejections.rules import Measure
    from numalet.io.kube_api.values import Access

EPILOG: Final = """Examples:

  # what would be done: nothing is changed without --act
  numalet breaker

  # keep three rejected pods of each ReplicaSet, and report the reason at their owners
  numalet breaker --act prune,inform

  # in a cluster: two replicas with leader election, metrics and an audit file
  numalet breaker --act prune,inform,taint --lease numalet/numalet-breaker \\
    --metrics 0.0.0.0:9647 --audit /var/log/numalet/breaker.jsonl

  # for some namespaces and owners only
  numalet breaker --act prune --namespaces 'team-*' --owners 'Deployment/*'

  # next to numalet extender in a cluster with an autoscaler
  numalet breaker --act taint --taint-for-waiting 2m

  # take back every taint, suspension and hold, whether or not a breaker still runs
  numalet breaker undo

Exit status: 0 ended by a signal, 2 invalid input or the audit file cannot be written, 3 a bug.
"""
_UNDO_EPILOG: Final = """Examples:

  kubectl scale deployment -n numalet numalet-breaker --replicas=0
  numalet breaker undo

Exit status: 0 everything is undone, 1 some of it could not be, 2 invalid input or an API server
that refuses, 3 a bug.
"""
_NAME: Final = "numalet-breaker"

breaker_app = typer.Typer(
    name="breaker",
    cls=CommandWithOthers,
    help="Stop loops of rejected pods.",
    rich_markup_mode=None,
    invoke_without_command=True,
    epilog=with_line_breaks(EPILOG),
)

_AUDIT: Final = option(
    "Append a line of JSON for each action; default: the standard output.", "FILE"
)


class BreakerOptions(Options):
    cluster: ClusterOptions
    act: str = option(
        "Allowed actions, separated by commas: prune, inform, taint, suspend, hold, recreate."
        " Without it, the breaker changes nothing.",
        "MEASURES",
        default="",
    )
    namespaces: str = option("Only these, as 'team-*,web'; default: all.", "PATTERNS", default="")
    without_namespaces: str = option("Never these.", "PATTERNS", default="kube-system")
    namespace_selector: str = option(
        "Only namespaces with these labels, as 'team=a,!critical'.", "SELECTOR", default=""
    )
    owners: str = option(
        "Only these top owners, as 'Deployment/*,Job/night-*'; default: all.",
        "PATTERNS",
        default="",
    )
    without_owners: str = option("Never these.", "PATTERNS", default="")
    selector: str = option("Only pods with these labels.", "SELECTOR", "--selector -l", default="")
    classes: ClassOptions
    taint_for_waiting: str = option(
        "For autoscalers: also taint the traps of pods that have waited this long, such as 2m, and"
        " that no kubelet would admit.",
        "TIME",
        default="",
    )
    lease: str = option(
        f"Of several breakers the holder acts. Default in a pod: its namespace/{_NAME}.",
        "NAMESPACE/NAME",
        default="",
    )
    no_lease: bool = option("Act without a lease.")
    audit: Path | None = _AUDIT
    metrics: str = option("Serve /metrics, /healthz and /readyz there.", "[HOST:]PORT", default="")


class UndoOptions(Options):
    cluster: ClusterOptions
    audit: Path | None = _AUDIT


@breaker_app.callback()
@with_options
def breaker(typer_context: typer.Context, options: BreakerOptions) -> None:
    """Watch for loops of pods that kubelets reject, and stop them.

    Without --act nothing is changed, and the planned actions are printed. Each action is one line
    of JSON on the standard output or in the file of --audit. Other messages are printed to the
    error stream.
    """
    if typer_context.invoked_subcommand is not None:
        return
    import asyncio

    from numalet.cluster.breaker import command
    from numalet.cluster.breaker.breaker import BreakerSettings
    from numalet.core.cluster.building import POOL_LABEL
    from numalet.insight.rejections.rules import EVERY_MEASURE, BreakerRules, BreakerScope
    from numalet.shared.web import addresses

    measures, label = _measures(options.act), options.classes.pool_label or POOL_LABEL
    choosing = {
        "--owners": options.owners,
        "--without-owners": options.without_owners,
        "--namespace-selector": options.namespace_selector,
        "--selector": options.selector,
    }
    scope = BreakerScope(
        namespaces=_patterns(options.namespaces),
        without_namespaces=_patterns(options.without_namespaces),
        owners=_patterns(options.owners),
        without_owners=_patterns(options.without_owners),
    )
    settings = BreakerSettings(
        rules=BreakerRules(
            allowed=measures or EVERY_MEASURE,
            scope=scope,
            pool_label=label,
            waiting_seconds=_waiting_seconds(options.taint_for_waiting, choosing),
        ),
        is_dry_run=not measures,
        namespace_selector=options.namespace_selector,
        pod_selector=options.selector,
        classes=options.classes.followed(),
    )
    to = options.cluster.access()
    running = command.BreakerOptions(
        access=to,
        settings=settings,
        lease=None if options.no_lease else _lease(options.lease, to),
        audit_file=options.audit,
        metrics=addresses.listen_address("--metrics", options.metrics, "127.0.0.1")
        if options.metrics
        else None,
    )
    if not measures:
        output.say("nothing is changed: allow what may be done with --act")
    asyncio.run(command.live(running, output.say))


@breaker_app.command(
    "undo",
    cls=Command,
    short_help="Remove every taint, suspension and hold.",
    epilog=with_line_breaks(_UNDO_EPILOG),
)
@with_options
def undo(options: UndoOptions) -> None:
    """Remove the taints of breakers, release the held controllers, and resume suspended Jobs.

    The changes are recorded in the objects themselves, so this works after a crash, and a second
    run changes nothing. Stop a running breaker first: it may add taints again.
    """
    import asyncio

    from numalet.cluster.breaker import breaker_metrics as audits
    from numalet.cluster.breaker import undoing

    to = options.cluster.access()
    with audits.opened(options.audit) as audit_file:
        is_all = asyncio.run(undoing.undo(to, audit_file, output.say))
    if not is_all:
        raise typer.Exit(1)


def _measures(act: str) -> frozenset[Measure]:
    from numalet.insight.rejections.rules import Measure

    known = {each.value: each for each in Measure}
    names = _patterns(act)
    if not all(each in known for each in names):
        expected = f"some of {','.join(known)}"
        raise input_error.Invalid(f"invalid --act {act!r}", expected=expected).bad_input()
    return frozenset(known[each] for each in names)


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _lease(text: str, to: Access) -> LeaseName | None:
    """Return the named lease; by default that of a pod, and outside of a cluster no lease."""
    from numalet.cluster.leading import LeaseName
    from numalet.io.kube_api.access import SERVICE_ACCOUNT

    if not text:
        is_pod = to.token_file == SERVICE_ACCOUNT / "token"
        return LeaseName(to.namespace, _NAME) if is_pod else None
    return cluster_options.lease_name(text)


def _waiting_seconds(text: str, choosing: Mapping[str, str]) -> float | None:
    """Parse a duration such as ``2m``, if given.

    ``choosing`` are options that select rejected pods by data that waiting pods lack.
    """
    from numalet.core.model import go_text

    option = "--taint-for-waiting"
    if not text:
        return None
    given = [
        input_error.Conflict(f"{option} cannot be combined with {other}")
        for other, value in choosing.items()
        if value
    ]
    if given:
        raise BadInput(given)
    seconds = go_text.duration_seconds_of(text)
    if not seconds:
        expected = "a duration above 0, such as 2m"
        raise input_error.Invalid(f"invalid {option} {text!r}", expected=expected).bad_input()
    return seconds
