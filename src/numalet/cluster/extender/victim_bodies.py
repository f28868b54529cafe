"""The bodies of ``preempt``, as kube-scheduler sends and reads them.

A scheduler whose extender is ``nodeCacheCapable`` sends uids of pods, else whole pods; it reads
uids in both cases. The answer lacks a member ``Error``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from numalet.cluster.extender import wire
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
    """The arguments of ``preempt``. Members have exactly the names of Go."""

    pod: msgspec.Raw = msgspec.field(name="Pod")
    whole: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="NodeNameToVictims")
    named: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="NodeNameToMetaVictims")

    def sets(self) -> Mapping[str, VictimSet]:
        """Return the victims of each node, by its name. Raises ``BadInput``."""
        # A scheduler that sends whole pods sends the other member too, empty.
        texts = self.whole or self.named or {}
        wire.check_nodes(len(texts))
        try:
            return {name: self._set(text) for name, text in texts.items()}
        except _UNREADABLE as error:
            raise BadInput([ExtenderBodyUnreadable(problem=f"{error} of a node")]) from None

    def _set(self, text: msgspec.Raw) -> VictimSet:
        if self.whole:
            whole = _WHOLE.decode(text)
            return VictimSet(
                tuple([pod.metadata.uid for pod in whole.pods or ()]), whole.violations
            )
        named = _NAMED.decode(text)
        return VictimSet(tuple([pod.uid for pod in named.pods or ()]), named.violations)


_WHOLE: Final = msgspec.json.Decoder(_Victims)
_NAMED: Final = msgspec.json.Decoder(_MetaVictims)
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_ARGUMENTS: Final = msgspec.json.Decoder(PreemptionArguments)


def arguments(body: bytes) -> PreemptionArguments:
    try:
        return _ARGUMENTS.decode(body)
    except _UNREADABLE as error:
        raise BadInput([ExtenderBodyUnreadable(problem=str(error))]) from None


def answer(sets: Mapping[str, VictimSet]) -> bytes:
    """Encode the answer to ``preempt``: the remaining nodes with their victims."""
    return msgspec.json.encode(
        {
            "NodeNameToMetaVictims": {
                name: _MetaVictims([_MetaPod(uid) for uid in each.uids], each.violations)
                for name, each in sets.items()
            }
        }
    )
