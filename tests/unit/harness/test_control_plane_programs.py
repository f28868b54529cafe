"""What a release of a control plane is started with, and why a folder has none."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from running import control_plane, control_plane_programs
from running.control_plane import ControlPlane
from running.control_plane_programs import ControlPlanePrograms
from running.server_programs import PATIENCE_SECONDS

RELEASES = range(20, 37)
# The release in which programs began to refuse a flag: of those that one would give them.
REMOVED = {
    "--kubelet-https": 22,
    "--policy-config-file": 23,
    "--algorithm-provider": 23,
    "--port": 24,
    "--address": 24,
    "--insecure-port": 24,
    "--insecure-bind-address": 24,
    "--service-account-api-audiences": 25,
    "--enable-taint-manager": 27,
    "--pod-eviction-timeout": 27,
}
# Without these an API server does not start, or lets everybody do everything.
NEEDED = {
    "--etcd-servers",
    "--service-account-issuer",
    "--service-account-key-file",
    "--service-account-signing-key-file",
    "--authorization-mode",
}


def of_release(minor: int) -> ControlPlanePrograms:
    return ControlPlanePrograms(Path("/programs"), Path("/programs/etcd"), (1, minor))


def fake_folder(folder: Path, version: str) -> Path:
    for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "etcd"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("minor", "version"),
    [(20, "v1beta1"), (22, "v1beta1"), (23, "v1beta3"), (24, "v1beta3"), (25, "v1"), (36, "v1")],
)
def test_the_schedulers_configuration_has_a_version_that_the_release_knows(
    minor: int, version: str
) -> None:
    given = of_release(minor).scheduler_configuration(Path("/k"), 12345, [])
    assert given["apiVersion"] == f"kubescheduler.config.k8s.io/{version}"


def test_later_schedulers_are_given_no_field_that_they_refuse() -> None:
    fields = {"healthzBindAddress", "metricsBindAddress"}
    old, new = (
        of_release(each).scheduler_configuration(Path("/k"), 12345, []) for each in (20, 36)
    )
    assert fields <= old.keys()
    assert not fields & new.keys()


def test_only_releases_that_have_a_port_without_tls_are_kept_from_it() -> None:
    flags = {minor: of_release(minor).plain_port_flags() for minor in (20, 23, 24, 36)}
    assert flags == {20: ["--port=0"], 23: ["--port=0"], 24: [], 36: []}


def test_the_release_is_that_of_the_api_server(tmp_path: Path) -> None:
    folder = fake_folder(tmp_path, "Kubernetes v1.36.2")
    there = control_plane_programs.in_folder(folder)
    assert there == ControlPlanePrograms(folder, folder / "etcd", (1, 36))


def test_a_folder_without_a_program_says_which_and_how_to_get_it(tmp_path: Path) -> None:
    (fake_folder(tmp_path, "Kubernetes v1.36.2") / "kube-scheduler").unlink()
    said = control_plane_programs.in_folder(tmp_path)
    build = f"build one with .ci/control-plane {tmp_path}"
    assert said == f"there is no kube-scheduler in {tmp_path}; {build}"


def test_a_program_without_a_version_is_no_api_server(tmp_path: Path) -> None:
    said = control_plane_programs.in_folder(fake_folder(tmp_path, "nothing"))
    assert said == f"{tmp_path / 'kube-apiserver'} does not say its version: "


def flags(command: tuple[str, ...]) -> set[str]:
    return {word.partition("=")[0] for word in command if word.startswith("--")}


@pytest.mark.parametrize("minor", RELEASES)
def test_no_program_is_given_a_flag_that_its_release_refuses(minor: int, tmp_path: Path) -> None:
    plane = ControlPlane(of_release(minor), tmp_path)
    given = {each.name: flags(each.command) for each in plane.all_servers}
    plane.end()
    refused = {flag for flag, since in REMOVED.items() if since <= minor}
    assert {name: own & refused for name, own in given.items() if own & refused} == {}
    assert given["kube-apiserver"] >= NEEDED
    # Only the scheduler and the controllers of old releases would listen without TLS.
    plain = {name for name, own in given.items() if "--port" in own}
    assert plain == ({"kube-scheduler", "kube-controller-manager"} if minor < 24 else set())


@pytest.mark.parametrize("minor", RELEASES)
def test_a_scheduler_is_given_the_extenders_and_how_to_reach_the_api_server(minor: int) -> None:
    extender = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"}
    given = of_release(minor).scheduler_configuration(Path("/k"), 12345, [extender])
    assert given["extenders"] == [extender]
    assert given["clientConnection"]["kubeconfig"] == "/k"
    assert not given["leaderElection"]["leaderElect"]


def test_budgets_are_asked_in_a_version_that_the_release_has() -> None:
    asked = {minor: of_release(minor).policy_version for minor in (20, 21, 24, 25, 36)}
    assert asked == {20: "v1beta1", 21: "v1", 24: "v1", 25: "v1", 36: "v1"}


def test_the_kubectl_that_came_with_the_servers_is_used(tmp_path: Path) -> None:
    programs = ControlPlanePrograms(tmp_path, tmp_path / "etcd", (1, 36))
    assert programs.kubectl == "kubectl"
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("")
    kubectl.chmod(0o755)
    assert programs.kubectl == str(kubectl)


def test_servers_without_etcd_get_the_one_that_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = tmp_path / "numalet" / "control-plane"
    built.mkdir(parents=True)
    fake_folder(built, "Kubernetes v1.20.2")
    newer = tmp_path / "newer"
    newer.mkdir()
    (fake_folder(newer, "Kubernetes v1.36.2") / "etcd").unlink()
    # As `make cluster BIN=FOLDER` does.
    monkeypatch.setenv(control_plane_programs.VARIABLE, str(newer))
    there = control_plane_programs.in_folder(control_plane_programs.default_folder())
    assert there == ControlPlanePrograms(newer, built / "etcd", (1, 36))


def answers(*statuses: int) -> list[httpx.Response]:
    return [httpx.Response(status, headers={"Retry-After": "7"}) for status in statuses]


def test_a_server_that_says_later_is_asked_again_when_it_says() -> None:
    left, waited = answers(429, 429, 200), list[float]()
    answer = control_plane.after_throttling(lambda: left.pop(0), waited.append)
    assert (answer.status_code, waited, left) == (200, [7.0, 7.0], [])


def test_a_server_that_says_later_for_ever_is_believed() -> None:
    waited: list[float] = []
    answer = control_plane.after_throttling(lambda: answers(429)[0], waited.append)
    assert answer.status_code == 429
    assert sum(waited) <= PATIENCE_SECONDS
