"""Settings for publishing a node; they do not affect decisions on pods."""

from __future__ import annotations

from dataclasses import fields

from numalet.core.model.value import Value, replace

LEAST_REFRESH_SECONDS = 10.0
"""Writing unchanged objects more often only loads the API server."""


class PublishSettings(Value, kw_only=True):
    """Settings for publishing a node; None if the file does not set it.

    ``kubeconfig`` is a path, ``context`` one of its contexts. ``node_resource_topology``: write
    that object too; ``force``: even if another manager owns its zones. It is written every
    ``refresh_seconds`` even if unchanged. ``configz``: read the kubelet's configuration through the
    API server.
    """

    kubeconfig: str | None = None
    context: str | None = None
    node_resource_topology: bool | None = None
    force: bool | None = None
    refresh_seconds: float | None = None
    configz: bool | None = None

    def over(self, other: PublishSettings | None) -> PublishSettings:
        """Return these settings; the other's replace those that are None."""
        if other is None:
            return self
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})
