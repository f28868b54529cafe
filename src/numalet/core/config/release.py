"""Which Kubernetes release is imitated: a value, so that a second one is a second value."""

from __future__ import annotations

from enum import Enum


class Release(Enum):
    """A minor release of the kubelet."""

    V1_32 = "1.32"


DEFAULT = Release.V1_32
