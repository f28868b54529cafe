"""Every release, oldest first, and those that are used by default."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Final

from numalet.core.config.releases.release import Release
from numalet.core.config.releases.v1_32 import V1_32
from numalet.core.config.releases.v1_33 import V1_33
from numalet.core.config.releases.v1_34 import V1_34
from numalet.core.config.releases.v1_35 import V1_35
from numalet.core.config.releases.v1_36 import V1_36
from numalet.core.config.releases.v1_37 import V1_37

RELEASES: Final = (V1_32, V1_33, V1_34, V1_35, V1_36, V1_37)
BASE: Final = V1_32
"""The release that the rules of later ones are differences from."""
NEWEST: Final = RELEASES[-1]
DEFAULT: Final = NEWEST
"""The release to follow where no kubelet and no user names one."""

_BY_NAME: Final = {each.name: each for each in RELEASES}


def named(name: str) -> Release | None:
    """Return the release of a name such as ``1.34``, if it is known."""
    return _BY_NAME.get(name)


def of_name(name: str) -> Release:
    """Return the release of a known name. Raises ``KeyError``."""
    return _BY_NAME[name]


def _pickled(release: Release) -> tuple[Callable[[str], Release], tuple[str]]:
    return of_name, (release.name,)


# Nodes travel between processes, and a release is the same value in each.
copyreg.pickle(Release, _pickled)
