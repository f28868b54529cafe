"""Explanations in words: reasons, hints, changes, figures of the ranking.

The sentence of a reason is a ``str.format`` template in its class, over its fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final, NamedTuple

from numalet.core.admission.reasons import NothingToPreempt, OutOfResource
from numalet.core.hints.provider import WHOLE_POD, Hint, Reason
from numalet.core.model import grammar, numa_mask, resources
from numalet.core.model.findings import Finding
from numalet.wording import numbers

WHOLE_POD_WORDS: Final = "the pod as a whole"
NOT_PER_NUMA_NODE: Final = "not allocated per NUMA node"
_REASON_MASKS = frozenset({"mask", "group", "best", "nodes"})


def sentence(about: Finding | Reason) -> str:
    """Return a finding with its place, or a reason with its causes, as a sentence."""
    return about.located if isinstance(about, Finding) else of_reason(about)


def of_reason(reason: Reason) -> str:
    values = {name: _shown_in_reason(name, value) for name, value in fields_of(reason).items()}
    if isinstance(reason, OutOfResource):
        for name in ("requested", "used", "capacity"):
            values[name] = numbers.amount(reason.resource, values[name])
    elif isinstance(reason, NothingToPreempt):
        lacking = (f"{numbers.amount(each, lack)} of {each}" for each, lack in reason.lacking)
        values["lacking"] = ", ".join(lacking)
    template = getattr(reason, "sentence", None)
    if isinstance(template, str):
        if values.get("container") == WHOLE_POD:
            values["container"] = WHOLE_POD_WORDS
            template = template.replace("Container {container}", "The pod as a whole")
            template = template.replace("container {container}", "{container}")
        return grammar.singular(template.format(**values))
    # The reason of a manager from outside the project may have no sentence.
    listed = ", ".join(f"{name}: {value}" for name, value in values.items())
    return f"{reason.code} ({listed})" if listed else reason.code


def fields_of(reason: object) -> dict[str, Any]:
    """Return the unformatted fields of a reason by name."""
    if not is_dataclass(reason):
        return {}
    return {field.name: getattr(reason, field.name) for field in fields(reason)}


def _shown_in_reason(name: str, value: Any) -> Any:
    if name.endswith("_bytes"):
        return numbers.size(value)
    if isinstance(value, Hint):
        return _not_preferred_merged(value)
    if name in _REASON_MASKS | {"affinity"} and isinstance(value, int):
        return numa_mask.text(value)
    if isinstance(value, Reason):
        return of_reason(value)
    return value


def hint(value: Hint) -> str:
    nodes = "any NUMA node" if value.mask is None else f"NUMA nodes {numa_mask.text(value.mask)}"
    return f"{nodes}, {'preferred' if value.preferred else 'not preferred'}"


def _not_preferred_merged(value: Hint) -> str:
    if value.mask is None:
        return "no set of NUMA nodes is common to all resource managers"
    best = numa_mask.text(value.mask)
    return f"the best set of NUMA nodes in common, {best}, is not preferred"


def verdict(policy: str, merged: Hint, *, admitted: bool) -> str:
    """Say whether a topology policy accepts the hint that the merge returned."""
    if admitted:
        return f"{policy} accepts {hint(merged)}"
    return f"{policy} rejects it: {_not_preferred_merged(merged)}"


_MOST_HOLDERS: Final = 2
_MOST_REFUSED: Final = 6
_MASKS: Final = frozenset({"mask", "group", "nodes"})
_SHORTAGES: Final = (
    ("asked_bytes", "free_bytes", "short_bytes"),
    ("asked_bytes", "allocatable_bytes", "short_bytes"),
    ("requested", "available", "short"),
    ("requested", "usable", "short"),
)


def brief(reason: Reason, holders: Sequence[str] = ()) -> str:
    """Say briefly why a set is not offered; ``holders`` hold the group of the reason."""
    template = getattr(reason, "brief", None)
    if not isinstance(template, str):
        return of_reason(reason)
    values = fields_of(reason)
    for asked, there, short in _SHORTAGES:
        if asked in values and there in values:
            values[short] = values[asked] - values[there]
    shown = {name: _shown(name, value) for name, value in values.items()}
    return grammar.singular(
        template.format(**shown, holders=numbers.some(holders, _MOST_HOLDERS) or "unknown pods")
    )


def _shown(name: str, value: object) -> object:
    if isinstance(value, int):
        if name.endswith("_bytes"):
            return numbers.rounded_size(value)
        if name in _MASKS:
            return numa_mask.text(value)
    return value


CATEGORIES: Final[Mapping[str, str]] = {
    "other-machine": "Another machine",
    "freed-pods": "Pods deleted first",
    "queue-order": "Another order",
    "policy-or-scope": "Another policy or scope",
    "whole-units": "A request in whole units",
    "fewer-containers": "One container fewer",
    "smaller-request": "A smaller request",
}
"""Titles of the kinds of changes."""

ENDED_EARLY: Final = "the search stopped early (--budget), there may be more"
IN_VAIN: Final = "tried without success"
WOULD_ADMIT: Final = "What would have admitted it"
WOULD_ALIGN: Final = "What would have aligned it"
SUGGESTION: Final = "Suggestion"
NO_WAY_OUT: Final = "Nothing that was tried would admit it."
NOTHING_ALIGNS: Final = "Nothing that was tried would align it."


def needed(count: int, asked: str, *, cpus: int, reserved: int) -> str:
    """Say why a manager prefers sets of ``count`` NUMA nodes; ``cpus`` are all their CPUs."""
    nodes = "a NUMA node has" if count == 1 else f"{count} NUMA nodes have"
    there = f"{cpus} CPUs" if cpus else "enough"
    state = f"{reserved} of them reserved" if reserved else "in use or not"
    fits = "one node" if count == 1 else f"{count} nodes"
    verb = "count" if asked.endswith("CPUs") else "counts"
    return f"{nodes} {there}, {state}, so {asked} {verb} as fitting {fits}"


class Gap(NamedTuple):
    """A resource that is short, in CPUs, bytes or devices: on the machine, or on small sets.

    ``state`` is "free" or "allocatable"; ``most`` is what there is. With ``size``, every set of so
    many NUMA nodes has too little; ``sets`` of them have the most, and ``where`` names them. With
    ``where`` alone it is the best set of any size, and ``sets`` the number of its NUMA nodes.
    """

    state: str
    resource: str
    asked: int
    most: int
    size: int = 0
    sets: int = 0
    where: str = ""


def gap(of: Gap) -> str:
    """Say what is needed and the best that exists: the words after the name of a container."""
    if of.resource == resources.CPU:
        asked, most = numbers.counted(of.asked, "CPU"), str(of.most)
    else:
        most = numbers.amount(of.resource, of.most)
        asked = f"{numbers.amount(of.resource, of.asked)} {of.resource}"
    if not of.size:
        if not of.where:
            return f"needs {asked}; the whole machine has {most} {of.state}"
        noun = "set of NUMA nodes" if of.sets > 1 else "node"
        return f"needs {asked}; the best {noun} has {most} {of.state} ({of.where})"
    there, noun = ("one NUMA node", "node") if of.size == 1 else (f"{of.size} NUMA nodes", "set")
    if not of.most:
        best = f"no {noun} has any {of.state}"
    elif of.sets == 1:
        best = f"the best {noun} has {most} {of.state} ({'node ' * (of.size == 1)}{of.where})"
    else:
        which = "nodes " * (of.size == 1)
        best = f"the best {noun}s have {most} {of.state} each ({which}{of.where})"
    return f"needs {asked} on {there}; {best}"


def not_preferred(why: str) -> str:
    return f"not preferred ({why})"


def more_sets(count: int) -> str:
    return "1 more set" if count == 1 else f"{count} more sets"


def stranded(pod: str, container: str, cpus: str) -> str:
    """Say that CPUs stay unused until their pod ends."""
    which, stay, them = ("CPU", "stays", "it") if cpus.isdecimal() else ("CPUs", "stay", "them")
    return (
        f"{which} {cpus} {stay} allocated to init container {container} of {pod}, and its other "
        f"containers do not use {them}"
    )


def tried(count: int, *, offers: int) -> str:
    """Say how many changes were tried, and how many helped."""
    return f"{count} tried, {offers} would do"


def in_vain(category: str, count: int) -> str:
    title = CATEGORIES[category]
    return f"{title[0].lower()}{title[1:]} ({count})"


def price(names: Sequence[str]) -> str:
    """Name the pods that would be rejected for it; empty without such pods."""
    return f"but would displace {numbers.some(names, _MOST_HOLDERS)}" if names else ""


THAT_RUN: Final = "that run"
BEFORE_IT: Final = "before it"


def replay_refused(refused: Sequence[tuple[str, str]], count: int, which: str) -> list[str]:
    """Return lines about the pods, with reasons, that the replay of the node's state rejects.

    ``which`` describes the pods: ``THAT_RUN`` or ``BEFORE_IT``.
    """
    was = "was" if len(refused) == 1 else "were"
    pods = "pod" if count == 1 else "pods"
    shown = [f"!   {name}: {reason}" for name, reason in refused[:_MOST_REFUSED]]
    more = len(refused) - _MOST_REFUSED
    return [
        f"! {len(refused)} of {count} {pods} {which} {was} rejected in this replay; if they run,",
        "! the answer is based on a state that differs from that of your node:",
        *shown,
        *([f"!   and {more} more"] if more > 0 else []),
    ]


def variants_refuse(refused: Sequence[tuple[str, str]]) -> list[str]:
    """Return lines that name running pods, each with the variants of a node that reject it."""
    runs, are = ("pod that runs", "is") if len(refused) == 1 else ("pods that run", "are")
    shown = [f"!   {name}: {variants}" for name, variants in refused[:_MOST_REFUSED]]
    more = len(refused) - _MOST_REFUSED
    return [
        f"! {len(refused)} {runs} {are} rejected here; for a variant that describes your node as",
        "! it is, this means that the state differs from that of your node:",
        *shown,
        *([f"!   and {more} more"] if more > 0 else []),
    ]


def ranking(wanted_size: int, *, is_preferred: bool, by_distance: bool) -> str:
    """Describe the ranking of the merge's finalists."""
    nearest = ["smaller distance"] if by_distance else []
    if is_preferred:
        order = ["fewer nodes", *nearest, "lower numbers"]
        return f"preferred by every provider; ranked by {', '.join(order)}"
    order = [
        f"size nearest to {numbers.counted(wanted_size, 'node')}",
        *nearest,
        "lower numbers",
    ]
    return f"no set is preferred by every provider; ranked by {', '.join(order)}"


NO_FINALISTS: Final = "no set of NUMA nodes is common to all providers"
SEARCHING: Final = "searching for what would have admitted the pod"
NOTHING_FITS: Final = "no set fits, so the manager states no preference"
NOT_ALL_SETS: Final = "other sets: too many to be listed on this machine"
NOT_SEARCHED: Final = "not searched (--budget 0)"
BOUNDED: Final = "stopped before all sets were compared; there may be a better one"
