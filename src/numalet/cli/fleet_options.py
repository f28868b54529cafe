"""Options of ``numalet fleet``: the source of the cluster, and the output format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from numalet.cli.cluster_options import ClassOptions, ClusterOptions
from numalet.cli.options import REQUIRED, Options, Part, argument, option

if TYPE_CHECKING:
    from numalet.io.documents.pod_shapes import PodShape


class FleetFormat(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"


OUTPUT: Final = option("How the answer is printed.", name="-o", default=FleetFormat.TABLE)
POD: Final = argument(
    "A pod, Job or other workload (a file, '-' for the standard input), or what one asks for:"
    " nvidia.com/gpu=4,cpu=16,memory=128Gi.",
    "POD",
    default=REQUIRED,
)
WATCH: Final = option(
    "Stay, follow the cluster, and answer again within about a second when the answer is another"
    " one; not of --dump or --fleet, which stay as they are."
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


@contextmanager
def progress(whole: int, text: str) -> Iterator[Callable[[], None]]:
    """Return a function to call after each step; the bar is on the error stream."""
    from numalet.cli.progress import Progress

    bar = Progress(whole, text)
    try:
        yield bar.advance
    finally:
        bar.finish()


def shapes(given: Iterable[str]) -> tuple[PodShape, ...]:
    """Read the shapes. Raises ``BadInput``."""
    from numalet.io.documents import pod_shapes

    return pod_shapes.load(given)
