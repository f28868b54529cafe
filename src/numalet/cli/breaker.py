"""``numalet breaker``: ends storms of rejected pods; its ``undo`` reverts all changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from numalet.cli import cluster_options, fleet_classes, output
from numalet.cli.cluster_options import Context, Kubeconfig
from numalet.cli.fleet_options import ClassFile, PoolLabel
from numalet.cli.helping import Command, CommandWithOthers, with_line_breaks
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput

if TYPE_CHECKING:
    from numalet.cluster.leading import LeaseName
    from numalet.insight.rejections.rules import Measure
    from numalet.io.kube_api.values import Access

EPILOG: Final = """Examples:

  # what would be done: nothing is changed without --act
  numalet breaker

  # keep three rejected pods of each ReplicaSet, and say at their owners why they were rejected
  numalet breaker --act prune,inform

  # in a cluster, two replicas of which one acts, with metrics and an audit in a file
  numalet breaker --act prune,inform,taint --lease numalet/numalet-breaker \\
    --metrics 0.0.0.0:9647 --audit /var/log/numalet/breaker.jsonl

  # for some namespaces and owners only
  numalet breaker --act prune --namespaces 'team-*' --owners 'Deployment/*'

  # beside numalet extender in a cluster with an autoscaler
  numalet breaker --act taint --taint-for-waiting 2m

  # take back every taint and suspension, whether or not a breaker still runs
  numalet breaker undo

Exit status: 0 ended by a signal, 2 unusable input or an audit that can not be written, 3 a bug.
"""
_UNDO_EPILOG: Final = """Examples:

  kubectl scale deployment -n numalet numalet-breaker --replicas=0
  numalet breaker undo

