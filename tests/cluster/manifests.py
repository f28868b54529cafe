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

ACCOUNTS: Final = (
    FOLDER / "base",
    FOLDER / "hollow",
    FOLDER / "scheduler-sidecar",
    FOLDER / "breaker-measures",
    FOLDER / "extender-bind",
    FOLDER / "nri",
)
PROGRAMS: Final = (FOLDER / "extender", FOLDER / "second-scheduler", FOLDER / "breaker")
"""What runs in the cluster beside the agents; parts of it are of policy/v1."""


def configurations() -> dict[str, dict[str, Any]]:
    """Every KubeSchedulerConfiguration by its folder in ``packaging/kubernetes``."""
    files = [*FOLDER.glob("*/scheduler.yaml"), *FOLDER.glob("*/host/scheduler.yaml")]
    return {path.relative_to(FOLDER).parts[0]: yaml.safe_load(path.read_text()) for path in files}


def in_the_project(path: Path) -> bool:
    """Whether it is a file that a cluster is given, and not one of a control-plane node."""
    return "host" not in path.relative_to(FOLDER).parts


def documents() -> Iterator[dict[str, Any]]:
    """Every object of every manifest."""
    for path in sorted(FOLDER.rglob("*.yaml")):
        if path.name not in ("kustomization.yaml", "scheduler.yaml") and in_the_project(path):
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
