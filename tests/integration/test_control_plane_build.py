"""Building a control plane: a folder that has one is left alone, and what goes wrong is said.

That the build succeeds is shown where it is used. Here apt, dpkg and the like are stand-ins.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "control-plane"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
APT = """#!/bin/sh
if [ "$1" = indextargets ]; then echo https://mirror.test/debian/; exit; fi
echo "E: there is no network" >&2
exit 100
"""
ROOMY = "#!/bin/sh\nprintf 'Avail\\n99999999\\n'\n"
SMALL = "#!/bin/sh\nprintf 'Avail\\n102400\\n'\n"

on_debian = pytest.mark.skipif(not KEYS.exists(), reason="the control plane is built on Debian")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def build(folder: Path, **programs: str) -> subprocess.CompletedProcess[str]:
    """Run the script with these programs in front of all others."""
    own = folder.parent / "bin"
    own.mkdir()
    for name, text in programs.items():
        put(own / name.replace("_", "-"), text)
    return subprocess.run(
        [str(SCRIPT), str(folder)],
        env={**os.environ, "PATH": f"{own}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


def there(folder: Path) -> set[str]:
    """What is beside the folder, itself included."""
    return {each.name for each in folder.parent.iterdir()} - {"bin"}


def test_a_folder_that_has_all_programs_is_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "control-plane"
    for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "etcd"):
        put(folder / name, "")
    (folder / "RELEASE").write_text("1.20.2\n")
    done = build(folder, apt_get="#!/bin/sh\nexit 1\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(list(folder.iterdir())) == 5


@on_debian
def test_a_disk_that_is_too_small_is_said_before_anything_is_done(tmp_path: Path) -> None:
    folder = tmp_path / "control-plane"
    done = build(folder, apt_get=APT, df=SMALL)
    assert done.returncode == 1
    assert done.stderr.endswith(f"{tmp_path} has 100 MiB free, the build takes 4096\n")
    assert there(folder) == {"control-plane.lock"}


@on_debian
def test_what_fails_is_named_and_nothing_but_the_log_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "control-plane"
    done = build(folder, apt_get=APT, df=ROOMY)
    assert done.returncode == 1
    log = tmp_path / "control-plane.log"
    last = f"failed: E: there is no network (all of it: {log})\n"
    assert done.stderr.endswith(f"the download from https://mirror.test/debian/ {last}")
    assert there(folder) == {"control-plane.lock", log.name}
