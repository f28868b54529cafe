"""Versions of Kubernetes as people and machines write them, and the release that each is of.

``1.34``, ``v1.34``, ``v1.34.9``, ``1.34.9+k3s1`` and ``Kubernetes v1.34.9`` all mean release 1.34:
what a patch release, a distributor or a build adds changes no decision that is known here.
"""

from __future__ import annotations

import re
from typing import Final

from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT, NEWEST, RELEASES, named
from numalet.core.model.value import Value

_NUMBER: Final = r"(?:0|[1-9][0-9]{0,3})"
_VERSION: Final = (
    rf"(?:Kubernetes )?[vV]?({_NUMBER})\.({_NUMBER})(?:\.{_NUMBER})?(?:[-+][-+.~0-9A-Za-z_]*)?"
)
_LONGEST: Final = 128
_WITHOUT_SOURCE: Final = frozenset({"1.37"})


class MinorVersion(Value, order=True):
    """Major and minor number of a version, known here or not."""

    major: int
    minor: int

    @property
    def name(self) -> str:
        """As releases are named, for example ``1.34``."""
        return f"{self.major}.{self.minor}"

    @property
    def release(self) -> Release | None:
        """The release; None if it is not known."""
        return named(self.name)

    @property
    def nearest(self) -> Release:
        """The release, or the known one that is nearest to it."""
        return self.release or (RELEASES[0] if self._is_older else NEWEST)

    @property
    def why_unknown(self) -> str:
        """Why a release that is not known can not be followed."""
        if self.name in _WITHOUT_SOURCE:
            return "the source of its kubelet was not to be had"
        return f"it is {'older' if self._is_older else 'newer'} than all that are known"

    @property
    def _is_older(self) -> bool:
        oldest = minor_version(RELEASES[0].name)
        return oldest is not None and self < oldest


def minor_version(text: str) -> MinorVersion | None:
    """The numbers of a version; None if the text is none."""
    match = None
    if len(text) <= _LONGEST:
        # Compiled here, because few commands read a version.
        match = re.fullmatch(_VERSION, text.strip(), re.ASCII)
    return None if match is None else MinorVersion(int(match[1]), int(match[2]))


class FollowedRelease(Value):
    """The release by which a kubelet is judged, and its version; empty if that is not known."""

    release: Release = DEFAULT
    kubelet_version: str = ""

    @property
    def is_of_kubelet(self) -> bool | None:
        """Whether it is the release of the kubelet; None if the version is not known."""
        minor = minor_version(self.kubelet_version)
        return None if minor is None else minor.release is self.release

    @property
    def of_known_kubelet(self) -> Release | None:
        """The release, if the kubelet is of one that is known; else None."""
        minor = minor_version(self.kubelet_version)
        return None if minor is None or minor.release is None else self.release

    @property
    def may_have_unknown_rules(self) -> bool:
        """Whether the kubelet is of a release that is not known, and so perhaps its rules."""
        minor = minor_version(self.kubelet_version)
        return minor is not None and minor.release is None


NOT_SEEN: Final = FollowedRelease()
"""A kubelet of which nothing is known."""


def followed(chosen: Release | None, kubelet_version: str) -> FollowedRelease:
    """The release that was chosen, else that of the kubelet, or the one that is nearest to it."""
    minor = minor_version(kubelet_version)
    if minor is None:
        return FollowedRelease(chosen or DEFAULT)
    return FollowedRelease(chosen or minor.nearest, kubelet_version.strip())


def known_names() -> str:
    """The names of all known releases, for sentences."""
    return ", ".join(each.name for each in RELEASES)
