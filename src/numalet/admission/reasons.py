"""Why a pod is rejected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from numalet.hints.hint import Hint
from numalet.hints.reasons import Reason


@dataclass(frozen=True, slots=True)
class NotAligned:
    """The topology policy does not let the merged hint pass.

    ``subject`` is ``pod`` or the container whose hints were merged.
    """

    code: ClassVar[str] = "admission/not-aligned"
    subject: str
    policy: str
    affinity: Hint


@dataclass(frozen=True, slots=True)
class AllocationRefused:
    """A manager could not allocate for a container, although the policy let the hint pass."""

    code: ClassVar[str] = "admission/allocation-refused"
    container: str
    provider: str
    cause: Reason


@dataclass(frozen=True, slots=True)
class KubeletWouldCrash:
    """The kubelet would crash or hang on this pod; it is refused instead."""

    code: ClassVar[str] = "admission/kubelet-would-crash"
    subject: str
    provider: str
    cause: Reason


Rejection: TypeAlias = NotAligned | AllocationRefused | KubeletWouldCrash

CRASHES = frozenset({"memory/unknown-type", "cpu/would-hang"})
"""Codes of refusals at which the kubelet itself does not live on."""
