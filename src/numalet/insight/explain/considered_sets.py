"""Sets of NUMA nodes that a provider considered, and why it did not offer some.

The Memory Manager returns no hints if no set fits. Its search is repeated here, because the reasons
matter most in that case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum

from numalet.core.admission import counting
from numalet.core.admission.roster import Roster
from numalet.core.config.rules import MemoryPolicy
from numalet.core.hints.provider import (
    WHOLE_POD,
    HintFamily,
    Impossible,
    NoPreference,
    ProviderHints,
    Reason,
)
from numalet.core.hints.rule import FamilyByRule
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.hints import CpuHintFamily
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.reasons import ReuseElsewhere
from numalet.core.managers.device.hints import TouchedSets
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.managers.memory import hints as memory_hints
from numalet.core.managers.memory.demand import Demand
from numalet.core.managers.memory.hints import MemoryHintFamily
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.managers.memory.reasons import (
    NodeInGroup,
    NodeInUse,
    NotAnInteger,
    TooLittleAllocatable,
)
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import Value, replace
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.explain.ranking import MOST_NODES

MEMORY_MANAGER = "memory"


class AnswerKind(Enum):
    NO_PREFERENCE = "no-preference"
    IMPOSSIBLE = "impossible"
    SETS = "sets"
    NOTHING_FITS = "nothing-fits"
    """No set fits; the Memory Manager returns no hints, instead of "impossible"."""


class SetAnswer(Value):
    """One set, offered if it has no ``reason``.

    ``preferred`` may be unknown. ``holders`` are the containers with memory on the group of the
    reason, or the pod's containers with CPUs on these nodes.
    """

    mask: NumaMask
    preferred: bool | None
    reason: Reason | None = None
    holders: tuple[ContainerKey, ...] = ()

    @property
    def offered(self) -> bool:
        return self.reason is None


class NeededNodes(Value):
    """How many NUMA nodes a provider needs; it prefers sets of this size.

    ``cpus`` counts the CPUs of this many largest nodes, ``reserved`` those of them that are never
    allocated; both are 0 for other resources.
    """

    count: int
    requested: int = 0
    cpus: int = 0
    reserved: int = 0


class ProviderAnswer(Value):
    """The answer of one provider for the resources that share it.

    ``resources`` is empty for a provider without hints. ``sets`` are in the order of hints;
    ``is_complete``: no set was left out. ``needed`` says why sets are not preferred, if known.
    """

    provider: str
    resources: tuple[str, ...]
    kind: AnswerKind
    reason: Reason | None = None
    sets: tuple[SetAnswer, ...] = ()
    is_complete: bool = True
    needed: NeededNodes | None = None


def answers(
    roster: Roster,
    snapshot: Snapshot,
    pod: Pod,
    container: Container | None,
    hints: Mapping[str, ProviderHints],
    chosen: NumaMask | None,
) -> tuple[ProviderAnswer, ...]:
    """Return all answers for a container, or for the pod if the container is not set.

    ``chosen`` is the set that the policy chose in the end.
    """
    wanted = _wanted(snapshot.memory, roster.all_nodes, chosen)
    asked = _asked(roster, snapshot.memory, pod, container)
    answered: list[ProviderAnswer] = []
    for provider, of_resources in hints.items():
        impossible = [each for each in of_resources.values() if isinstance(each, Impossible)]
        if provider == MEMORY_MANAGER and asked and impossible:
            nothing = _of_memory(snapshot.memory, pod.uid, asked, wanted, AnswerKind.IMPOSSIBLE)
            answered.append(replace(nothing, reason=impossible[0].reason))
        elif of_resources:
            answered.extend(_of_provider(provider, roster, snapshot, of_resources, wanted))
        elif provider == MEMORY_MANAGER and asked:
            answered.append(
                _of_memory(snapshot.memory, pod.uid, asked, wanted, AnswerKind.NOTHING_FITS)
            )
        else:
            answered.append(ProviderAnswer(provider, (), AnswerKind.NO_PREFERENCE))
    return tuple(answered)


def memory_answer(
    roster: Roster, ledger: MemoryLedger, pod: Pod, container: Container
) -> ProviderAnswer | None:
    """Return the result of the Memory Manager's own search for a set, if it searches."""
    asked = _asked(roster, ledger, pod, container)
    if not asked:
        return None
    wanted = _wanted(ledger, roster.all_nodes, None)
    answer = _of_memory(ledger, pod.uid, asked, wanted, AnswerKind.SETS)
    if any(each.offered for each in answer.sets):
        return answer
    return replace(answer, kind=AnswerKind.NOTHING_FITS)


