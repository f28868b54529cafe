"""Rules about policy options and gates whose effect the engine shows: it decides with and without.

The node decides on the given pods in their order when it is empty. If no given pod holds anything,
it decides on containers of every size instead. Options that choose between NUMA nodes have an
effect only when some of these are full; without pods, the machine says whether there is a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, permutations
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.config import feature_gates, policy_options
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import TopologyPolicy
from numalet.core.managers.cpu import cpu_mask, topology
from numalet.core.managers.cpu.topology import CpuTopology
from numalet.core.model import cpu_set, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace, without_keys
from numalet.core.node import largest_request
from numalet.core.node.node import Node
from numalet.core.snapshot.placement import Placement
from numalet.insight.lint import probes, starting
from numalet.insight.lint.lint_finding import LintFinding, LintWarning, some_of
from numalet.insight.lint.probes import Probe
from numalet.insight.lint.subject import LintSubject
from numalet.wording import numbers


class LintSettingChangesNothing(LintFinding):
    sentence = (
        "{setting} changes nothing on this machine ({machine}) for {pods}: without it they get the "
        "same CPUs, memory and devices{other}. {purpose}"
    )
    why = "The engine decided on these pods with the setting and without it, on the empty node."
    fix = "remove {setting}, unless other pods or machines need it"
    setting: str
    machine: str
    pods: str
    other: str
    purpose: str


class LintOptionsOpposeEachOther(LintWarning):
    sentence = (
        "{other} works against {option} on this machine ({machine}): {container} gets CPUs "
        "{cpus_with} ({goal_with}) with both, and {cpus_without} ({goal_without}) without {other}"
    )
    why = "The engine decided with both options and without one of them, on the empty node."
    fix = "remove {other} or {option}"
    option: str
    other: str
    machine: str
    container: str
    cpus_with: str
    cpus_without: str
    goal_with: str
    goal_without: str


_FEW_NODES: Final = 8
"""On more NUMA nodes a decision takes too long to search for a container that options affect."""
_CPU: Final = "cpuManagerPolicyOptions"
_TOPOLOGY: Final = "topologyManagerPolicyOptions"
_OFF: Final = ("0", "f", "F", "false", "FALSE", "False")
_PURPOSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        policy_options.ALIGN_BY_SOCKET: (
            "It widens an affinity from its NUMA nodes to their sockets; without a topology "
            "policy there is no affinity"
        ),
        policy_options.DISTRIBUTE_ACROSS_CORES: (
            "It takes CPUs in the order of their numbers; these are on different cores only if "
            "sibling threads have distant numbers"
        ),
        policy_options.DISTRIBUTE_ACROSS_NUMA: (
            "It divides the requests that no single NUMA node can hold"
        ),
        policy_options.PREFER_UNCORE_CACHE: (
            "It matters where a NUMA node has several caches of level 3"
        ),
        policy_options.PREFER_CLOSEST: (
            "It decides between sets of equally many NUMA nodes at different distances"
        ),
        policy_options.FULL_PCPUS_ONLY: "It matters where a core has several CPUs",
        policy_options.STRICT_RESERVATION: "It takes the reserved CPUs out of the shared pool",
        policy_options.MAX_ALLOWABLE: "It matters on machines with more than 8 NUMA nodes",
    }
)
_GUARDS: Final = (policy_options.FULL_PCPUS_ONLY, policy_options.STRICT_RESERVATION)
"""Options that refuse or reserve. Pods that comply with them are no reason to remove them."""
_OPTION_GATES: Final = (
    feature_gates.CPU_MANAGER_POLICY_OPTIONS,
    feature_gates.CPU_MANAGER_POLICY_ALPHA_OPTIONS,
    feature_gates.CPU_MANAGER_POLICY_BETA_OPTIONS,
    feature_gates.TOPOLOGY_MANAGER_POLICY_OPTIONS,
    feature_gates.TOPOLOGY_MANAGER_POLICY_ALPHA_OPTIONS,
    feature_gates.TOPOLOGY_MANAGER_POLICY_BETA_OPTIONS,
)
"""Gates that do nothing but allow options; other gates also change more than decisions."""
_GOALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        policy_options.ALIGN_BY_SOCKET: "socket",
        policy_options.PREFER_UNCORE_CACHE: "cache",
        policy_options.DISTRIBUTE_ACROSS_CORES: "core",
    }
)
"""Parts of the machine that the CPUs of a container are on: few sockets and caches, many cores."""


class _Setting(Value):
    """An option or gate that is set, and the configuration without it."""

    name: str
    place: str
    without: KubeletConfig

    @property
    def is_guard(self) -> bool:
        return self.name in _GUARDS

    @property
    def acts_at_start(self) -> bool:
        """Whether the setting only decides if the kubelet starts, and never about a pod."""
        return self.name in (policy_options.MAX_ALLOWABLE, *_OPTION_GATES)


_Moved: TypeAlias = tuple[Pod, str, CpuSet, CpuSet]
"""A pod, its container, and its CPUs with both of two options and without the other one."""

_Result: TypeAlias = tuple[tuple[Placement, ...], CpuSet]
"""The allocations of an admitted pod's containers, and the shared pool after it."""


