"""The head of every page about the node, and the list of pages."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from numalet.core.model.value import Value
from numalet.dashboard.sources import NodeView, SourceKind

KIND_WORDS: Final = {
    SourceKind.ENFORCING: "enforcing",
    SourceKind.OBSERVING: "observing",
    SourceKind.SIMULATED: "simulated",
}
KIND_MEANS: Final = {
    SourceKind.ENFORCING: "numalet decides here, and sets what it decides",
    SourceKind.OBSERVING: "a kubelet decides here; numalet only observes",
    SourceKind.SIMULATED: "a node that exists only here; nothing runs on it",
}

_PAGES: Final = (
    ("/", "Overview"),
    ("/node", "Node"),
    ("/pods", "Pods"),
    ("/what-if", "What if"),
    ("/history", "History"),
    ("/fleet", "Fleet"),
)


class PageHead(Value, kw_only=True):
    """The head of a page: the node, its manager, and the last change."""

    title: str
    kind: str
    kind_means: str
    release: str
    policy: str
    scope: str
    changed_at: str
    """ISO 8601, with its zone."""


def standing(view: NodeView) -> PageHead:
    rules = view.node.rules
    return PageHead(
        title=view.title,
        kind=KIND_WORDS[view.kind],
        kind_means=KIND_MEANS[view.kind],
        release=f"kubelet v{rules.behaviour.release.name}",
        policy=rules.topology.policy.value,
        scope=rules.topology.scope.value,
        changed_at=view.at.isoformat(timespec="seconds"),
    )


def pages(paths: Collection[str]) -> list[tuple[str, str]]:
    """Return path and name of the served pages for the navigation."""
    return [(path, name) for path, name in _PAGES if path in paths]
