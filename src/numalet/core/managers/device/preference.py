"""The port for a plugin's preference: the only outside input of a decision.

The kubelet may query a plugin for preferred devices, and lets it accept or veto the choice. The
default calls no plugin: it prefers nothing and accepts everything. An implementation over a
connection records question and answer, so that a decision can be repeated exactly.

Kubelet: ``GetPreferredAllocation`` and ``Allocate`` of the plugin API v1beta1, v1.32.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value


class PreferenceQuestion(Value):
    """Which ``size`` devices of ``available`` the plugin prefers, including ``must_include``."""

    container: ContainerKey
    resource: str
    available: frozenset[str]
    must_include: frozenset[str]
    size: int


class Preferred(Value):
    """The devices that the plugin prefers, in any number; empty for no preference."""

    device_ids: frozenset[str] = frozenset()


class Accepted(Value):
    """The plugin accepts; ``response`` is the container's serialized response."""

    response: bytes = b""


class CallFailed(Value):
    """The plugin call ended with this error. For ``allocate`` it is a veto."""

    error: str


class EmptyAnswer(Value):
    """The plugin accepts, but its message, ``answer``, lists no container."""

    answer: str


AllocateAnswer: TypeAlias = Accepted | CallFailed | EmptyAnswer


class PreferredDevices(Protocol):
    """The plugins of a node."""

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """Return the preference of the resource's plugin."""
        ...

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        """Let the resource's plugin accept or veto the chosen devices."""
        ...


class NoSay(Value):
    """The pure default: no preference, no veto, an empty response."""

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        return _NO_PREFERENCE

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        return _ACCEPTED


_NO_PREFERENCE = Preferred()
_ACCEPTED = Accepted()
NO_SAY: PreferredDevices = NoSay()
