"""What a release of a control plane is started with, and why a folder has none."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from running import control_plane, control_plane_programs
from running.control_plane import ControlPlane
from running.control_plane_programs import ControlPlanePrograms, scheduler_configuration
from running.server_programs import PATIENCE_SECONDS

# Without these an API server does not start, or permits everything to everybody.
NEEDED = {
    "--etcd-servers",
    "--service-account-issuer",
    "--service-account-key-file",
    "--service-account-signing-key-file",
    "--authorization-mode",
}


def fake_folder(folder: Path, version: str) -> Path:
    for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "etcd"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
    return folder


def test_the_release_is_that_of_the_api_server(tmp_path: Path) -> None:
    folder = fake_folder(tmp_path, "Kubernetes v1.37.2")
    there = control_plane_programs.in_folder(folder)
    assert there == ControlPlanePrograms(folder, (1, 37))


@pytest.mark.parametrize("missing", ["kube-scheduler", "etcd"])
def test_a_folder_without_a_program_says_which_and_how_to_get_it(
    missing: str, tmp_path: Path
) -> None:
    (fake_folder(tmp_path, "Kubernetes v1.37.2") / missing).unlink()
    said = control_plane_programs.in_folder(tmp_path)
    assert said == f"there is no {missing} in {tmp_path}; .ci/control-plane builds one"


def test_a_program_without_a_version_is_no_api_server(tmp_path: Path) -> None:
    said = control_plane_programs.in_folder(fake_folder(tmp_path, "nothing"))
    assert said == f"{tmp_path / 'kube-apiserver'} does not print its version: "


def flags(command: tuple[str, ...]) -> set[str]:
    return {word.partition("=")[0] for word in command if word.startswith("--")}


def test_the_api_server_gets_the_flags_without_which_it_permits_everything(tmp_path: Path) -> None:
    plane = ControlPlane(ControlPlanePrograms(Path("/programs"), (1, 37)), tmp_path)
    given = {each.name: flags(each.command) for each in plane.all_servers}
    plane.end()
    assert given["kube-apiserver"] >= NEEDED


def test_a_scheduler_gets_the_extenders_and_the_address_of_the_api_server() -> None:
    extender = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"}
    given = scheduler_configuration(Path("/k"), [extender])
    assert given["extenders"] == [extender]
    assert given["clientConnection"]["kubeconfig"] == "/k"
    assert not given["leaderElection"]["leaderElect"]


def test_the_kubectl_that_came_with_the_servers_is_used(tmp_path: Path) -> None:
    programs = ControlPlanePrograms(tmp_path, (1, 37))
    assert programs.kubectl == "kubectl"
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("")
    kubectl.chmod(0o755)
    assert programs.kubectl == str(kubectl)


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
