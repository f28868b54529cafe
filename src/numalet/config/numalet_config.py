"""What the administrator decided that no kubelet knows: the fields of NumaletConfiguration.

Its written form stands beside a KubeletConfiguration (``adapters.documents.numalet_config``);
flags win over it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from numalet.config.behaviour import EXACT, NATIVE, Behaviour, Mode
from numalet.model.machine_queries import NodeClass


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaletConfig:
    """Our own settings; without arguments numalet does what the kubelet does.

    ``memory_node_classes`` None leaves those of the mode.
    """

    mode: Mode = Mode.EXACT
    memory_node_classes: tuple[NodeClass, ...] | None = None

    @property
    def behaviour(self) -> Behaviour:
        """The rules that these settings come to."""
        if self.mode is Mode.EXACT:
            return EXACT
        if self.memory_node_classes is None:
            return NATIVE
        return replace(NATIVE, memory_node_classes=self.memory_node_classes)


AS_THE_KUBELET: Final = NumaletConfig()
"""What applies where nobody says anything."""