def effects(subject: LintSubject, node: Node) -> Iterator[Finding]:
    settings = [*_settings(subject)]
    if not settings:
        return
    every = [*probes.every(node)]
    least = largest_request.unit_of(node.rules, resources.CPU)
    queues = [*_queues(every, least), (subject.pods, "")]
    nodes = {"": node}
    results = cache(lambda name, at: [*_results(nodes[name], queues[at][0])])
    pods = subject.pods if any(map(_holds, results("", -1))) else ()
    for setting in settings:
        name = setting.name
        without = starting.started(replace(subject, config=setting.without), {})
        if not isinstance(without, Node):
            continue
        if setting.acts_at_start:
            yield _changes_nothing(subject, setting, "any pod", "")
            continue
        nodes[name] = without
        if results("", -1) != results(name, -1) if pods else _chooses_nodes(subject, name):
            continue
        is_searched = not pods or setting.is_guard or len(subject.machine.nodes) <= _FEW_NODES
        searched = range(len(queues) - 1) if is_searched else ()
        different = (queues[at][1] for at in searched if results("", at) != results(name, at))
        affected = next(different, "")
        # Without given pods, and for guards, no container of any size may be affected.
        if not affected or (pods and not setting.is_guard):
            yield _changes_nothing(subject, setting, _in_words(pods, every, least), affected)
    compared = [-1] if pods else range(0, len(queues) - 1, 2)
    for option, other in permutations([name for name in nodes if name], 2):
        moved = (
            each
            for at in compared
            for each in _moved(queues[at][0], results("", at), results(other, at))
        )
        if option in _GOALS:
            yield from _opposing(subject, option, other, moved)


def _settings(subject: LintSubject) -> Iterator[_Setting]:
    """Yield the options and gates that are on and that the policies read."""
    config = subject.config
    for name in _on(config.cpu_manager_policy_options):
        left = without_keys(config.cpu_manager_policy_options or {}, (name,)) or None
        without = replace(config, cpu_manager_policy_options=left)
        yield _Setting(name, f"{_CPU}.{name}", without)
    for name in _on(config.topology_manager_policy_options) if subject.aligns else ():
        left = without_keys(config.topology_manager_policy_options or {}, (name,)) or None
        without = replace(config, topology_manager_policy_options=left)
        yield _Setting(name, f"{_TOPOLOGY}.{name}", without)
    for gate in _OPTION_GATES:
        if config.feature_gates.get(gate):
            without = replace(config, feature_gates=without_keys(config.feature_gates, (gate,)))
            yield _Setting(gate, f"featureGates.{gate}", without)


def _on(options: Mapping[str, str] | None) -> list[str]:
    return sorted(name for name, value in (options or {}).items() if value not in _OFF)


def _results(node: Node, pods: Iterable[Pod]) -> Iterator[_Result]:
    for pod in pods:
        node, decision = node.admit(pod)
        node = node.pod_started(pod.uid) if decision.admitted else node
        allocated = tuple(decision.placements.values())
        yield allocated, node.snapshot.cpu.default


def _holds(result: _Result) -> bool:
    return any(each.cpus or each.memory or each.devices for each in result[0])


