"""How the release that was followed is said; the default one goes without saying."""

from __future__ import annotations

from numalet.core.config.releases.table import DEFAULT


def is_said(name: str) -> bool:
    """Whether a release is one that texts name even where no user asked."""
    return name != DEFAULT.name


def kubelet(name: str) -> str:
    """The kubelet of a release, inside a sentence."""
    return f"the kubelet v{name}" if is_said(name) else "the kubelet"
