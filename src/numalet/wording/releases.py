"""How texts name the kubelet's release; the default one is usually not named."""

from __future__ import annotations

from numalet.core.config.releases.table import DEFAULT


def is_said(name: str) -> bool:
    """Return whether texts name this release without a request of the user."""
    return name != DEFAULT.name


def kubelet(name: str) -> str:
    """Return the kubelet of a release, for use inside a sentence."""
    return f"the kubelet v{name}" if is_said(name) else "the kubelet"