Exit status: 0 everything is undone, 1 some of it could not be, 2 unusable input or an API server
that refuses, 3 a bug.
"""
_NAME: Final = "numalet-breaker"

breaker_app = typer.Typer(
    name="breaker",
    cls=CommandWithOthers,
    help="End storms of rejected pods.",
    rich_markup_mode=None,
    invoke_without_command=True,
    epilog=with_line_breaks(EPILOG),
)

Audit = Annotated[
    Path | None,
    typer.Option(
        "--audit",
        metavar="FILE",
        help="Append a line of JSON for each action; default: the standard output.",
        show_default=False,
    ),
]
Act = Annotated[
    str,
    typer.Option(
        "--act",
        metavar="MEASURES",
        help="What is allowed, of prune, inform, taint, suspend, recreate; with commas."
        " Without it nothing is changed.",
        show_default=False,
    ),
]
Lease = Annotated[
    str,
    typer.Option(
        "--lease",
        metavar="NAMESPACE/NAME",
        help=f"Of several breakers the holder acts. Default in a pod: its namespace/{_NAME}.",
        show_default=False,
    ),
]
NoLease = Annotated[bool, typer.Option("--no-lease", help="Act without a lease.")]
Metrics = Annotated[
    str,
    typer.Option(
        "--metrics",
        metavar="[HOST:]PORT",
        help="Serve /metrics, /healthz and /readyz there.",
        show_default=False,
    ),
]
Namespaces = Annotated[
    str,
    typer.Option(
        "--namespaces",
        metavar="PATTERNS",
        help="Only these, as 'team-*,web'; default: all.",
        show_default=False,
    ),
]
WithoutNamespaces = Annotated[
    str, typer.Option("--without-namespaces", metavar="PATTERNS", help="Never these.")
]
NamespaceSelector = Annotated[
    str,
    typer.Option(
        "--namespace-selector",
        metavar="SELECTOR",
        help="Only namespaces with these labels, as 'team=a,!critical'.",
        show_default=False,
    ),
]
Owners = Annotated[
    str,
    typer.Option(
        "--owners",
        metavar="PATTERNS",
        help="Only these top owners, as 'Deployment/*,Job/night-*'; default: all.",
        show_default=False,
    ),
]
WithoutOwners = Annotated[
    str,
    typer.Option("--without-owners", metavar="PATTERNS", help="Never these.", show_default=False),
]
Selector = Annotated[
    str,
    typer.Option(
        "--selector",
        "-l",
        metavar="SELECTOR",
        help="Only pods with these labels.",
        show_default=False,
    ),
]


TaintForWaiting = Annotated[
    str,
    typer.Option(
        "--taint-for-waiting",
        metavar="TIME",
        help="For autoscalers: taint the traps also of pods that wait for so long, such as 2m,"
        " while no kubelet would admit them.",
        show_default=False,
    ),
]


@breaker_app.callback()
def breaker(
    typer_context: typer.Context,
    *,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    act: Act = "",
    namespaces: Namespaces = "",
    without_namespaces: WithoutNamespaces = "kube-system",
    namespace_selector: NamespaceSelector = "",
    owners: Owners = "",
    without_owners: WithoutOwners = "",
    selector: Selector = "",
    class_file: ClassFile = None,
    pool_label: PoolLabel = None,
    taint_for_waiting: TaintForWaiting = "",
    lease: Lease = "",
    no_lease: NoLease = False,
    audit: Audit = None,
    metrics: Metrics = "",
) -> None:
    """Watch for pods that kubelets reject again and again, and end that.

    Without --act nothing is changed: what would be done is printed. Each action is one line of JSON
    on the standard output, or in the file of --audit; what is for people goes to the error stream.
    """
    if typer_context.invoked_subcommand is not None:
        return
    import asyncio

    from numalet.cluster import addresses
    from numalet.cluster.breaker import command
    from numalet.cluster.breaker.breaker import BreakerSettings
    from numalet.cluster.breaker.command import BreakerOptions
    from numalet.core.cluster.building import POOL_LABEL
    from numalet.insight.rejections.rules import EVERY_MEASURE, BreakerRules, BreakerScope
    from numalet.io.kube_api import access

    measures, label = _measures(act), pool_label or POOL_LABEL
    choosing = {
        "--owners": owners,
        "--without-owners": without_owners,
        "--namespace-selector": namespace_selector,
        "--selector": selector,
    }
    scope = BreakerScope(
        namespaces=_patterns(namespaces),
        without_namespaces=_patterns(without_namespaces),
        owners=_patterns(owners),
        without_owners=_patterns(without_owners),
    )
    settings = BreakerSettings(
        rules=BreakerRules(
            allowed=measures or EVERY_MEASURE,
            scope=scope,
            pool_label=label,
            waiting_seconds=_waiting_seconds(taint_for_waiting, choosing),
        ),
        is_dry_run=not measures,
        namespace_selector=namespace_selector,
        pod_selector=selector,
        classes=fleet_classes.followed(class_file, pool_label),
    )
    to = access.of(kubeconfig, context)
    options = BreakerOptions(
        access=to,
        settings=settings,
        lease=None if no_lease else _lease(lease, to),
        audit_file=audit,
        metrics=addresses.parse("--metrics", metrics, "127.0.0.1") if metrics else None,
    )
    if not measures:
        _say("nothing is changed: allow what may be done with --act")
    asyncio.run(command.live(options, _say))


@breaker_app.command(
    "undo",
    cls=Command,
    short_help="Take back every taint and suspension.",
    epilog=with_line_breaks(_UNDO_EPILOG),
)
def undo(*, kubeconfig: Kubeconfig = None, context: Context = None, audit: Audit = None) -> None:
    """Take every taint of breakers off the nodes, and resume the Jobs that they suspended.

    It goes by what stands on the objects, so it works after a crash, and does nothing a second
    time. A breaker that still runs may taint again: stop it first.
    """
    import asyncio

    from numalet.cluster.breaker import audit as audits
    from numalet.cluster.breaker import undoing
    from numalet.io.kube_api import access

    to = access.of(kubeconfig, context)
    with audits.opened(audit) as audit_file:
        is_all = asyncio.run(undoing.undo(to, audit_file, _say))
    if not is_all:
        raise typer.Exit(1)


def _say(text: str) -> None:
    output.say(text)


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
    from numalet.core.model import go_duration

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
    seconds = go_duration.seconds_of(text)
    if not seconds:
        expected = "a length of time above 0, such as 2m"
        raise input_error.Invalid(f"invalid {option} {text!r}", expected=expected).bad_input()
    return seconds
