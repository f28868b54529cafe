"""The fields of NumaletConfiguration: settings that a kubelet does not have.

``io.documents.numalet_config`` reads them from a file next to the KubeletConfiguration;
command-line flags override them.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour, Mode
from numalet.core.config.releases.release import Release
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import Value, replace

LEAST_REFRESH_SECONDS = 10.0
"""Writing unchanged objects more often only loads the API server."""


class PublishSettings(Value, kw_only=True):
    """Settings for publishing a node; None if the file does not set it.

    ``kubeconfig`` is a path, ``context`` one of its contexts. ``node_resource_topology``: write
    that object too; ``force``: even if another manager owns its zones; ``numa_placement``: with the
    NUMA node of each container. It is written every ``refresh_seconds`` even if unchanged. ``kai``:
    write KAI's annotations on pods. ``configz``: read the kubelet's configuration through the API
    server.
    """

    kubeconfig: str | None = None
    context: str | None = None
    node_resource_topology: bool | None = None
    force: bool | None = None
    numa_placement: bool | None = None
    kai: bool | None = None
    refresh_seconds: float | None = None
    configz: bool | None = None

    def over(self, other: PublishSettings | None) -> PublishSettings:
        """Return these settings; the other's replace those that are None."""
        if other is None:
            return self
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})


class NumaletConfig(Value, kw_only=True):
    """numalet's own settings; the defaults are the kubelet's behaviour.

    ``memory_node_classes``: None keeps those of the mode. ``general_predicates``: whether the
    general predicates run after the managers; None, the default, means they do. ``release``: the
    release that numalet follows; None: detect it. ``publish``: None if the file does not set it.
    """

    mode: Mode = Mode.EXACT
    memory_node_classes: tuple[NodeClass, ...] | None = None
    general_predicates: bool | None = None
    release: Release | None = None
    publish: PublishSettings | None = None

    @property
    def behaviour(self) -> Behaviour:
        rules = EXACT if self.mode is Mode.EXACT else NATIVE
        if self.mode is Mode.NATIVE and self.memory_node_classes is not None:
            rules = replace(rules, memory_node_classes=self.memory_node_classes)
        if self.general_predicates is not None:
            rules = replace(rules, predicates_are_asked=self.general_predicates)
        if self.release is not None:
            rules = replace(rules, release=self.release)
        return rules


AS_THE_KUBELET: Final = NumaletConfig()
"""The settings without a configuration."""
