"""The ResourceClaims of a pod and of its containers.

``pod_document`` checks the types of the fields; values of other types are skipped here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from numalet.core.model.pod import ContainerClaim, PodClaim


def of_pod(spec: object, status: object) -> tuple[PodClaim, ...]:
    given = _objects(spec, "resourceClaims")
    # Only the status names the claims that Kubernetes creates from templates.
    made = {_text(each, "name"): each for each in _objects(status, "resourceClaimStatuses")}
    return tuple(
        PodClaim(
            name=_text(each, "name"),
            claim=_text(each, "resourceClaimName")
            or _text(made.get(_text(each, "name"), {}), "resourceClaimName"),
            template=_text(each, "resourceClaimTemplateName"),
        )
        for each in given
    )


def of_container(resources: Mapping[str, Any] | None) -> tuple[ContainerClaim, ...]:
    return tuple(
        ContainerClaim(_text(each, "name"), _text(each, "request"))
        for each in _objects(resources, "claims")
    )


def _objects(value: object, name: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(_mappings(value.get(name) if isinstance(value, Mapping) else None))


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, Mapping):
            yield each


def _text(value: Mapping[str, Any], name: str) -> str:
    member = value.get(name)
    return member if isinstance(member, str) else ""
