"""The general predicates, asked about the pods of the books."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from numalet.admission.decision import Decision
from numalet.admission.predicates import Asking, Passed
from numalet.admission.preemption import Claim
from numalet.agent import wishes
from numalet.agent.books import Books
from numalet.node.node import Node
from numalet.workload import lifecycle
from numalet.workload.record import PodRecord
from numalet.workload.spec import Source, Workload

EVICTED: Final = "admission/preempted"
"""The cause in the verdict on a pod that was told to end for another one."""


def ask(
    books: Books, node: Node, decision: Decision, workload: Workload
) -> tuple[Node, Decision, tuple[str, ...]]:
    """The node and the decision after the general predicates, and who is evicted for the pod.

    Those who were evicted before count as gone, as the kubelet decides nothing until they are.
    """
    if not decision.admitted or not node.rules.behaviour.predicates_are_asked:
        return node, decision, ()
    spec = _spec(workload)
    asking = Asking(_claim(workload), wishes.selector(spec), wishes.affinity(spec))
    others = [
        _claim(each.workload)
        for uid, each in books.records.items()
        if uid in node.snapshot.pods and uid != workload.uid and not is_evicted(each)
    ]
    said = node.predicates(books.labels, asking, others)
    if isinstance(said, Passed):
        return node, decision, said.evicted
    after = node.remove(workload.uid)
    left = tuple(key for key in after.leftovers() if key.pod_uid == workload.uid)
    refused = replace(decision, rejection=said, left_behind=left, after=after.snapshot)
    return after, refused, ()


def is_evicted(record: PodRecord) -> bool:
    """Whether a pod was told to end for another one."""
    verdict = record.run.verdict
    return verdict is not None and verdict.cause == EVICTED


def is_leaving(record: PodRecord) -> bool:
    """Whether a pod was told so and something of it may still run."""
    return is_evicted(record) and not lifecycle.has_ended(record.workload, record.run)


def _claim(workload: Workload) -> Claim:
    priority = _spec(workload).get("priority")
    return Claim(
        pod=workload.pod,
        is_static=workload.source is Source.FILE,
        priority=priority if type(priority) is int else None,
        ports=wishes.ports(_spec(workload)),
    )


def _spec(workload: Workload) -> Mapping[str, Any]:
    spec = workload.manifest.get("spec")
    return spec if isinstance(spec, Mapping) else {}
