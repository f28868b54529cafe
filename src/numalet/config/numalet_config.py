"""What the administrator decided that no kubelet knows: the fields of NumaletConfiguration.

Its written form stands beside a KubeletConfiguration (``adapters.documents.numalet_config``);
flags win over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from numalet.config.behaviour import EXACT, NATIVE, Behaviour, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaletConfig:
    """Our own settings; without arguments numalet does what the kubelet does."""

    mode: Mode = Mode.EXACT

    @property
    def behaviour(self) -> Behaviour:
        """The rules that these settings come to."""
        return EXACT if self.mode is Mode.EXACT else NATIVE


AS_THE_KUBELET: Final = NumaletConfig()
"""What applies where nobody says anything."""
