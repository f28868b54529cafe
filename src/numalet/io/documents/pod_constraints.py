"""What a manifest demands of its node: selector, affinity, host ports, system, strict groups.

Objects of a server may be of any shape in here, whatever release it has; what is none of the types
of Kubernetes is a constraint that no node meets.
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
    """The constraints in the ``spec`` of a Pod object."""
    given = _mapping(spec)
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
    """The terms of the required node affinity; None where there is no such thing."""
    of_nodes = _mapping(_mapping(spec.get("affinity")).get("nodeAffinity"))
    required = of_nodes.get(_REQUIRED)
    if required is None:
        return None
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
    """The ports of the host that its containers ask for; in the host's network all of theirs.

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
