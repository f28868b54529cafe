"""The bodies of ``preempt``, as kube-scheduler sends and reads them.

A scheduler whose extender is ``nodeCacheCapable`` sends uids of pods, else whole pods; it reads
uids in both cases. There is no member ``Error``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from numalet.cluster.extender.findings import ExtenderBodyUnreadable
from numalet.core.model.findings import BadInput
from numalet.insight.scheduling.preempting import VictimSet


class _Named(msgspec.Struct):
    uid: str


class _Whole(msgspec.Struct):
    metadata: _Named


class _Victims(msgspec.Struct):
    pods: list[_Whole] | None = msgspec.field(default=None, name="Pods")
    violations: int = msgspec.field(default=0, name="NumPDBViolations")


class _MetaPod(msgspec.Struct):
    uid: str = msgspec.field(name="UID")


class _MetaVictims(msgspec.Struct):
    pods: list[_MetaPod] | None = msgspec.field(default=None, name="Pods")
    violations: int = msgspec.field(default=0, name="NumPDBViolations")


class PreemptionArguments(msgspec.Struct):
    """What ``preempt`` is asked. Members have exactly the names of Go."""

    pod: msgspec.Raw = msgspec.field(name="Pod")
    whole: dict[str, _Victims] | None = msgspec.field(default=None, name="NodeNameToVictims")
    named: dict[str, _MetaVictims] | None = msgspec.field(
        default=None, name="NodeNameToMetaVictims"
    )

    def sets(self) -> Mapping[str, VictimSet]:
        """The victims of each node, by its name."""
        # A scheduler that sends whole pods sends the other member too, empty.
        if self.whole:
            return {
                name: VictimSet(
                    tuple([pod.metadata.uid for pod in each.pods or ()]), each.violations
                )
                for name, each in self.whole.items()
            }
        return {
            name: VictimSet(tuple([pod.uid for pod in each.pods or ()]), each.violations)
            for name, each in (self.named or {}).items()
        }


_ARGUMENTS: Final = msgspec.json.Decoder(PreemptionArguments)


def arguments(body: bytes) -> PreemptionArguments:
    """What is asked. Raises ``BadInput``."""
    try:
        return _ARGUMENTS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput([ExtenderBodyUnreadable(problem=str(error))]) from None


def answer(sets: Mapping[str, VictimSet]) -> bytes:
    """What ``preempt`` answers: the nodes that stay, and whom it would cost there."""
    return msgspec.json.encode(
        {
            "NodeNameToMetaVictims": {
                name: _MetaVictims([_MetaPod(uid) for uid in each.uids], each.violations)
                for name, each in sets.items()
            }
        }
    )
