"""What the administrator decided that no kubelet knows: the fields of NumaletConfiguration.

Its written form stands beside a KubeletConfiguration (``io.documents.numalet_config``);
flags win over it.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour, Mode
from numalet.core.config.publish_settings import PublishSettings
from numalet.core.config.releases.release import Release
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import Value, replace


class NumaletConfig(Value, kw_only=True):
    """Our own settings; without arguments numalet does what the kubelet does.

    ``memory_node_classes`` None leaves those of the mode. ``general_predicates`` says whether the
    general predicates are asked after the managers; None where nothing is configured, and they are.
    ``release`` is the release that is followed; None leaves it to what else is known of it.
    ``publish`` is how the node is published; None where the file says nothing of it.
    """

    mode: Mode = Mode.EXACT
    memory_node_classes: tuple[NodeClass, ...] | None = None
    general_predicates: bool | None = None
    release: Release | None = None
    publish: PublishSettings | None = None

    @property
    def behaviour(self) -> Behaviour:
        """The rules that these settings come to."""
        rules = EXACT if self.mode is Mode.EXACT else NATIVE
        if self.mode is Mode.NATIVE and self.memory_node_classes is not None:
            rules = replace(rules, memory_node_classes=self.memory_node_classes)
        if self.general_predicates is not None:
            rules = replace(rules, predicates_are_asked=self.general_predicates)
        if self.release is not None:
            rules = replace(rules, release=self.release)
        return rules


AS_THE_KUBELET: Final = NumaletConfig()
"""What applies where nothing is configured."""
