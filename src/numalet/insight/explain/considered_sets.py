"""Sets of NUMA nodes that a provider considered, and why it did not offer some.

The Memory Manager returns no hints if no set fits. Its search is repeated here, because the reasons
matter most in that case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

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
from numalet.core.model.value import Value
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.explain.explanation_types import (
    AnswerDocument,
    AnswerKind,
    ExplanationHolderDocument,
    SetDocument,
    reason_of,
)
from numalet.insight.explain.ranking import MOST_NODES
from numalet.wording import explanations, numbers

MEMORY_MANAGER = "memory"

NameOf: TypeAlias = Callable[[str], str]


def answers(
    roster: Roster,
    snapshot: Snapshot,
    pod: Pod,
    container: Container | None,
    hints: Mapping[str, ProviderHints],
    chosen: NumaMask | None,
    name_of: NameOf,
) -> list[AnswerDocument]:
    """Return all answers for a container, or for the pod if the container is not set.

    ``chosen`` is the set that the policy chose in the end; ``name_of`` names a pod by its uid.
    """
    wanted = _wanted(snapshot.memory, roster.all_nodes, chosen, name_of)
    asked = _asked(roster, snapshot.memory, pod, container)
    answered: list[AnswerDocument] = []
    for provider, of_resources in hints.items():
        impossible = [each for each in of_resources.values() if isinstance(each, Impossible)]
        if provider == MEMORY_MANAGER and asked and impossible:
            nothing = _of_memory(snapshot.memory, pod.uid, asked, wanted, AnswerKind.IMPOSSIBLE)
            nothing.reason = reason_of(impossible[0].reason)
            answered.append(nothing)
        elif of_resources:
            answered.extend(_of_provider(provider, roster, snapshot, of_resources, wanted))
        elif provider == MEMORY_MANAGER and asked:
            answered.append(
                _of_memory(snapshot.memory, pod.uid, asked, wanted, AnswerKind.NOTHING_FITS)
            )
        else:
            answered.append(_answer(provider, (), AnswerKind.NO_PREFERENCE))
    return answered


def memory_answer(
    roster: Roster, ledger: MemoryLedger, pod: Pod, container: Container, name_of: NameOf
) -> AnswerDocument | None:
    """Return the result of the Memory Manager's own search for a set, if it searches."""
    asked = _asked(roster, ledger, pod, container)
    if not asked:
        return None
    wanted = _wanted(ledger, roster.all_nodes, None, name_of)
    answer = _of_memory(ledger, pod.uid, asked, wanted, AnswerKind.SETS)
    if not any(each.offered for each in answer.sets):
        answer.answer = AnswerKind.NOTHING_FITS
    return answer


def memory_sets(
    roster: Roster, ledger: MemoryLedger, pod: Pod, container: Container
) -> list[NumaMask]:
    """Return the sets that the Memory Manager's own search offers; empty if it does not search."""
    asked = _asked(roster, ledger, pod, container)
    masks = _wanted(ledger, roster.all_nodes, None, str).masks if asked else ()
    return [mask for mask in masks if memory_hints.why_not(ledger, pod.uid, asked, mask) is None]


class _Wanted(Value):
    masks: tuple[NumaMask, ...]
    is_complete: bool
    name_of: NameOf


def _wanted(
    ledger: MemoryLedger, all_nodes: NumaMask, chosen: NumaMask | None, name_of: NameOf
) -> _Wanted:
    # Sets double with each node. On larger machines only the relevant ones are evaluated: single
    # nodes, groups, the chosen set with its neighbours, all nodes.
    node_ids = numa_mask.ids(all_nodes)
    if len(node_ids) <= MOST_NODES:
        return _Wanted(tuple(numa_mask.by_size(node_ids)), True, name_of)
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
    return _Wanted(tuple(order), False, name_of)


def _of_provider(
    provider: str,
    roster: Roster,
    snapshot: Snapshot,
    of_resources: ProviderHints,
    wanted: _Wanted,
) -> Iterator[AnswerDocument]:
    shared: dict[int, list[str]] = {}
    for resource, hints in of_resources.items():
        # Resources of one family share one object.
        shared.setdefault(id(hints), []).append(resource)
    for names in shared.values():
        hints = of_resources[names[0]]
        match hints:
            case NoPreference():
                yield _answer(provider, names, AnswerKind.NO_PREFERENCE)
            case Impossible(reason):
                answer = _answer(provider, names, AnswerKind.IMPOSSIBLE)
                answer.reason = reason_of(reason)
                yield answer
            case _:
                family: HintFamily = hints
                answer = _answer(provider, names, AnswerKind.SETS, wanted)
                answer.sets = _of_family(snapshot, family, wanted)
                if any(each.preferred is False for each in answer.sets):
                    answer.why_not_preferred = _needed(roster, family, ", ".join(names))
                yield answer


