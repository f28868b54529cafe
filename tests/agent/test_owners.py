"""Other owners of CPUs and memory are found, and a kubelet that pins is not fought."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from numalet.agent.controller import owners
from numalet.agent.controller.owners import Owner, OwnerKind, Places
from numalet.core.model.findings import BadInput


def _places(tmp_path: Path) -> Places:
    for name in ("proc", "kubelet", "run"):
        (tmp_path / name).mkdir(exist_ok=True)
    return Places(
        proc=tmp_path / "proc", kubelet_root=tmp_path / "kubelet", nri_socket=tmp_path / "run" / "n"
    )


def _process(places: Places, number: int, name: str, *arguments: str) -> None:
    folder = places.proc / str(number)
    folder.mkdir()
    (folder / "comm").write_text(name[:15] + "\n")
    (folder / "cmdline").write_bytes("\0".join([name, *arguments]).encode())


def test_an_empty_machine_has_no_owner(tmp_path: Path) -> None:
    assert owners.find(_places(tmp_path)) == ()


@pytest.mark.parametrize(
    ("cpu", "memory", "kind"),
    [
        ("none", "None", OwnerKind.KUBELET),
        ("static", "None", OwnerKind.STATIC_KUBELET),
        ("none", "Static", OwnerKind.STATIC_KUBELET),
    ],
)
def test_a_kubelet_is_found_and_asked_for_its_policies(
    tmp_path: Path, cpu: str, memory: str, kind: OwnerKind
) -> None:
    places = _places(tmp_path)
    _process(places, 7, "kubelet", f"--root-dir={places.kubelet_root}")
    (places.kubelet_root / "cpu_manager_state").write_text(f'{{"policyName":"{cpu}"}}')
    (places.kubelet_root / "memory_manager_state").write_text(f'{{"policyName":"{memory}"}}')
    (found,) = owners.find(places)
    assert kind is found.kind
    assert "process 7" in found.who


def test_a_kubelet_without_state_files_may_pin(tmp_path: Path) -> None:
    places = _places(tmp_path)
    _process(places, 7, "kubelet", f"--root-dir={places.kubelet_root}")
    assert [each.kind for each in owners.find(places)] == [OwnerKind.STATIC_KUBELET]


def test_other_owners_are_found_by_name_and_by_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = _places(tmp_path)
    _process(places, 8, "numad")
    _process(places, 9, "nri-resource-policy-balloons")
    _process(places, 10, "bash")
    (places.proc / "self").mkdir()
    monkeypatch.chdir(places.nri_socket.parent)
    short = Path(places.nri_socket.name)
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        listener.bind(str(short))
        listener.listen()
        found = owners.find(replace(places, nri_socket=short))
    assert {OwnerKind.OTHER} == {each.kind for each in found}
    said = " | ".join(each.who for each in found)
    assert all(word in said for word in ("process 8, numad", "process 9, nri-", "NRI socket"))
    assert len(found) == 3
    assert len(owners.find(replace(places, nri_socket=short))) == 2


def test_a_kubelet_that_pins_is_not_fought() -> None:
    owners.refuse_to_enforce((Owner(OwnerKind.OTHER, "x"), Owner(OwnerKind.KUBELET, "y")))
    with pytest.raises(BadInput) as refused:
        owners.refuse_to_enforce((Owner(OwnerKind.STATIC_KUBELET, "kubelet 7"),))
    assert "kubelet 7" in str(refused.value.findings[0])


STATIC = '{"policyName":"static"}'


@pytest.mark.parametrize(("cpu", "found"), [(STATIC, 1), ('{"policyName":"none"}', 0), (None, 0)])
def test_a_kubelet_with_another_root_directory_counts_if_it_pins(
    tmp_path: Path, cpu: str | None, found: int
) -> None:
    places = _places(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if cpu is not None:
        (elsewhere / "cpu_manager_state").write_text(cpu)
    _process(places, 7, "kubelet", f"--root-dir={elsewhere}")
    (places.proc / "7" / "root").symlink_to("/")
    owned = owners.find(places)
    assert [OwnerKind.STATIC_KUBELET] * found == [each.kind for each in owned]
    assert all(f"process 7, kubelet) in {elsewhere}" in each.who for each in owned)


def test_a_kubelet_in_a_container_counts_if_it_pins(tmp_path: Path) -> None:
    places = _places(tmp_path)
    inside = tmp_path / "container" / "var/lib/kubelet"
    inside.mkdir(parents=True)
    (inside / "memory_manager_state").write_text('{"policyName":"Static"}')
    _process(places, 7, "kubelet", "--config=x")
    (places.proc / "7" / "root").symlink_to(tmp_path / "container")
    assert [each.kind for each in owners.find(places)] == [OwnerKind.STATIC_KUBELET]


AS_NOBODY = """
import os, sys
from pathlib import Path
from numalet.agent.controller import owners
os.setgroups([])
os.setuid(65534)
root = Path(sys.argv[1])
places = owners.Places(
    proc=root / "proc", kubelet_root=root / "kubelet", nri_socket=root / "run" / "n"
)
print([each.kind.value for each in owners.find(places)])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_kubelet_whose_files_are_closed_to_this_user_may_pin(reachable: Path) -> None:
    places = _places(reachable)
    for number, root in ((7, places.kubelet_root), (8, reachable / "elsewhere")):
        root.mkdir(exist_ok=True)
        (root / "cpu_manager_state").write_text('{"policyName":"none"}')
        root.chmod(0o700)
        _process(places, number, "kubelet", f"--root-dir={root}")
        (places.proc / str(number) / "root").symlink_to("/")
    line = [sys.executable, "-c", AS_NOBODY, str(reachable)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['static-kubelet', 'static-kubelet']"


def test_who_names_a_directory_means_the_kubelet_of_that_one(tmp_path: Path) -> None:
    assert owners.beside(Path("/var/lib/kubelet")).every_kubelet
    assert not owners.beside(tmp_path).every_kubelet
    places = replace(_places(tmp_path), every_kubelet=False)
    (tmp_path / "cpu_manager_state").write_text(STATIC)
    _process(places, 7, "kubelet", f"--root-dir={tmp_path}")
    (places.proc / "7" / "root").symlink_to("/")
    assert owners.find(places) == ()
