"""The fields of NumaletConfiguration: settings that a kubelet does not have.

``io.documents.numalet_config`` reads them from a file next to the KubeletConfiguration;
command-line flags override them.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour, Mode
from numalet.core.config.publish_settings import PublishSettings
from numalet.core.config.releases.release import Release
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import Value, replace


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
