"""The subresource resize: what a kubelet of each release would answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalet.core.config.behaviour import EXACT
from numalet.core.config.releases import table
from servers import views
from servers.asking import asked
from servers.pods import pod
from servers.served import Api, served

PODS = "/api/v1/namespaces/default/pods"
RESIZE = f"{PODS}/a/resize"
STRATEGIC = "application/strategic-merge-patch+json"


@contextmanager
def _serving(root: Path, release: str) -> Iterator[Api]:
    """An API that has the pod ``a``."""
    behaviour = replace(EXACT, release=table.of_name(release))
    with served(root / "agent.sock", views.started(behaviour=behaviour)) as api:
        with api.client() as client:
            client.post(PODS, pod("a"))
        yield api
        assert api.bugs == []


def _sizes(**amounts: str) -> dict[str, Any]:
    resources = {"limits": amounts, "requests": amounts}
    return {"spec": {"containers": [{"name": "c", "resources": resources}]}}


def _resized(api: Api, patch: object) -> tuple[int, Any]:
    return asked(api.path, "PATCH", RESIZE, patch, content_type=STRATEGIC)


@pytest.mark.parametrize(
    ("release", "amounts", "text"),
    [
        (
            "1.33",
            {"memory": "5Gi"},
            "Infeasible: Resize is infeasible for Guaranteed Pods alongside CPU Manager static"
            " policy",
        ),
        (
            "1.34",
            {"memory": "5Gi"},
            "Infeasible: Resize is infeasible for Guaranteed Pods alongside Memory Manager policy"
            ' "Static"',
        ),
        (
            "1.36",
            {"cpu": "3"},
            "Infeasible: Resize is infeasible for Guaranteed Pods alongside CPU Manager policy"
            ' "static"',
        ),
    ],
)
def test_a_refusal_has_the_words_of_the_release(
    root: Path, release: str, amounts: dict[str, str], text: str
) -> None:
    with _serving(root, release) as api:
        before = asked(api.path, "GET", f"{PODS}/a")
        code, status = _resized(api, _sizes(**amounts))
        assert before == asked(api.path, "GET", f"{PODS}/a")
    assert (code, status["reason"]) == (422, "Invalid")
    (cause,) = status["details"]["causes"]
    assert cause["message"] == f"Forbidden: {text}"
    assert cause["field"] == "spec.containers[*].resources"


def test_what_does_not_change_is_answered_with_the_pod(root: Path) -> None:
    with _serving(root, "1.34") as api:
        shown = asked(api.path, "GET", f"{PODS}/a")
        assert shown == asked(api.path, "GET", RESIZE)
        assert shown == _resized(api, _sizes(memory="4096Mi"))
        assert shown == asked(api.path, "PUT", RESIZE, shown[1])


def test_without_in_place_resizing_there_is_no_such_path(root: Path) -> None:
    with _serving(root, "1.32") as api:
        for method in ("GET", "PATCH", "PUT"):
            code, status = asked(api.path, method, RESIZE, {})
            assert (code, status["reason"]) == (404, "NotFound")


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (
            {"spec": {"containers": [{"name": "c", "image": "web:2"}]}},
            "may not change fields other",
        ),
        ({"metadata": {"labels": {"a": "b"}}}, "may not change fields other"),
        (
            {"spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "1Gi"}}}]}},
            "Pod QOS Class may not change",
        ),
    ],
)
def test_nothing_but_sizes_may_change(root: Path, patch: dict[str, Any], message: str) -> None:
    with _serving(root, "1.35") as api:
        code, status = _resized(api, patch)
    assert code == 422
    assert message in status["message"]


def test_a_pod_that_is_not_there_is_not_resized(root: Path) -> None:
    with _serving(root, "1.35") as api:
        path = f"{PODS}/b/resize"
        assert asked(api.path, "PATCH", path, {}, content_type=STRATEGIC)[0] == 404


def test_a_pod_that_a_kubelet_would_resize_is_not(root: Path) -> None:
    with _serving(root, "1.35") as api:
        with api.client() as client:
            shared = pod("b")
            limits = shared["spec"]["containers"][0]["resources"]["limits"]
            shared["spec"]["containers"][0]["resources"] = {
                "limits": limits,
                "requests": {"memory": "1Gi"},
            }
            client.post(PODS, shared)
        patch = {
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "2Gi"}}}]}
        }
        code, status = asked(api.path, "PATCH", f"{PODS}/b/resize", patch, content_type=STRATEGIC)
    assert code == 422
    assert "a kubelet of release 1.35 would resize the pod" in status["message"]
