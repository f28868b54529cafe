"""One line for each cause of a refusal, and whether other pods could make room by going.

A text has no figures of the node in it, so that nodes with one cause have one text.
"""

from __future__ import annotations

from typing import Final

from numalet.core.cluster.cluster import ClusterNode
from numalet.core.cluster.verdicts import NodeVerdict, try_out
from numalet.insight.fleet import obstacles
from numalet.insight.scheduling.shape_verdicts import ShapeVerdicts

_PREFIX: Final = "numalet: "
_MOST: Final = 100_000


def of(of: ShapeVerdicts, verdict: NodeVerdict, on: ClusterNode) -> tuple[str, bool]:
    """The text of a refusal by this node, and whether no eviction could help."""
    known = of.texts.get(verdict.key)
    if known is None:
        if len(of.texts) >= _MOST:
            of.texts.clear()
        known = of.texts[verdict.key] = _made(of, verdict, on)
    return known


def _made(of: ShapeVerdicts, verdict: NodeVerdict, on: ClusterNode) -> tuple[str, bool]:
    assert verdict.rejection is not None
    facts = of.reader.facts(on.name, on.node)
    counted = of.table.asking(facts.node_class).pod
    text = obstacles.of(facts, counted, verdict.rejection).text
    node = on.node
    for uid in tuple(node.snapshot.pods):
        node = node.remove(uid)
    return _PREFIX + text, try_out(node, of.table.pod).rejection is not None
