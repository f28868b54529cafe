"""The constraints of a pod on its node: selector, affinity, host ports, OS, strict groups.

Objects from a server may have any shape here, whatever their release; an invalid constraint matches
no node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from numalet.core.model.node_constraints import (
    EVERY_ADDRESS,
    UNCONSTRAINED,
    HostPort,
    NodeConstraints,
    NodeRequirement,
    Term,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_MEMBERS: Final = ("nodeSelector", "affinity", "os", "securityContext")
_NONSENSE: Final = NodeRequirement("", "")


def of_spec(spec: object) -> NodeConstraints:
    given = _mapping(spec)
    # Most pods have no constraints and share one value.
    if given.keys().isdisjoint(_MEMBERS) and not _may_have_ports(given):
        return UNCONSTRAINED
    name = _mapping(given.get("os")).get("name")
    groups = _mapping(given.get("securityContext")).get("supplementalGroupsPolicy")
    return NodeConstraints(
        selector=_mapping(given.get("nodeSelector")),
        affinity=_affinity(given),
        ports=tuple(_ports(given)),
        os_name=name if isinstance(name, str) else "",
        strict_groups=groups == "Strict",
    )


def _may_have_ports(spec: Mapping[str, Any]) -> bool:
    return any("ports" in _mapping(each) for each in _list(spec.get("containers")))


def _affinity(spec: Mapping[str, Any]) -> tuple[Term, ...] | None:
    of_nodes = _mapping(_mapping(spec.get("affinity")).get("nodeAffinity"))
    required = of_nodes.get(_REQUIRED)
    if required is None:
        return None
    # An empty list of terms matches no node, while an absent affinity matches all.
    return tuple(map(_term, _list(_mapping(required).get("nodeSelectorTerms"))))


def _term(value: object) -> Term:
    given = _mapping(value)
    return Term(
        tuple(map(_requirement, _list(given.get("matchExpressions")))),
        tuple(map(_requirement, _list(given.get("matchFields")))),
    )


def _requirement(value: object) -> NodeRequirement:
    given = _mapping(value)
    key, operator, values = (given.get(name) for name in ("key", "operator", "values"))
    texts = _list(values)
    if not (isinstance(key, str) and isinstance(operator, str)) or not all(
        isinstance(each, str) for each in texts
    ):
        return _NONSENSE
    return NodeRequirement(key, operator, tuple(texts))


def _ports(spec: Mapping[str, Any]) -> Iterator[HostPort]:
    """The host ports of the containers; with the host network, all their ports.

    Kubernetes: ``SetDefaults_Pod``, v1.32.
    """
    for container in _list(spec.get("containers")):
        for value in _list(_mapping(container).get("ports")):
            given = _mapping(value)
            number = given.get("hostPort") or 0
            if not number and spec.get("hostNetwork") is True:
                number = given.get("containerPort")
            protocol, address = given.get("protocol") or "TCP", given.get("hostIP") or EVERY_ADDRESS
            if type(number) is int and number > 0:
                yield HostPort(number, str(protocol), str(address))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
