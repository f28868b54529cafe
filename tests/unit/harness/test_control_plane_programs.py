"""What a release of a control plane is started with, and why a folder has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from running import control_plane_programs
from running.control_plane_programs import ControlPlanePrograms


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
