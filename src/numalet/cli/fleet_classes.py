"""The class file of a cluster that is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numalet.cli import output

if TYPE_CHECKING:
    from numalet.cluster.following import FollowedClasses


def followed(class_file: str | None, pool_label: str | None) -> FollowedClasses:
    """Read --class and --pool-label; print warnings about the file.

    Raises ``BadInput`` if the file is unusable.
    """
    from numalet.cluster import following

    classes = following.classes_of(class_file, pool_label)
    output.show_findings(classes.notes)
    return classes
