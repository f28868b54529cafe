"""The port through which a plugin states its preference: the one outside part of a decision.

A plugin may be asked which devices it prefers, and must accept what was chosen. The default
asks no plugin: it prefers nothing and accepts everything. An implementation of the port over a
connection writes down question and answer, so that a decision can be made again exactly.
Kubelet: ``GetPreferredAllocation`` and ``Allocate`` of the plugin API v1beta1, v1.32.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value


class PreferenceQuestion(Value):
    """Which of ``available`` would you give, ``must_include`` among them, ``size`` in all?"""

    container: ContainerKey
    resource: str
    available: frozenset[str]
    must_include: frozenset[str]
    size: int


class Preferred(Value):
    """The devices that the plugin prefers; none for no preference. Any number will do."""

    device_ids: frozenset[str] = frozenset()


class Accepted(Value):
    """The plugin accepts; ``response`` is what the container gets, serialized."""

    response: bytes = b""


class CallFailed(Value):
    """The call of the plugin ended with this error. After ``allocate`` it is a veto."""

    error: str


class EmptyAnswer(Value):
    """The plugin accepts and answers for no container; ``answer`` is its message as text."""

    answer: str


AllocateAnswer: TypeAlias = Accepted | CallFailed | EmptyAnswer


class PreferredDevices(Protocol):
    """The plugins of a node."""

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """What the plugin of the resource prefers."""
        ...

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        """Whether the plugin of the resource accepts the chosen devices."""
        ...


class NoSay(Value):
    """The pure default: no preference, no veto, nothing to hand to the container."""

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """No preference."""
        return _NO_PREFERENCE

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        """Accepted."""
        return _ACCEPTED


_NO_PREFERENCE = Preferred()
_ACCEPTED = Accepted()
NO_SAY: PreferredDevices = NoSay()
