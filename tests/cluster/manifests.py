"""The manifests of ``packaging/kubernetes`` as documents, and the folders that kubectl applies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

FOLDER: Final = Path(__file__).parents[2] / "packaging" / "kubernetes"
DEFINITIONS: Final = (FOLDER / "crds", FOLDER / "node-resource-topology")
Permission = tuple[str, str, str]
"""API group, resource, verb."""

ACCOUNTS: Final = (FOLDER / "base", FOLDER / "hollow")


def documents() -> Iterator[dict[str, Any]]:
    """Every object of every manifest."""
    for path in sorted(FOLDER.rglob("*.yaml")):
        if path.name != "kustomization.yaml":
            yield from filter(None, yaml.safe_load_all(path.read_text()))


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    """The objects of a kind by name."""
    return {each["metadata"]["name"]: each for each in documents() if each["kind"] == kind}


def permissions(role: dict[str, Any]) -> Iterator[Permission]:
    """API group, resource and verb of everything that a role allows."""
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield group, resource, verb
