"""What is to be done at the runtime, as values. Derived by ``steps``, done by ``worker``."""

from __future__ import annotations

from typing import TypeAlias

from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value


class StartContainer(Value):
    """Start this attempt, which the state on the disk already names."""

    key: ContainerKey
    attempt: int


class StopContainer(Value):
    """Let the container end, and kill it after this time."""

    key: ContainerKey
    grace_seconds: float


class ForgetPod(Value):
    """Remove everything that the runtime has of a deleted pod."""

    pod_uid: str


class Settle(Value):
    """After allocations changed, write the new settings of running containers."""


class Resync(Value):
    """Compare all running containers with the wanted settings, restore these, and audit."""


Task: TypeAlias = StartContainer | StopContainer | ForgetPod | Settle | Resync
