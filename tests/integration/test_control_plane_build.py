"""Building a control plane: a complete folder is left as it is, and a failure is reported.

``make cluster`` shows that the build succeeds. Here Go and the disk are stand-ins.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "control-plane"
PROGRAMS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet", "kubectl")
ROOMY = "#!/bin/sh\nprintf 'Avail\\n99999999\\n'\n"
SMALL = "#!/bin/sh\nprintf 'Avail\\n102400\\n'\n"
NO_NETWORK = "#!/bin/sh\necho 'dial tcp: no such host' >&2\nexit 1\n"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def build(*arguments: str, where: Path, **programs: str) -> subprocess.CompletedProcess[str]:
    """Run the script with these programs in front of all others, and a cache of its own."""
    for name, text in programs.items():
        put(where / "bin" / name, text)
    return subprocess.run(
        [str(SCRIPT), *arguments],
        env={
            **os.environ,
            "PATH": f"{where / 'bin'}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(where),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def there(folder: Path) -> set[str]:
    """The names beside the folder, its own included."""
    return {each.name for each in folder.parent.iterdir()} - {"bin"}


def test_a_complete_folder_is_left_as_it_is_and_printed(tmp_path: Path) -> None:
    folder = tmp_path / "numalet" / "control-plane-1.34.9"
    folder.mkdir(parents=True)
    for name in (*PROGRAMS, "etcd"):
        put(folder / name, "")
    (folder / "RELEASE").write_text("1.34.9\n")
    done = build("1.34.9", where=tmp_path, go=NO_NETWORK)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{folder}\n", "")
    assert len(list(folder.iterdir())) == 7


def test_a_folder_of_another_release_is_built_again(tmp_path: Path) -> None:
    folder = tmp_path / "servers"
    folder.mkdir()
    for name in (*PROGRAMS, "etcd"):
        put(folder / name, "")
    (folder / "RELEASE").write_text("1.34.9\n")
    done = build("1.37.2", str(folder), where=tmp_path, go=NO_NETWORK, df=ROOMY)
    assert done.returncode == 1
    assert f"building Kubernetes 1.37.2 into {folder}" in done.stderr
    assert (folder / "RELEASE").read_text() == "1.34.9\n"


def test_a_small_disk_is_reported_before_the_build(tmp_path: Path) -> None:
    folder = tmp_path / "control-plane"
    done = build("1.37.2", str(folder), where=tmp_path, go=NO_NETWORK, df=SMALL)
    assert done.returncode == 1
    assert done.stderr.endswith(f"{tmp_path} has 100 MiB free, the build takes 5120\n")
    assert there(folder) == {"control-plane.lock"}


def test_a_failed_step_is_named_and_only_the_log_stays(tmp_path: Path) -> None:
    folder = tmp_path / "control-plane"
    done = build("1.37.2", str(folder), where=tmp_path, go=NO_NETWORK, df=ROOMY)
    assert done.returncode == 1
    log = tmp_path / "control-plane.log"
    last = f"failed: dial tcp: no such host (all of it: {log})\n"
    assert done.stderr.endswith(f"the list of Kubernetes' modules {last}")
    assert there(folder) == {"control-plane.lock", log.name}


@pytest.mark.parametrize("given", [["1.37"], ["newest"], ["1.37.2", "a", "b"]])
def test_a_release_that_is_not_complete_shows_the_usage(given: list[str], tmp_path: Path) -> None:
    done = build(*given, where=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: .ci/control-plane [RELEASE [FOLDER]]")
