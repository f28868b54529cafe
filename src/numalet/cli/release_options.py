"""Options that select the kubelet release to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from numalet.cli.options import Options, option
from numalet.core.model.findings import Findings

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


def release_option(text: str) -> Any:
    """Make a field the option that names a release, with this help text."""
    return option(text, "RELEASE", "--release", autocompletion=names)


class ReleaseOptions(Options):
    """The release to follow, by its name or by the version of a kubelet."""

    release: str | None = release_option(RELEASE_HELP)
    kubelet_version: str | None = option(
        "Version of the kubelet that is asked about; its release is followed.", "VERSION"
    )

    def kubelets(self) -> tuple[KubeletAtHand, ...]:
        """Return the kubelet of the given version. Raises ``BadInput`` for an invalid one."""
        if self.kubelet_version is None:
            return ()
        from numalet.io.documents import kubelet_version

        findings = Findings()
        kubelets = kubelet_version.of_option(self.kubelet_version, findings)
        findings.raise_errors()
        return kubelets
