"""Opens the cluster for a command of ``numalet fleet``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from numalet.cli import fleet_classes, output, progress
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value, replace

if TYPE_CHECKING:
    from numalet.cli.fleet_options import SourceOptions
    from numalet.cluster.addresses import ListenAddress
    from numalet.core.cluster.cluster import Cluster
    from numalet.insight.fleet.variants import NodeVariants
    from numalet.insight.usecases.clusters import ClusterSources, OpenedCluster
    from numalet.io.documents.pod_shapes import PodShape


class ChangeOptions(Value, kw_only=True):
    """Changes of nodes, as given by the user."""

    policy: str | None
    scope: str | None
    options: Mapping[str, str]
    cpu_options: Mapping[str, str]
    memory_policy: str | None
    release: str | None
    machines: tuple[str, ...]
    strategy: str | None
    pools: tuple[str, ...]

    def is_empty(self) -> bool:
        """Whether there are no changes, whichever nodes are selected."""
        return not any(getattr(self, each.name) for each in fields(self) if each.name != "pools")


def opened(source: SourceOptions) -> OpenedCluster:
    """Open the cluster; print notes about the input to the error stream.

    Raises ``BadInput`` if it is unreadable, or two sources were named.
    """
    with progress.waiting("reading the cluster"):
        fleet = _opened(source)
    output.show_findings(fleet.cluster.notes)
    return fleet


def answered(
    source: SourceOptions,
    answer: Callable[[Cluster], int],
    *,
    watch: bool = False,
    is_table: bool = True,
) -> int:
    """Return the exit status of an answer about the cluster; a watch never returns."""
    if not watch:
        return answer(opened(source).cluster)
    if not source.is_live:
        raise input_error.Conflict(
            "--watch needs a live cluster, not --dump or --fleet"
        ).bad_input()
    # Imported late: the client of the API server takes longer to import than most commands run.
    import asyncio

    from numalet.cli.fleet_watch import WatchedAnswer
    from numalet.cluster import following
    from numalet.io.kube_api import access

    classes = fleet_classes.followed(source.class_file, source.pool_label)
    server = access.of(source.kubeconfig, source.context)
    asyncio.run(following.follow(server, classes, WatchedAnswer(answer, is_table).receive))
    return 0


async def followed_dashboard(
    source: SourceOptions, address: ListenAddress, *, is_opened: bool
) -> None:
    """Serve pages of a followed cluster until a signal.

    Raises ``BadInput`` if listening fails, or the cluster cannot be listed.
    """
    from numalet.cli import dashboard_serving
    from numalet.cluster import following
    from numalet.cluster.shown_fleet import FollowedFleet
    from numalet.cluster.signals import until_signal
    from numalet.io.kube_api import access
    from numalet.io.tasks import together

    classes = fleet_classes.followed(source.class_file, source.pool_label)
    server = access.of(source.kubeconfig, source.context)

    async def work() -> None:
        fleet = FollowedFleet()
        async with together() as group:
            group.create_task(following.follow(server, classes, fleet.receive))
            # Print a link only once there is something to show.
            await fleet.first()
            await dashboard_serving.serving(None, address, is_opened=is_opened, fleet=fleet)

    await until_signal(work())


def _sources(source: SourceOptions) -> ClusterSources:
    from numalet.core.cluster import building
    from numalet.insight.usecases.clusters import ClusterSources

    given = {
        "--fleet": source.fleet,
        "--dump": source.dump or None,
        "--kubeconfig": source.kubeconfig,
        "--context": source.context,
    }
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1 and named[0] in ("--fleet", "--dump"):
        raise input_error.Conflict(f"{named[0]} cannot be combined with {named[1]}").bad_input()
    return ClusterSources(
        paths=[str(source.fleet)] if source.fleet is not None else source.dump,
        class_file=source.class_file,
        pool_label=source.pool_label or building.POOL_LABEL,
        is_description=source.fleet is not None,
    )


def _opened(source: SourceOptions) -> OpenedCluster:
    from numalet.insight.usecases import clusters

    sources = _sources(source)
    if not source.is_live:
        return clusters.opened(sources)
    import asyncio

    from numalet.cluster import listing
    from numalet.io.kube_api import access

    server = access.of(source.kubeconfig, source.context)
    listed = asyncio.run(listing.listed(server))
    return clusters.listed_cluster(listed, replace(sources, paths=[server.server]))


def serve(
    source: SourceOptions, shapes: Sequence[PodShape], listen: str, every_seconds: float
) -> None:
    """Serve metrics until SIGINT or SIGTERM. Raises ``BadInput`` if listening fails."""
    from numalet.cluster.serve import FleetServer
    from numalet.shared.web import loop_log

    host, _, port = listen.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        raise input_error.Invalid(f"invalid --listen {listen!r}", expected="HOST:PORT").bad_input()

    def ready(port: int) -> None:
        output.say(f"serving http://{host}:{port}/metrics")

    server = FleetServer(
        host=host.strip("[]"),
        port=int(port[:6]),
        shapes=[(each.name, each.pod) for each in shapes],
        complain=output.show_findings,
        ready=ready,
        log=lambda message, keys: output.say(loop_log.text(message, keys)),
    )
    if source.is_live:
        from numalet.io.kube_api import access

        classes = fleet_classes.followed(source.class_file, source.pool_label)
        server.follow(access.of(source.kubeconfig, source.context), classes)
    else:
        server.read_again(every_seconds, lambda: _opened(source))


def emptied(cluster: Cluster) -> Cluster:
    from numalet.insight.fleet.free import without

    nodes = {
        name: replace(each, node=without(each.node, each.node.snapshot.pods))
        for name, each in cluster.nodes.items()
    }
    return replace(cluster, nodes=nodes, pods={})


def variants(fleet: OpenedCluster, changes: ChangeOptions) -> NodeVariants:
    """Return the changed nodes; name unchangeable ones on the error stream.

    Raises ``BadInput`` if a machine, the release or a pool is unknown, or every kubelet refuses.
    """
    from numalet.cli import fleet_machines, fleet_names
    from numalet.core.config.releases import table, versions
    from numalet.core.config.rules import StartRefused
    from numalet.insight.fleet import variants as making
    from numalet.insight.fleet.variants import Change
    from numalet.io.findings.releases import ReleaseUnreadable
    from numalet.wording import kubelet_start

    if changes.is_empty():
        raise input_error.Required(
            "no change given; use --policy, --release or --machine, for example"
        ).bad_input()
    fleet_names.check_pools(fleet.cluster, changes.pools)
    release = None
    if changes.release is not None:
        minor = versions.minor_version(changes.release)
        release = None if minor is None else minor.release
        if release is None:
            known = ", ".join(each.name for each in table.RELEASES)
            raise BadInput([ReleaseUnreadable(value=changes.release, known=known)])
    change = Change(
        policy=changes.policy,
        scope=changes.scope,
        policy_options=changes.options,
        cpu_options=changes.cpu_options,
        memory_policy=changes.memory_policy,
        release=release,
        machines=fleet_machines.shares(fleet.cluster, changes.machines),
        pools=frozenset(changes.pools),
    )
    # The named machines and values equal the present ones.
    if change == Change(pools=change.pools):
        return {}
    others, unknown = making.nodes_of(fleet.cluster, fleet.specs, change)
    output.show_findings(unknown)
    refused = [each for each in others.values() if isinstance(each, StartRefused)]
    # Some nodes without a start are part of the answer; if all refuse, the change is a mistake.
    if refused and len(refused) == len(others):
        problems = sorted({kubelet_start.text(each) for each in refused})
        raise BadInput(
            [
                input_error.Invalid(f"no kubelet starts with this change: {each}")
                for each in problems
            ]
        )
    return others
