"""The version of a kubelet in the file of its program."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from numalet.io import kubelet_program

LINKED = (
    b"\xff Go buildinf:\x08\x02\0\0path\tk8s.io/kubernetes/cmd/kubelet\nmod\tk8s.io/kubernetes"
    b"\t(devel)\t\nbuild\t-ldflags=\"all=-X 'k8s.io/client-go/pkg/version.gitVersion=v9.9.9' "
    b"-X 'k8s.io/component-base/version.gitVersion=%s' -s -w\"\n"
)
STAMPED = b"path\tk8s.io/kubernetes/cmd/kubelet\nmod\tk8s.io/kubernetes\t%s\th1:x=\n"


@pytest.mark.parametrize("built", [LINKED, STAMPED])
@pytest.mark.parametrize("version", ["v1.34.9", "v1.34.1+k3s1", "v1.36.0-rc.1"])
def test_a_program_says_what_it_was_built_as(tmp_path: Path, built: bytes, version: str) -> None:
    program = tmp_path / "kubelet"
    shutil.copy(sys.executable, program)
    with program.open("ab") as file:
        file.write(built % version.encode())

    assert kubelet_program.version(program) == version


def test_one_that_does_not_say_has_no_version(tmp_path: Path) -> None:
    empty, text = tmp_path / "empty", tmp_path / "text"
    empty.touch()
    text.write_bytes(b"k8s.io/component-base/version.gitVersion=unknown")

    for program in (
        empty,
        text,
        tmp_path / "missing",
        tmp_path,
        Path("/dev/null"),
        Path("/dev/zero"),
    ):
        assert kubelet_program.version(program) == ""