def _answer(
    provider: str, names: Iterable[str], kind: AnswerKind, wanted: _Wanted | None = None
) -> AnswerDocument:
    return AnswerDocument(
        provider=provider,
        resources=list(names),
        answer=kind,
        reason=None,
        sets=[],
        all_sets=wanted is None or wanted.is_complete,
        why_not_preferred=None,
    )


def _needed(roster: Roster, family: HintFamily, names: str) -> str:
    """Return how many NUMA nodes this family needs, if known; it prefers sets of this size."""
    match family:
        case CpuHintFamily():
            rule = family.as_rule
            assert roster.static_cpus is not None
            # The kubelet's static policy counts reserved CPUs when it determines the preferred
            # size.
            parts = sorted(family.sets.topology.nodes, key=lambda each: -each.cpus.bit_count())
            masks = [each.cpus for each in parts[: rule.preferred_size]]
            cpus = frozenset[int]().union(*map(cpu_mask.to_set, masks))
            return explanations.needed(
                rule.preferred_size,
                numbers.counted(family.count, "CPU"),
                cpus=len(cpus),
                reserved=len(cpus - roster.static_cpus.allocatable),
            )
        case TouchedSets():
            size = family.as_rule.preferred_size
            return explanations.needed(size, f"{family.requested} of {names}", cpus=0, reserved=0)
        case _:
            assert isinstance(family, MemoryHintFamily), family
            return explanations.needed(family.preferred_size, f"the {names}", cpus=0, reserved=0)


def _of_family(snapshot: Snapshot, family: HintFamily, wanted: _Wanted) -> list[SetDocument]:
    prefers = _preference(family, wanted)
    reasons = {mask: family.why_not(mask) for mask in wanted.masks}
    own = _own_holders(snapshot.cpu)
    return [
        _refused_set(mask, reason, own, wanted.name_of)
        if isinstance(reason, ReuseElsewhere)
        else _set(snapshot.memory, mask, reason, prefers(mask), wanted.name_of)
        for mask, reason in reasons.items()
    ]


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
) -> AnswerDocument:
    """Evaluate the sets with the Memory Manager's own search."""
    reasons = {mask: memory_hints.why_not(ledger, pod_uid, asked, mask) for mask in wanted.masks}
    # The preferred size is that of the smallest set which an empty machine would offer.
    sizes = [
        mask.bit_count()
        for mask, reason in reasons.items()
        if not isinstance(reason, TooLittleAllocatable)
    ]
    answer = _answer(MEMORY_MANAGER, asked, kind, wanted)
    answer.sets = [
        _set(ledger, mask, reason, mask.bit_count() == min(sizes, default=0), wanted.name_of)
        for mask, reason in reasons.items()
    ]
    return answer


def _set(
    ledger: MemoryLedger,
    mask: NumaMask,
    reason: Reason | None,
    preferred: bool | None,
    name_of: NameOf,
) -> SetDocument:
    if reason is None:
        return SetDocument(list(numa_mask.ids(mask)), True, preferred)
    group = reason.group if isinstance(reason, NodeInGroup | NodeInUse) else numa_mask.EMPTY
    return _refused_set(mask, reason, _holders(ledger, group), name_of)


def _refused_set(
    mask: NumaMask, reason: Reason, holders: Sequence[ContainerKey], name_of: NameOf
) -> SetDocument:
    """Return a set that is not offered.

    ``holders`` have memory on the group of the reason, or are the pod's containers with CPUs on
    these nodes.
    """
    is_own = isinstance(reason, ReuseElsewhere)
    names = dict.fromkeys(key.container if is_own else name_of(key.pod_uid) for key in holders)
    return SetDocument(
        list(numa_mask.ids(mask)),
        offered=False,
        preferred=None,
        why_not=reason_of(reason),
        brief=explanations.brief(reason, tuple(names)),
        held_by=[ExplanationHolderDocument(name_of(uid), container) for uid, container in holders],
    )


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
