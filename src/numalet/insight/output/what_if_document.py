"""The document of ``numalet what-if -o json``: the same pods on every variant of a node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from numalet.core.admission.reasons import Unknown
from numalet.core.config.behaviour import Mode
from numalet.core.model import numa_mask
from numalet.insight.explain.matrix import Run, VariantRow
from numalet.insight.output.json_schema import OutputDocument
from numalet.insight.simulate import simulation_document
from numalet.insight.simulate.simulation_document import RefusedDocument
from numalet.wording import kubelet_start


class StrandedDocument(OutputDocument):
    """Free resources of a NUMA node that no pod can get: bytes by type, number of CPUs."""

    node: int
    memory_bytes: dict[str, int]
    cpus: int


class EvictedDocument(OutputDocument):
    """Pods that are evicted for a critical pod."""

    pod: str
    evicted: list[str]


class PodsNotAskedDocument(OutputDocument):
    """A predicate that was not evaluated for these pods for lack of data."""

    predicate: str
    why: Unknown
    pods: list[str]


class PassedOverDocument(OutputDocument):
    """An extended resource that the node does not have, and the pods that run without it."""

    resource: str
    pods: list[str]


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


class Matrix(OutputDocument):
    """The same pods on every variant; ``seed`` is the seed of the shuffled orders."""

    schema: Literal["numalet.what-if/1"]
    seed: int
    variants: list[VariantDocument]


def matrix(rows: Iterable[VariantRow], seed: int) -> Matrix:
    return Matrix("numalet.what-if/1", seed, [_variant(row) for row in rows])


def _variant(row: VariantRow) -> VariantDocument:
    variant = row.variant
    refused = row.refused
    return VariantDocument(
        machine=variant.machine.name,
        config=variant.config.name,
        mode=variant.config.behaviour.mode,
        release=variant.config.behaviour.release.name,
        policy=variant.policy,
        scope=variant.scope,
        options=None if variant.options is None else dict(variant.options),
        pods=row.pods,
        start_error=None if refused is None else kubelet_start.text(refused),
        runs=[] if refused is not None else [_run(run) for run in row.runs],
    )


def _run(run: Run) -> OrderRunDocument:
    beside = run.beside
    return OrderRunDocument(
        admitted=run.admitted,
        rejected=[simulation_document.refused(*each) for each in run.rejected],
        replay_refused=[simulation_document.refused(*each) for each in run.replay_refused],
        evicted=[EvictedDocument(pod, list(names)) for pod, names in beside.evicted],
        not_asked=[
            PodsNotAskedDocument(each.predicate, each.why, list(pods))
            for each, pods in beside.not_asked.items()
        ],
        passed_over=[
            PassedOverDocument(resource, list(pods))
            for resource, pods in beside.passed_over.items()
        ],
        groups=[list(numa_mask.ids(group)) for group in run.groups],
        mean_span=run.mean_span,
        mean_distance=run.mean_distance,
        stranded=[
            StrandedDocument(each.node_id, dict(each.memory_bytes), each.cpus)
            for each in run.stranded
        ],
    )
