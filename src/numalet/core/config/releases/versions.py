"""Versions of Kubernetes as people and machines write them, and their releases.

``1.34``, ``v1.34``, ``v1.34.9``, ``1.34.9+k3s1`` and ``Kubernetes v1.34.9`` all mean release 1.34:
patch releases, distributors and builds change no decision that numalet models.
"""

from __future__ import annotations

import re
from typing import Final

from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT, NEWEST, RELEASES, named
from numalet.core.model.value import Value, replace

_NUMBER: Final = r"(?:0|[1-9][0-9]{0,3})"
_VERSION: Final = (
    rf"(?:Kubernetes )?[vV]?({_NUMBER})\.({_NUMBER})(?:\.{_NUMBER})?(?:[-+][-+.~0-9A-Za-z_]*)?"
)
_LONGEST: Final = 128


class MinorVersion(Value, order=True):
    """Major and minor number of a version, with or without a known release."""

    major: int
    minor: int

    @property
    def name(self) -> str:
        """The release's name, for example ``1.34``."""
        return f"{self.major}.{self.minor}"

    @property
    def release(self) -> Release | None:
        return named(self.name)

    @property
    def nearest(self) -> Release:
        return self.release or (RELEASES[0] if self._is_older else NEWEST)

    @property
    def why_unknown(self) -> str:
        return f"it is {'older' if self._is_older else 'newer'} than all that are known"

    @property
    def _is_older(self) -> bool:
        return self < version_of(RELEASES[0])


def version_of(release: Release) -> MinorVersion:
    major, _, minor = release.name.partition(".")
    return MinorVersion(int(major), int(minor))


def minor_version(text: str) -> MinorVersion | None:
    """Parse the numbers of a version; None if the text is not a version."""
    match = None
    if len(text) <= _LONGEST:
        # Compiled here, because few commands read a version.
        match = re.fullmatch(_VERSION, text.strip(), re.ASCII)
    return None if match is None else MinorVersion(int(match[1]), int(match[2]))


class FollowedRelease(Value):
    """The release that numalet follows for a kubelet, and its version; empty if unknown."""

    release: Release = DEFAULT
    kubelet_version: str = ""
    is_chosen: bool = False
    """Whether the user chose the release."""

    @property
    def is_of_kubelet(self) -> bool | None:
        """Whether this is the kubelet's own release; None if its version is unknown."""
        minor = minor_version(self.kubelet_version)
        return None if minor is None else minor.release is self.release

    @property
    def of_known_kubelet(self) -> Release | None:
        """The followed release, if the kubelet's own release is known."""
        minor = minor_version(self.kubelet_version)
        return None if minor is None or minor.release is None else self.release

    @property
    def published(self) -> Release:
        """The release to publish: under its own name if it is unknown, which readers refuse."""
        minor = minor_version(self.kubelet_version)
        if minor is None or minor.release is not None or self.is_chosen:
            return self.release
        return replace(self.release, name=minor.name)

    @property
    def may_have_unknown_rules(self) -> bool:
        """Whether the kubelet's release is unknown, so that its rules may be, too."""
        minor = minor_version(self.kubelet_version)
        return minor is not None and minor.release is None


NOT_SEEN: Final = FollowedRelease()
"""A kubelet without known version."""


def followed(chosen: Release | None, kubelet_version: str) -> FollowedRelease:
    """Return the chosen release, else the kubelet's or the nearest known one."""
    minor = minor_version(kubelet_version)
    if minor is None:
        return FollowedRelease(chosen or DEFAULT, is_chosen=chosen is not None)
    return FollowedRelease(
        chosen or minor.nearest, kubelet_version.strip(), is_chosen=chosen is not None
    )


def known_names() -> str:
    return ", ".join(each.name for each in RELEASES)