class _Wanted(Value):
    masks: tuple[NumaMask, ...]
    is_complete: bool


def _wanted(ledger: MemoryLedger, all_nodes: NumaMask, chosen: NumaMask | None) -> _Wanted:
    # Sets double with each node. On larger machines only the relevant ones are evaluated: single
    # nodes, groups, the chosen set with its neighbours, all nodes.
    node_ids = numa_mask.ids(all_nodes)
    if len(node_ids) <= MOST_NODES:
        return _Wanted(tuple(numa_mask.by_size(node_ids)), is_complete=True)
    singles = {1 << node_id for node_id in node_ids}
    masks = singles | {node.group for node in ledger.nodes.values()} | {all_nodes}
    if chosen is not None:
        inside, outside = numa_mask.ids(chosen), numa_mask.ids(all_nodes & ~chosen)
        masks.add(chosen)
        # The chosen set with one node more, one node less, and one node exchanged.
        masks |= {chosen | 1 << node_id for node_id in outside}
        masks |= {chosen & ~(1 << node_id) for node_id in inside}
        masks |= {chosen & ~(1 << inside[-1]) | 1 << node_id for node_id in outside}
    order = sorted(masks - {0}, key=lambda mask: (mask.bit_count(), numa_mask.ids(mask)))
    return _Wanted(tuple(order), is_complete=False)


def _of_provider(
    provider: str,
    roster: Roster,
    snapshot: Snapshot,
    of_resources: ProviderHints,
    wanted: _Wanted,
) -> Iterator[ProviderAnswer]:
    shared: dict[int, list[str]] = {}
    for resource, hints in of_resources.items():
        # Resources of one family share one object.
        shared.setdefault(id(hints), []).append(resource)
    for names in shared.values():
        hints = of_resources[names[0]]
        resources = tuple(names)
        match hints:
            case NoPreference():
                yield ProviderAnswer(provider, resources, AnswerKind.NO_PREFERENCE)
            case Impossible(reason):
                yield ProviderAnswer(provider, resources, AnswerKind.IMPOSSIBLE, reason)
            case _:
                family: HintFamily = hints
                sets = _of_family(snapshot, family, wanted)
                yield ProviderAnswer(
                    provider,
                    resources,
                    AnswerKind.SETS,
                    sets=sets,
                    is_complete=wanted.is_complete,
                    needed=_needed(roster, family),
                )


def _needed(roster: Roster, family: HintFamily) -> NeededNodes | None:
    """Return how many NUMA nodes this family needs, if known."""
    match family:
        case CpuHintFamily():
            rule = family.as_rule
            assert roster.static_cpus is not None
            # The kubelet's static policy counts reserved CPUs when it determines the preferred
            # size.
            parts = sorted(family.sets.topology.nodes, key=lambda each: -each.cpus.bit_count())
            masks = [each.cpus for each in parts[: rule.preferred_size]]
            cpus = frozenset[int]().union(*map(cpu_mask.to_set, masks))
            return NeededNodes(
                rule.preferred_size,
                family.count,
                len(cpus),
                len(cpus - roster.static_cpus.allocatable),
            )
        case TouchedSets():
            return NeededNodes(family.as_rule.preferred_size, family.requested)
        case MemoryHintFamily():
            return NeededNodes(family.preferred_size)
        case _:
            return None


