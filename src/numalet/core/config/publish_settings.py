"""What the administrator decided about publishing a node; it decides nothing about pods."""

from __future__ import annotations

from dataclasses import fields

from numalet.core.model.value import Value, replace

LEAST_REFRESH_SECONDS = 10.0
"""Objects that are written more often although nothing changes are a load for nothing."""


class PublishSettings(Value, kw_only=True):
    """Settings for publishing a node; None for settings that the file does not contain.

    ``kubeconfig`` is a path, ``context`` one of its contexts. ``node_resource_topology`` is whether
    that object is written too, ``force`` whether also where another manager owns its zones.
    It is written every ``refresh_seconds`` although nothing has changed. With ``configz`` a kubelet
    is asked for its configuration through the API server.
    """

    kubeconfig: str | None = None
    context: str | None = None
    node_resource_topology: bool | None = None
    force: bool | None = None
    refresh_seconds: float | None = None
    configz: bool | None = None

    def over(self, other: PublishSettings | None) -> PublishSettings:
        """These settings, and those of the other where these say nothing."""
        if other is None:
            return self
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})
