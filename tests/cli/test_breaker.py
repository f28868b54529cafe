"""``numalet breaker``: what its options mean, and what is said of those that mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Runner
from numalet.cli import breaker
from numalet.cluster.leading import LeaseName
from numalet.core.model.findings import Location
from numalet.io.kube_api.access import SERVICE_ACCOUNT
from numalet.io.kube_api.values import Access

KUBECONFIG = """{apiVersion: v1, kind: Config, current-context: c,
 contexts: [{name: c, context: {cluster: c}}],
 clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]}
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    return str(path)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--act", "prune,all"], "invalid --act 'prune,all'; expected some of prune,inform,taint"),
        (["--lease", "breaker"], "invalid --lease 'breaker'; expected NAMESPACE/NAME"),
        (["--lease", "a/b/c"], "invalid --lease 'a/b/c'; expected NAMESPACE/NAME"),
        (["--metrics", "127.0.0.1:many"], "invalid address '127.0.0.1:many'; expected [HOST:]PORT"),
        (
            ["--taint-for-waiting", "2"],
            "invalid --taint-for-waiting '2'; expected a duration",
        ),
        (["--taint-for-waiting", "0s"], "expected a duration above 0, such as 2m"),
        (
            ["--taint-for-waiting", "2m", "--owners", "Job/*"],
            "--taint-for-waiting cannot be combined with --owners",
        ),
        (["--audit", "/proc/none/audit"], "cannot write the audit to /proc/none/audit"),
        (["--metrics", "192.0.2.1:9647"], "cannot listen on '192.0.2.1:9647'"),
    ],
)
def test_what_can_not_be_used_is_a_finding(
    words: list[str], expected: str, kubeconfig: str, numalet: Runner
) -> None:
    ended = numalet("breaker", "--kubeconfig", kubeconfig, *words)
    assert ended.status == 2
    assert expected in ended.err
    assert "Traceback" not in ended.err


def test_an_option_is_given_once(numalet: Runner) -> None:
    ended = numalet("breaker", "--act", "prune", "--act", "inform")
    assert ended.status == 2
    assert "given 2 times" in ended.err


def test_undo_says_why_it_can_not(kubeconfig: str, numalet: Runner) -> None:
    ended = numalet("breaker", "undo", "--kubeconfig", kubeconfig)
    assert ended.status == 2
    assert "127.0.0.1:1" in ended.err


def test_in_a_pod_there_is_a_lease_and_elsewhere_only_if_it_is_named() -> None:
    there = Access(server="https://x", origin=Location("x"), namespace="system")
    pod = Access(
        server="https://x",
        origin=Location("x"),
        namespace="system",
        token_file=SERVICE_ACCOUNT / "token",
    )
    assert breaker._lease("", there) is None
    assert breaker._lease("", pod) == LeaseName("system", "numalet-breaker")
    assert breaker._lease("a/b", pod) == LeaseName("a", "b")


def test_a_length_of_time_is_in_seconds() -> None:
    assert breaker._waiting_seconds("1m30s", {"--owners": ""}) == 90.0
    assert breaker._waiting_seconds("", {"--owners": "Job/*"}) is None
