"""The cluster of a command of ``numalet fleet``: the options that name it, and its reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from numalet.cli import output, progress
from numalet.cli.cluster_options import ClassOptions, ClusterOptions
from numalet.cli.options import REQUIRED, Options, Part, argument, option
from numalet.cli.output import RowsFormat
from numalet.core.model import input_error
from numalet.core.model.value import replace

if TYPE_CHECKING:
    from numalet.core.cluster.cluster import Cluster
    from numalet.insight.usecases.clusters import ClusterSources, OpenedCluster
    from numalet.io.documents.pods.pod_shapes import PodShape
    from numalet.shared.web.addresses import ListenAddress


OUTPUT: Final = option("How the answer is printed.", name="-o", default=RowsFormat.TABLE)
POD: Final = argument(
    "A pod, Job or other workload (a file, '-' for the standard input), or what one asks for:"
    " nvidia.com/gpu=4,cpu=16,memory=128Gi.",
    "POD",
    default=REQUIRED,
)
SHAPE: Final = option(
    "A pod shape, as a file or as amounts; repeatable. Default: the shapes of the running and"
    " pending pods of the cluster.",
    "POD",
)
WATCH: Final = option(
    "Follow the cluster, and print a changed answer within about a second; not with --dump or"
    " --fleet."
)


class SourceOptions(Options):
    """The source of the cluster, as given by the user."""

    cluster: ClusterOptions
    dump: list[str] = option(
        "Output of 'kubectl get nodes,pods,pdb -A -o json', a folder of such files (must-gather),"
        " the same as .gz or .tar.gz, or '-'; repeatable.",
        "PATH",
    )
    fleet: Path | None = option(
        "A description of a fleet: nodes by machine and configuration.", "FILE"
    )
    classes: ClassOptions

    @property
    def is_live(self) -> bool:
        return not self.dump and self.fleet is None


Source = Annotated[SourceOptions, Part(panel="The cluster (by default that of the kubeconfig)")]


def shapes(given: Iterable[str]) -> tuple[PodShape, ...]:
    """Read the shapes. Raises ``BadInput``."""
    from numalet.io.documents.pods import pod_shapes

    return pod_shapes.load(given)


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

    classes = source.classes.followed()
    server = source.cluster.access()
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
    from numalet.cluster.following import FollowedFleet
    from numalet.cluster.programs import until_signal
    from numalet.io.tasks import together

    classes = source.classes.followed()
    server = source.cluster.access()

    async def work() -> None:
        fleet = FollowedFleet(name=server.cluster or server.server)
        async with together() as group:
            group.create_task(following.follow(server, classes, fleet.receive))
            # Print a link only once there is something to show.
            await fleet.first()
            await dashboard_serving.serving(None, address, is_opened=is_opened, fleet=fleet)

    await until_signal(work())


def made_at(paths: Iterable[Path]) -> datetime | None:
    """Return when the newest of these files, or files in these folders, was written."""
    every = [each for path in paths for each in (path, *path.rglob("*")) if each.is_file()]
    if not every:
        return None
    return datetime.fromtimestamp(max(each.stat().st_mtime for each in every), UTC)


def _sources(source: SourceOptions) -> ClusterSources:
    from numalet.core.cluster import building
    from numalet.insight.usecases.clusters import ClusterSources

    given = {
        "--fleet": source.fleet,
        "--dump": source.dump or None,
        "--kubeconfig": source.cluster.kubeconfig,
        "--context": source.cluster.context,
    }
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1 and named[0] in ("--fleet", "--dump"):
        raise input_error.Conflict(f"{named[0]} cannot be combined with {named[1]}").bad_input()
    return ClusterSources(
        paths=[str(source.fleet)] if source.fleet is not None else source.dump,
        class_file=source.classes.class_file,
        pool_label=source.classes.pool_label or building.POOL_LABEL,
        is_description=source.fleet is not None,
    )


def _opened(source: SourceOptions) -> OpenedCluster:
    from numalet.insight.usecases import clusters

    sources = _sources(source)
    if not source.is_live:
        return clusters.opened(sources)
    import asyncio

    from numalet.io.kube_api import api_objects

    server = source.cluster.access()
    listed = asyncio.run(api_objects.listed(server))
    return clusters.listed_cluster(listed, replace(sources, paths=[server.server]))


def serve(
    source: SourceOptions, shapes: Sequence[PodShape], listen: str, every_seconds: float
) -> None:
    """Serve metrics until SIGINT or SIGTERM. Raises ``BadInput`` if listening fails."""
    from numalet.cluster.serve import FleetServer
    from numalet.shared.web import addresses, http_service

    at = addresses.listen_address("--listen", listen)

    def ready(port: int) -> None:
        output.say(f"serving http://{replace(at, port=port)}/metrics")

    server = FleetServer(
        host=at.host,
        port=at.port,
        shapes=[(each.name, each.pod) for each in shapes],
        complain=output.show_findings,
        ready=ready,
        log=lambda message, keys: output.say(http_service.loop_error_text(message, keys)),
    )
    if source.is_live:
        classes = source.classes.followed()
        server.follow(source.cluster.access(), classes)
    else:
        server.read_again(every_seconds, lambda: _opened(source))


def emptied(cluster: Cluster) -> Cluster:
    from numalet.insight.fleet.evicting import without

    nodes = {
        name: replace(each, node=without(each.node, each.node.snapshot.pods))
        for name, each in cluster.nodes.items()
    }
    return replace(cluster, nodes=nodes, pods={})
