"""Options of ``numalet fleet``: the source of the cluster, and the output format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from numalet.cli.cluster_options import Context, Kubeconfig
from numalet.cli.option_groups import OptionGroup, in_group, option
from numalet.core.model.value import Value

if TYPE_CHECKING:
    from numalet.io.documents.pod_shapes import PodShape


class FleetFormat(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Output = Annotated[FleetFormat, typer.Option("-o", "--output", help="How the answer is printed.")]
Shape = Annotated[
    str,
    typer.Argument(
        metavar="POD",
        help="A pod, Job or other workload (a file, '-' for the standard input), or what one asks"
        " for: nvidia.com/gpu=4,cpu=16,memory=128Gi.",
        show_default=False,
    ),
]
Watch = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Stay, follow the cluster, and answer again within about a second when the answer is"
        " another one; not of --dump or --fleet, which stay as they are.",
    ),
]


class SourceOptions(Value, kw_only=True):
    """The source of the cluster, as given by the user."""

    kubeconfig: Path | None
    context: str | None
    dump: tuple[str, ...]
    fleet: Path | None
    class_file: str | None
    pool_label: str | None

    @property
    def is_live(self) -> bool:
        return not self.dump and self.fleet is None


def _made(
    kubeconfig: Path | None,
    context: str | None,
    dump: list[str] | None,
    fleet: Path | None,
    class_file: str | None,
    pool_label: str | None,
) -> SourceOptions:
    return SourceOptions(
        kubeconfig=kubeconfig,
        context=context,
        dump=tuple(dump or ()),
        fleet=fleet,
        class_file=class_file,
        pool_label=pool_label,
    )


_GROUP: Final = "The cluster (by default that of the kubeconfig)"
_KUBECONFIG: Final = option("kubeconfig", in_group(Kubeconfig, _GROUP))
_CONTEXT: Final = option("context", in_group(Context, _GROUP))
_DUMP: Final = option(
    "dump",
    Annotated[
        list[str] | None,
        typer.Option(
            "--dump",
            metavar="PATH",
            help="Output of 'kubectl get nodes,pods,pdb -A -o json', a folder of such files"
            " (must-gather), the same as .gz or .tar.gz, or '-'; repeatable.",
            rich_help_panel=_GROUP,
            show_default=False,
        ),
    ],
)
_FLEET: Final = option(
    "fleet",
    Annotated[
        Path | None,
        typer.Option(
            "--fleet",
            metavar="FILE",
            help="A description of a fleet: nodes by machine and configuration.",
            rich_help_panel=_GROUP,
            show_default=False,
        ),
    ],
)
ClassFile = Annotated[
    str | None,
    typer.Option(
        "--class",
        metavar="FILE",
        help="A description whose pools say of which machine and configuration nodes are that"
        " do not publish it.",
        show_default=False,
    ),
]
PoolLabel = Annotated[
    str | None,
    typer.Option(
        "--pool-label",
        metavar="LABEL",
        help="Label of nodes that names their pool. Default: node.kubernetes.io/instance-type.",
        show_default=False,
    ),
]
_CLASS_FILE: Final = option("class_file", in_group(ClassFile, _GROUP))
_POOL_LABEL: Final = option("pool_label", in_group(PoolLabel, _GROUP))
Source = Annotated[
    SourceOptions,
    OptionGroup((_KUBECONFIG, _CONTEXT, _DUMP, _FLEET, _CLASS_FILE, _POOL_LABEL), _made),
]


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
