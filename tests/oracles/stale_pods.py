"""What a snapshot knows of stale records, held against a look at every record."""

from __future__ import annotations

from numalet.core.node.node import Node


def check(node: Node) -> None:
    """Fail if a manager would forget what is not known to be stale, or other than what is asked."""
    snapshot = node.snapshot
    known = snapshot.may_be_stale
    if known is None:
        return
    active, gone = snapshot.active_containers(), snapshot.gone(known)
    for slot in node.roster.slots:
        after = slot.forget_stale(snapshot, active)
        if not known:
            assert after is snapshot
        held = {key for key in slot.holders(snapshot) if key not in slot.holders(after)}
        assert {key.pod_uid for key in held} <= known
        if gone is not None:
            assert slot.forget_pods(snapshot, gone) == after
