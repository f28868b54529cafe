"""What is to be done at the runtime, as values. Derived by ``steps``, done by ``performer``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from numalet.core.model.pod import ContainerKey


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Start this attempt, which the state on the disk already names."""

    key: ContainerKey
    attempt: int


@dataclass(frozen=True, slots=True)
class StopContainer:
    """Let the container end, and kill it after this time."""

    key: ContainerKey
    grace_seconds: float


@dataclass(frozen=True, slots=True)
class ForgetPod:
    """Remove what the runtime has of a pod that is to go."""

    pod_uid: str


@dataclass(frozen=True, slots=True)
class Settle:
    """The promises changed: bring what runs to what it is to have now."""


@dataclass(frozen=True, slots=True)
class Resync:
    """Compare everything that runs with what is wanted, mend it, and see what it really has."""


Task: TypeAlias = StartContainer | StopContainer | ForgetPod | Settle | Resync
