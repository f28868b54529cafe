"""What is to be done at the runtime, as values. Derived by ``steps``, done by ``performer``."""

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
    """Remove what the runtime has of a pod that is to go."""

    pod_uid: str


class Settle(Value):
    """The promises changed: bring what runs to what it is to have now."""


class Resync(Value):
    """Compare everything that runs with what is wanted, mend it, and see what it really has."""


Task: TypeAlias = StartContainer | StopContainer | ForgetPod | Settle | Resync
