"""Options that select the kubelet release to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from numalet.cli.option_groups import OptionGroup, option
from numalet.core.model.findings import Findings
from numalet.core.model.value import Value

if TYPE_CHECKING:
    from numalet.io.documents.kubelet_version import KubeletAtHand

RELEASE_HELP: Final = (
    "Release of the kubelet to follow, such as 1.34 or v1.34.9. Default: that of the kubelet at"
    " hand, else 1.32."
)


def names() -> list[str]:
    """Return the names of all releases, for the completion of command lines."""
    from numalet.core.config.releases.table import RELEASES

    return [each.name for each in RELEASES]


def named(help_text: str) -> Any:
    """Return the option that names a release, with this help text."""
    return typer.Option(
        "--release",
        metavar="RELEASE",
        help=help_text,
        autocompletion=names,
        show_default=False,
    )


class ReleaseOptions(Value):
    """The release to follow, by its name or by the version of a kubelet."""

    name: str | None = None
    kubelet_version: str | None = None

    def kubelets(self) -> tuple[KubeletAtHand, ...]:
        """Return the kubelet of the given version. Raises ``BadInput`` for an invalid one."""
        if self.kubelet_version is None:
            return ()
        from numalet.io.documents import kubelet_version

        findings = Findings()
        kubelets = kubelet_version.of_option(self.kubelet_version, findings)
        findings.raise_errors()
        return kubelets


RELEASE: Final = option(
    "release",
    Annotated[
        str | None,
        named(RELEASE_HELP),
    ],
)
KUBELET_VERSION: Final = option(
    "kubelet_version",
    Annotated[
        str | None,
        typer.Option(
            "--kubelet-version",
            metavar="VERSION",
            help="Version of the kubelet that is asked about; its release is followed.",
            show_default=False,
        ),
    ],
)
OPTIONS: Final = (RELEASE, KUBELET_VERSION)


def _made(release: str | None, kubelet_version: str | None) -> ReleaseOptions:
    return ReleaseOptions(release, kubelet_version)


Release = Annotated[ReleaseOptions, OptionGroup(OPTIONS, _made)]
