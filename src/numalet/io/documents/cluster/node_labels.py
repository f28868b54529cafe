"""A node's name and labels from flags, for commands without access to the node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from numalet.core.model import input_error, node_constraints
from numalet.core.model.findings import Findings, Location
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.pod import Pod

LABELS_FLAG: Final = "--node-labels"

_SET_BY_KUBELETS: Final = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""Labels that a node has even if the flag does not list them."""


def of_pods(name: str | None, labels: str | None, pods: Iterable[Pod]) -> NodeIdentity:
    """The given name, or the node of the pods. Raises ``BadInput`` for invalid labels."""
    node_name = name_of(name, pods)
    if labels is None:
        return NodeIdentity(name=node_name)
    # Same syntax as the kubelet's flag: ``a=b,c=d``.
    given = _parsed(labels)
    return NodeIdentity(
        name=node_name,
        labels=given,
        has_all_labels=True,
        unknown_labels=_SET_BY_KUBELETS - given.keys(),
    )


def name_of(name: str | None, pods: Iterable[Pod]) -> str:
    """The given name, or the one node that the pods are bound to; empty if unknown."""
    named = {pod.node_name for pod in pods if pod.node_name}
    return name or (min(named) if len(named) == 1 else "")


def _parsed(text: str) -> dict[str, str]:
    findings = Findings()
    labels: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if (
            not equals
            or not node_constraints.is_label_name(key)
            or not node_constraints.is_label_value(value)
        ):
            findings.add(
                input_error.Invalid(
                    f"invalid node label {part[:80]}",
                    expected="a label such as disk=ssd",
                    where=Location(LABELS_FLAG),
                )
            )
        labels[key] = value
    findings.raise_errors()
    return labels
