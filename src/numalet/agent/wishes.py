"""What a manifest says of where its pod may be: selector, affinity, ports of the host.

A manifest is kept as it came, so that its parts may be of any type here; what is none of the types
of Kubernetes is no wish that a node could fulfil.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from numalet.admission.host_ports import EVERY_ADDRESS, HostPort
from numalet.admission.node_affinity import Requirement, Term

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_NONSENSE: Final = Requirement("", "")


def selector(spec: Mapping[str, Any]) -> Mapping[str, str]:
    """``nodeSelector``."""
    return _mapping(spec.get("nodeSelector"))


def affinity(spec: Mapping[str, Any]) -> tuple[Term, ...] | None:
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


def _requirement(value: object) -> Requirement:
    given = _mapping(value)
    key, operator, values = (given.get(name) for name in ("key", "operator", "values"))
    texts = _list(values)
    if not (isinstance(key, str) and isinstance(operator, str)) or not all(
        isinstance(each, str) for each in texts
    ):
        return _NONSENSE
    return Requirement(key, operator, tuple(texts))


def ports(spec: Mapping[str, Any]) -> tuple[HostPort, ...]:
    """The ports of the host that its containers ask for.

    A pod in the host's network asks for all of its ports. Kubernetes: ``SetDefaults_Pod``, v1.32.
    """
    return tuple(_ports(spec))


def _ports(spec: Mapping[str, Any]) -> Iterator[HostPort]:
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