def _chooses_nodes(subject: LintSubject, option: str) -> bool:
    """Return whether an option decides between NUMA nodes of this machine once some are full."""
    nodes = [each for each in subject.machine.nodes if each.cores]
    policy = subject.config.topology_manager_policy
    match option:
        case policy_options.PREFER_CLOSEST:
            others = (sorted(each.distances or ())[1:] for each in subject.machine.nodes)
            has_choice = len(set(chain.from_iterable(others))) > 1
        case policy_options.ALIGN_BY_SOCKET:
            sockets = {core.socket_id for each in nodes for core in each.cores}
            has_choice = subject.aligns and len(sockets) < len(nodes)
        case policy_options.DISTRIBUTE_ACROSS_NUMA:
            has_choice = len(nodes) > 1
        case _:
            has_choice = False
    return has_choice and policy != TopologyPolicy.SINGLE_NUMA_NODE.value


def _queues(every: Iterable[Probe], least: int) -> Iterator[tuple[tuple[Pod, ...], str]]:
    """Yield each container alone and after one with the least CPUs, with the words for it."""
    first = probes.of_cpus(least, "first")
    for probe in every:
        yield (probe.pod,), probe.asks
        yield (first, probe.pod), f"{probe.asks} after one with {least} of cpu"


def _in_words(pods: Sequence[Pod], every: Iterable[Probe], least: int) -> str:
    if not pods:
        words = probes.in_words(every)
        return f"a container with {words}, alone or after one with {least} of cpu"
    return some_of([str(each) for each in pods]) + (" in this order" if len(pods) > 1 else "")


def _changes_nothing(subject: LintSubject, setting: _Setting, pods: str, affected: str) -> Finding:
    unread = setting.name == policy_options.ALIGN_BY_SOCKET and not subject.aligns
    return LintSettingChangesNothing(
        setting=setting.name,
        machine=_machine(subject),
        pods=pods,
        other=f"; a container with {affected} would get others" if affected else "",
        purpose=_PURPOSES.get(setting.name, "It only allows options of a level"),
        where=subject.config.where(setting.place),
        severity=Severity.WARNING if unread else Severity.NOTE,
    )


def _machine(subject: LintSubject) -> str:
    nodes = numbers.counted(len(subject.machine.nodes), "NUMA node")
    return f"{nodes}, {numbers.counted(subject.machine.cpu_count, 'CPU')}"


def _opposing(
    subject: LintSubject, option: str, other: str, moved: Iterable[_Moved]
) -> Iterator[Finding]:
    """Yield the first container for which the other option works against the goal of this one."""
    machine = topology.discover(subject.machine)
    for pod, name, cpus, instead in moved:
        reached, possible = (_goal(option, machine, each) for each in (cpus, instead))
        if reached >= possible:
            continue
        named = f"container {name} of pod {pod}"
        yield LintOptionsOpposeEachOther(
            option=option,
            other=other,
            machine=_machine(subject),
            container=named if pod in subject.pods else f"a container with {len(cpus)} CPUs",
            cpus_with=cpu_set.text(cpus),
            cpus_without=cpu_set.text(instead),
            goal_with=numbers.counted(abs(reached), _GOALS[option]),
            goal_without=numbers.counted(abs(possible), _GOALS[option]),
            where=subject.config.where(f"{_CPU}.{option}"),
        )
        return


def _moved(
    pods: tuple[Pod, ...], results: Iterable[_Result], others: Iterable[_Result]
) -> Iterator[_Moved]:
    """Yield the containers that both nodes admit with different CPUs."""
    for pod, (allocated, _), (instead, _) in zip(pods, results, others, strict=True):
        # A rejected pod has no placements.
        for container, one, other in zip(pod.containers(), allocated, instead, strict=False):
            if one.cpus != other.cpus:
                yield pod, container.name, one.cpus, other.cpus


def _goal(option: str, machine: CpuTopology, cpus: CpuSet) -> int:
    """Return how well CPUs meet the goal of an option: higher is better."""
    held = cpu_mask.of_set(cpus)
    match option:
        case policy_options.ALIGN_BY_SOCKET:
            return -sum(bool(each.cpus & held) for each in machine.sockets)
        case policy_options.PREFER_UNCORE_CACHE:
            caches = [each for of_node in machine.uncores_of_node.values() for each in of_node]
            return -len({each.part_id for each in caches if each.cpus & held})
        case _:
            return sum(bool(each & held) for each in machine.cores.values())