def _of_family(snapshot: Snapshot, family: HintFamily, wanted: _Wanted) -> tuple[SetAnswer, ...]:
    prefers = _preference(family, wanted)
    reasons = {mask: family.why_not(mask) for mask in wanted.masks}
    own = _own_holders(snapshot.cpu)
    return tuple(
        SetAnswer(mask, None, reason, own)
        if isinstance(reason, ReuseElsewhere)
        else _set_answer(snapshot.memory, mask, reason, prefers(mask))
        for mask, reason in reasons.items()
    )


def _own_holders(ledger: CpuLedger) -> tuple[ContainerKey, ...]:
    """Return containers of the decided pod whose CPUs its other containers may reuse."""
    reusable = ledger.reusable
    keys = ledger.holders(reusable.pod_uid)
    return tuple(key for key in keys if (ledger.cpus_of(*key) or frozenset()) & reusable.cpus)


def _preference(family: HintFamily, wanted: _Wanted) -> Callable[[NumaMask], bool | None]:
    """Return a test whether an offered set is preferred, as far as it is known."""
    if isinstance(family, FamilyByRule) and family.rule is not None:
        return family.rule.prefers
    listed: dict[NumaMask | None, bool] = {}
    if wanted.is_complete:
        listed = {hint.mask: hint.preferred for hint in family.hints()}
    return listed.get


def _of_memory(
    ledger: MemoryLedger, pod_uid: str, asked: Demand, wanted: _Wanted, kind: AnswerKind
) -> ProviderAnswer:
    """Evaluate the sets with the Memory Manager's own search."""
    reasons = {mask: memory_hints.why_not(ledger, pod_uid, asked, mask) for mask in wanted.masks}
    # The preferred size is that of the smallest set which an empty machine would offer.
    sizes = [
        mask.bit_count()
        for mask, reason in reasons.items()
        if not isinstance(reason, TooLittleAllocatable)
    ]
    sets = tuple(
        _set_answer(ledger, mask, reason, mask.bit_count() == min(sizes, default=0))
        for mask, reason in reasons.items()
    )
    return ProviderAnswer(
        MEMORY_MANAGER, tuple(asked), kind, sets=sets, is_complete=wanted.is_complete
    )


def _set_answer(
    ledger: MemoryLedger, mask: NumaMask, reason: Reason | None, preferred: bool | None
) -> SetAnswer:
    if reason is None:
        return SetAnswer(mask, preferred)
    group = reason.group if isinstance(reason, NodeInGroup | NodeInUse) else numa_mask.EMPTY
    return SetAnswer(mask, None, reason, _holders(ledger, group))


def _holders(ledger: MemoryLedger, group: NumaMask) -> tuple[ContainerKey, ...]:
    return tuple(
        sorted(
            key
            for key in ledger.holders()
            for block in ledger.blocks_of(*key) or ()
            if numa_mask.of(block.nodes) == group
        )
    )


def _asked(roster: Roster, ledger: MemoryLedger, pod: Pod, container: Container | None) -> Demand:
    """Return the demand on the Memory Manager; empty if it does not search for a set."""
    is_off = roster.rules.memory.policy is MemoryPolicy.NONE
    if is_off or not memory_demand.is_guaranteed(pod):
        return {}
    behaviour = roster.rules.behaviour
    is_pod = container is None or container.name == WHOLE_POD
    holding = pod.containers() if container is None or is_pod else (container,)
    # A container with an allocation keeps it: the kubelet's Memory Manager does not search again.
    if any(ledger.blocks_of(pod.uid, each.name) is not None for each in holding):
        return {}
    if is_pod and counting.is_placed_whole(pod, roster.rules.release_rules):
        asked = memory_demand.of_pod_level(pod, behaviour)
    elif container is None:
        asked = memory_demand.of_pod(pod, behaviour)
    else:
        asked = memory_demand.of_container(container, behaviour)
    if isinstance(asked, NotAnInteger) or memory_hints.missing_type(ledger.nodes, asked):
        return {}
    return asked
