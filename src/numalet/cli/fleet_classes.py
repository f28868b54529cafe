"""The class file of a cluster that is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numalet.cli import output

if TYPE_CHECKING:
    from numalet.cluster.following import FollowedClasses


def followed(class_file: str | None, pool_label: str | None) -> FollowedClasses:
    """What --class and --pool-label say; warnings about the file go to the error stream.

    Raises:
        BadInput: the file cannot be used.
    """
    from numalet.cluster import following

    classes = following.classes_of(class_file, pool_label)
    output.show_findings(classes.notes)
    return classes
