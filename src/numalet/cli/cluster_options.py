"""Options for the connection to a cluster, shared by all commands that use one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from numalet.cli.options import Options, option
from numalet.core.model import input_error

if TYPE_CHECKING:
    from numalet.cluster.following import FollowedClasses
    from numalet.cluster.leading import LeaseName
    from numalet.io.kube_api.values import Access


class ClusterOptions(Options):
    """The API server and the credentials for it."""

    kubeconfig: Path | None = option(
        "Kubeconfig of the cluster; default: $KUBECONFIG, ~/.kube/config, or the service account of"
        " this pod.",
        "FILE",
    )
    context: str | None = option("Context of the kubeconfig; default: its current context.", "NAME")

    def access(self) -> Access:
        """Return how the API server is reached. Raises ``BadInput``."""
        from numalet.io.kube_api import access

        return access.of(self.kubeconfig, self.context)


class ClassOptions(Options):
    """The machines and configurations of nodes that do not publish theirs."""

    class_file: str | None = option(
        "A fleet file that describes the machine and configuration of nodes that do not publish"
        " them.",
        "FILE",
        "--class",
    )
    pool_label: str | None = option(
        "Label of nodes that names their pool. Default: node.kubernetes.io/instance-type.", "LABEL"
    )

    def followed(self) -> FollowedClasses:
        """Read the files, which are followed; print warnings about them.

        Raises ``BadInput`` if the file is unusable.
        """
        from numalet.cli import output
        from numalet.cluster import following

        classes = following.classes_of(self.class_file, self.pool_label)
        output.show_findings(classes.notes)
        return classes


def lease_name(text: str) -> LeaseName:
    """Parse ``NAMESPACE/NAME``. Raises ``BadInput``."""
    from numalet.cluster.leading import LeaseName

    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise input_error.Invalid(
            f"invalid --lease {text!r}", expected="NAMESPACE/NAME"
        ).bad_input()
    return LeaseName(namespace, name)


class ScoreOption(StrEnum):
    """The criterion for choosing among nodes that admit the pod."""

    PACK = "pack"
    SPREAD = "spread"
    CLOSEST = "closest"
