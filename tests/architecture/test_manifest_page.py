"""The page about pod manifests names every field that is refused, warned of or ignored."""

from __future__ import annotations

import re

from architecture import tree
from numalet.adapters.documents import pod_fields, workload_fields

PAGE = (tree.DOCS / "reference" / "pod-manifests.md").read_text(encoding="utf-8")


def _names(heading: str) -> set[str]:
    """Fields of a pod or a container that stand as code in a chapter."""
    chapter = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0].split("\n\n`hostNetwork")[0]
    code = " ".join(re.findall(r"`([^`]*)`", chapter))
    words = set(re.findall(r"\w+", code))
    return words & (pod_fields.SPEC | pod_fields.CONTAINER)


def test_every_refused_field_is_named_and_no_other() -> None:
    others = {"restartPolicy", "resources", "env", "os"}
    assert _names("Refused") - others == workload_fields.REFUSED


def test_every_field_that_is_warned_of_is_named() -> None:
    assert _names("Warned of") == workload_fields.WARNED


def test_every_ignored_field_is_named_and_no_other() -> None:
    assert _names("Ignored") - {"image"} == workload_fields.IGNORED


def test_no_field_is_honoured_and_something_else_too() -> None:
    honoured = _names("Honoured") - {"restartPolicy", "env", "securityContext"}
    assert not honoured & (
        workload_fields.REFUSED | workload_fields.WARNED | workload_fields.IGNORED
    )
