"""The cause of a trap in one short text, whatever the number of shapes that the node refuses.

Each shape has its own obstacle, and most obstacles of one node follow from one fact, such as "no
CPU is free where the GPUs are". The text names the fact; the shapes are listed once beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.cluster.facts import StateFacts
from numalet.core.model import grammar, resources
from numalet.insight.fleet.obstacles import NeverTogether, NotOnOne, Obstacle, TooLittleTogether
from numalet.wording import numbers


def text(facts: StateFacts, stranded: Mapping[str, int], every: Iterable[Obstacle]) -> str:
    """Say why no shape can have what is ``stranded``, each cause once."""
    found = list(dict.fromkeys(every))
    # That a shape is larger than the machine strands nothing that a smaller one could have.
    if not all(isinstance(each, NeverTogether) for each in found):
        found = [each for each in found if not isinstance(each, NeverTogether)]
    apart = [each for each in found if isinstance(each, NotOnOne)]
    texts: list[str] = []
    if len(apart) > 1:
        beside = _beside(facts, stranded)
        texts += [beside] if beside else [apart[0].text]
        found = [each for each in found if not isinstance(each, NotOnOne)]
    smallest: dict[str, int] = {}
    for each in found:
        if isinstance(each, TooLittleTogether):
            asked = smallest.get(each.resource, each.asked)
            smallest[each.resource] = min(asked, each.asked)
    # What is too little for the smallest shape is too little for all.
    texts += [
        each.text
        for each in found
        if not isinstance(each, TooLittleTogether) or each.asked == smallest[each.resource]
    ]
    return "; ".join(dict.fromkeys(texts))


def _beside(facts: StateFacts, stranded: Mapping[str, int]) -> str:
    """Say on which NUMA nodes a stranded device is free, and what is free there beside it."""
    for resource in stranded:
        device = facts.devices.get(resource)
        if device is None:
            continue
        node_ids = facts.node.rules.machine.node_ids
        free = device.free_by_mask()
        where = [each for each in node_ids if any(mask >> each & 1 for mask in free)]
        there = _most_there(facts, where)
        if where and there:
            on = grammar.singular(f"NUMA nodes {', '.join(map(str, where))}")
            count = numbers.amount(resource, stranded[resource])
            return f"{count} of {resource} free on {on}; {there}"
    return ""


def _most_there(facts: StateFacts, where: Iterable[int]) -> str:
    static, there = facts.node_class.static_cpus, set(where)
    parts = []
    if static is not None:
        pairs = zip(static.topology.nodes, facts.free_cpus, strict=True)
        cpus = max((free for part, free in pairs if part.part_id in there), default=0)
        if not cpus:
            return "no CPU is free there"
        parts.append(numbers.counted(cpus, "CPU"))
    if facts.node_class.counts_memory:
        tables = [facts.memory[each].tables for each in there if each in facts.memory]
        sizes = [each[resources.MEMORY].free for each in tables if resources.MEMORY in each]
        parts.append(f"{numbers.size(max(sizes, default=0))} of memory")
    return f"at most {' and '.join(parts)} free on one of them" if parts else ""
