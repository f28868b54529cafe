"""Tasks for the runtime, as values: derived by ``steps``, done by ``worker``."""

from __future__ import annotations

from typing import TypeAlias

from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value


class StartContainer(Value):
    """Start this attempt, which is already on disk."""

    key: ContainerKey
    attempt: int


class StopContainer(Value):
    """End the container; kill it after this time."""

    key: ContainerKey
    grace_seconds: float


class ForgetPod(Value):
    """Remove a deleted pod's remains."""

    pod_uid: str


class Settle(Value):
    """Apply changed allocations to running containers."""


class Resync(Value):
    """Restore the settings of all running containers, and audit them."""


Task: TypeAlias = StartContainer | StopContainer | ForgetPod | Settle | Resync
