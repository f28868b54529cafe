"""Choices, events and counters of the plugin."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import Final

from numalet.agent.nri.pod_annotations import NOTHING_PERMITTED, NoRoom, Permissions
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import Mutable, Value, field


class NriEvent(Enum):
    """Events by their number in StateChange; some have a call of their own instead."""

    RUN_POD_SANDBOX = 1
    STOP_POD_SANDBOX = 2
    REMOVE_POD_SANDBOX = 3
    CREATE_CONTAINER = 4
    POST_START_CONTAINER = 7
    UPDATE_CONTAINER = 8
    STOP_CONTAINER = 10
    REMOVE_CONTAINER = 11


def mask(*events: NriEvent) -> int:
    """Return the events as bits. 0 would mean all events, even those without a handler."""
    return sum(1 << (each.value - 1) for each in events)


EVENTS: Final = mask(*NriEvent)


class Mode(Enum):
    AUDIT = "audit"
    """Decide and report, and change nothing."""
    SHARED_ONLY = "shared-only"
    """Confine containers to shared CPUs, give no exclusive ones, and refuse nothing."""
    ENFORCE = "enforce"


class PinningChoice(Value):
    """``memory_nodes`` are the classes of NUMA nodes of pods that choose none, if some pod may."""

    mode: Mode = Mode.AUDIT
    no_room: NoRoom = NoRoom.REJECT
    permissions: Permissions = NOTHING_PERMITTED
    memory_nodes: frozenset[NodeClass] | None = None


class UnpinnedCause(Enum):
    """How a container came to run without its settings."""

    NOT_CONNECTED = "not-connected"
    NOT_ASKED = "not-asked"
    NO_ROOM = "no-room"
    AUDIT = "audit"

    @property
    def text(self) -> str:
        return _TEXTS[self]


_TEXTS: Final = {
    UnpinnedCause.NOT_CONNECTED: "started unpinned while numalet was not connected",
    UnpinnedCause.NOT_ASKED: "started unpinned: the runtime did not wait for numalet",
    UnpinnedCause.NO_ROOM: "runs in the shared pool: the node has no room for it",
    UnpinnedCause.AUDIT: "runs on other CPUs or NUMA nodes than numalet gave it",
}


class EventReason(Enum):
    """Reasons of the plugin's events about pods."""

    UNPINNED = "Unpinned"
    MISPLACED = "MemoryMisplaced"
    ANNOTATION_IGNORED = "AnnotationIgnored"
    DEVICES_UNKNOWN = "DevicesUnknown"
    OVERRIDDEN = "SetByAnotherProgram"


class PinningCounts(Mutable):
    containers: Counter[str] = field(default_factory=Counter)
    """Created containers by outcome: placed, shared, refused."""
    unpinned_starts: Counter[str] = field(default_factory=Counter)
    """By the value of ``UnpinnedCause``."""
    failures: Counter[str] = field(default_factory=Counter)
    """Exceptions by call of the runtime, or by task."""
    repaired: int = 0
    misplaced: int = 0
    unknown_devices: int = 0
    """Decisions without devices that a pod has."""
    calls: int = 0
    call_seconds: float = 0.0
    longest_call_seconds: float = 0.0
