"""Run one list of pods on many variants of a node, in one or several orders, and compare figures.

The caller provides the orders, because this module has no randomness. The figures are rows for a
DataFrame and for ``numalet what-if -o csv``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any, Final, Literal, TypeAlias

from numalet.core.admission.decision import Decision
from numalet.core.config.behaviour import EXACT, Behaviour, Mode
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused, TopologyPolicy
from numalet.core.model import numa_mask, resources
from numalet.core.model.findings import Finding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Pod
from numalet.core.model.value import OutputDocument, Value, replace
from numalet.core.node import node as nodes
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.core.workload.lifecycle import PodPhase
from numalet.insight import decision_notes
from numalet.insight.decision_notes import (
    EvictedDocument,
    PassedOverDocument,
    PodsNotAskedDocument,
)
from numalet.insight.explain import measures
from numalet.insight.explain.measures import StrandedDocument
from numalet.insight.simulate import simulation_document
from numalet.insight.simulate.session import NO_FILES, Session, StateFiles
from numalet.insight.simulate.simulation_document import RefusedDocument
from numalet.wording import kubelet_start

Order: TypeAlias = Sequence[int]
"""Positions of the pods in the list, in the order of their admission."""

Options: TypeAlias = tuple[tuple[str, str], ...]
"""Options of the topology policy."""


Causes: TypeAlias = Callable[[Session, Sequence[Decision]], Mapping[int, str]]
"""``explanation_document.causes``."""


class NamedMachine(Value, eq=False):
    """A machine and its name in the result.

    Its kubelets start with these state files. Pods of the files are treated as running, or only
    those in ``known_pods``.
    """

    name: str
    machine: MachineInfo
    devices: Devices = NO_DEVICES
    identity: NodeIdentity = UNKNOWN_NODE
    files: StateFiles = NO_FILES
    known_pods: frozenset[str] | None = None


class NamedConfig(Value, eq=False):
    name: str
    config: KubeletConfig
    behaviour: Behaviour = EXACT


class Variant(Value):
    """A possible node; without ``options``, those of the configuration apply."""

    machine: NamedMachine
    config: NamedConfig
    policy: str
    scope: str
    options: Options | None = None

    def start(self) -> Node | StartRefused:
        config = replace(
            self.config.config,
            topology_manager_policy=self.policy,
            topology_manager_scope=self.scope,
        )
        if self.options is not None:
            config = replace(config, topology_manager_policy_options=dict(self.options))
        known = self.machine.known_pods
        node = nodes.start(
            config,
            self.machine.machine,
            self.machine.files,
            self.machine.devices,
            behaviour=self.config.behaviour,
            identity=self.machine.identity,
        )
        if isinstance(node, StartRefused) or not self.machine.files:
            return node
        held = [key for key in node.leftovers() if known is None or key.pod_uid in known]
        return node.assume_running(held).release_stale()


class OrderRunDocument(OutputDocument):
    """The decisions on the pods in one order. Means are null if no pod has an allocation.

    ``replay_refused`` are rejected pods that run according to their status. If the variant is the
    present node, its real state differs from the state that this row is based on.
    """

    admitted: int
    rejected: list[RefusedDocument]
    replay_refused: list[RefusedDocument]
    evicted: list[EvictedDocument]
    not_asked: list[PodsNotAskedDocument]
    passed_over: list[PassedOverDocument]
    groups: list[list[int]]
    mean_span: float | None
    mean_distance: float | None
    stranded: list[StrandedDocument]


class VariantDocument(OutputDocument):
    """One variant of the node; if ``options`` is null, those of the configuration apply.

    ``policy`` and ``scope`` are the given texts, even if a kubelet does not start with them.

    The first run is in the order of the list.
    """

    machine: str
    config: str
    mode: Mode
    release: str
    policy: str
    scope: str
    options: dict[str, str] | None
    pods: int
    start_error: str | None
    runs: list[OrderRunDocument]

    @property
    def admitted(self) -> tuple[int, float, int]:
        """The minimum, median and maximum over the runs."""
        counts = [run.admitted for run in self.runs]
        return min(counts), median(counts), max(counts)

    @property
    def groups(self) -> float:
        return fmean(len(run.groups) for run in self.runs)

    @property
    def mean_span(self) -> float | None:
        return _mean(run.mean_span for run in self.runs)

    @property
    def mean_distance(self) -> float | None:
        return _mean(run.mean_distance for run in self.runs)

    def stranded_bytes(self, resource: str) -> dict[int, float]:
        """Return stranded memory of one type by NUMA node, as the mean over the runs."""
        return _by_node(self.runs, lambda each: each.memory_bytes.get(resource, 0))

    def stranded_cpus(self) -> dict[int, float]:
        """Return stranded CPUs by NUMA node, as the mean over the runs."""
        return _by_node(self.runs, lambda each: each.cpus)


class Matrix(OutputDocument):
    """The same pods on every variant; ``seed`` is the seed of the shuffled orders."""

    schema: Literal["numalet.what-if/1"]
    seed: int
    variants: list[VariantDocument]


class VariantRow(Value):
    """One variant, with the notes on its decisions, and why it does not start."""

    document: VariantDocument
    notes: tuple[Finding, ...] = ()
    refused: StartRefused | None = None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _by_node(
    runs: Sequence[OrderRunDocument], figure: Callable[[StrandedDocument], int]
) -> dict[int, float]:
    sums: dict[int, int] = {}
    for run in runs:
        for each in run.stranded:
            sums[each.node] = sums.get(each.node, 0) + figure(each)
    return {node_id: total / len(runs) for node_id, total in sums.items()}


def variants(
    machines: Sequence[NamedMachine],
    configs: Sequence[NamedConfig],
    policies: Sequence[str],
    scopes: Sequence[str],
    options: Sequence[Options | None],
) -> tuple[Variant, ...]:
    """Return every combination; under policy none, scopes and options make no difference."""
    # A dictionary instead of a set, to keep the order.
    distinct: dict[Variant, None] = {}
    for machine in machines:
        for config in configs:
            for policy in policies:
                for scope in scopes:
                    for chosen in options:
                        is_none = policy == TopologyPolicy.NONE.value
                        key = (scopes[0], None) if is_none else (scope, chosen)
                        distinct[Variant(machine, config, policy, *key)] = None
    return tuple(distinct)


def row(
    variant: Variant,
    pods: Sequence[Pod],
    orders: Sequence[Order],
    tick: Callable[[int], None],
    causes: Causes = lambda session, decisions: {},
) -> VariantRow:
    """Return the figures of one variant; ``tick`` gets the number of new admissions.

    ``causes`` explains the rejections in the first order.
    """
    # Started once: every order begins with the same immutable node.
    empty = variant.start()
    document = VariantDocument(
        machine=variant.machine.name,
        config=variant.config.name,
        mode=variant.config.behaviour.mode,
        release=variant.config.behaviour.release.name,
        policy=variant.policy,
        scope=variant.scope,
        options=None if variant.options is None else dict(variant.options),
        pods=len(pods),
        start_error=None,
        runs=[],
    )
    if isinstance(empty, StartRefused):
        tick(len(pods) * len(orders))
        document.start_error = kubelet_start.text(empty)
        return VariantRow(document, refused=empty)
    notes: list[Finding] = []
    named = {pod.uid: pod for pod in pods}
    session = Session(variant.config.config, variant.machine.machine, empty, pods=named)
    for at, order in enumerate(orders):
        in_order = [pods[position] for position in order]
        run, about_it = _run(session, in_order, (lambda *_: {}) if at else causes)
        document.runs.append(run)
        notes += about_it
        tick(len(order))
    return VariantRow(document, tuple(notes))


def _run(
    session: Session, pods: Sequence[Pod], causes: Causes
) -> tuple[OrderRunDocument, tuple[Finding, ...]]:
    """Return the result of one order, and the notes; a pod that is evicted later is not counted."""
    node, admitted = session.node, 0
    groups: dict[NumaMask, None] = {}
    spans = []
    decisions = []
    for pod in pods:
        node, decision = node.admit(pod)
        decisions.append(decision)
        if decision.rejection is not None:
            continue
        # An admission may evict pods that were admitted before.
        admitted += 1 - len(decision.evicted)
        span = measures.span_of(node.roster, node.snapshot, pod)
        if span:
            spans.append(span)
        node = node.pod_started(pod.uid)
        groups |= dict.fromkeys(measures.groups(node.snapshot))
    machine = node.rules.machine
    explained = causes(replace(session, node=node), decisions)
    rejected = [
        (each.pod, simulation_document.refused(each.pod, why, explained.get(id(each), "")))
        for each in decisions
        if (why := each.rejection) is not None
    ]
    beside = decision_notes.collect(decisions)
    run = OrderRunDocument(
        admitted=admitted,
        rejected=[each for _, each in rejected],
        replay_refused=[each for pod, each in rejected if pod.phase == PodPhase.RUNNING.value],
        evicted=beside.evicted,
        not_asked=beside.not_asked,
        passed_over=beside.passed_over,
        groups=[list(numa_mask.ids(group)) for group in sorted(groups)],
        mean_span=_mean(span.bit_count() for span in spans),
        mean_distance=_mean(measures.mean_distance(machine, span) for span in spans),
        stranded=measures.stranded(node, pods),
    )
    return run, decision_notes.notes(beside)


COLUMNS: Final = (
    "machine",
    "config",
    "policy",
    "scope",
    "options",
    "pods",
    "orders",
    "admitted_given_order",
    "admitted_min",
    "admitted_median",
    "admitted_max",
    "groups",
    "mean_span",
    "mean_distance",
    "stranded_memory_bytes",
    "stranded_memory_bytes_by_node",
    "stranded_cpus",
    "stranded_cpus_by_node",
    "start_error",
    "mode",
    "rejected_given_order",
    "release",
)


def figures(row: VariantDocument) -> dict[str, Any]:
    """Return a row as numbers; missing figures have no value."""
    cells: dict[str, Any] = dict.fromkeys(COLUMNS) | {
        "machine": row.machine,
        "config": row.config,
        "mode": row.mode.value,
        "release": row.release,
        "policy": row.policy,
        "scope": row.scope,
        "options": option_text(row.options or {}),
        "pods": row.pods,
    }
    if row.start_error is not None:
        return cells | {"start_error": row.start_error}
    fewest, middle, most = row.admitted
    memory, cpus = row.stranded_bytes(resources.MEMORY), row.stranded_cpus()
    return cells | {
        "orders": len(row.runs),
        "admitted_given_order": row.runs[0].admitted,
        "admitted_min": fewest,
        "admitted_median": middle,
        "admitted_max": most,
        "groups": row.groups,
        "mean_span": row.mean_span,
        "mean_distance": row.mean_distance,
        "stranded_memory_bytes": round(sum(memory.values())),
        "stranded_memory_bytes_by_node": {node: round(size) for node, size in memory.items()},
        "stranded_cpus": sum(cpus.values()),
        "stranded_cpus_by_node": cpus,
        "rejected_given_order": {each.pod: each.reason for each in row.runs[0].rejected},
    }


def table(rows: Iterable[VariantDocument]) -> list[Sequence[str]]:
    """Return the CSV rows, the heading first; missing figures are empty texts."""
    return [COLUMNS, *(_cells(row) for row in rows)]


def _cells(row: VariantDocument) -> Sequence[str]:
    return [_cell(figure) for figure in figures(row).values()]


def _cell(figure: object) -> str:
    match figure:
        case None:
            return ""
        case float():
            return f"{figure:.6g}"
        case dict():
            return ";".join(f"{key}={_exact(each)}" for key, each in figure.items())
        case _:
            return str(figure)


def _exact(figure: object) -> str:
    return f"{figure:.16g}" if isinstance(figure, float) else str(figure)


def option_text(options: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in options.items())
