"""The image is built where that is asked for: ``make image-test``, as root with Debian's mirror.

With ``NUMALET_REQUIRE_IMAGE=1`` what can not run is a failure. It is built once for all tests, and
taken from ``NUMALET_IMAGE_ARCHIVE`` where that names one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from running import containers, suites
from running.containers import Podman

ROOT: Final = Path(__file__).parents[2]
_BUILDERS: Final = ("mmdebstrap", "protoc")


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A folder for what is built, on a machine that can; else the tests are skipped, or fail."""
    suites.skip_unless_asked("IMAGE", "it builds an image: make image-test")
    lacking = [each for each in _BUILDERS if shutil.which(each) is None] + containers.missing()
    why = f"{', '.join(lacking)} not installed" if lacking else ""
    if os.geteuid() != 0:
        why = "only root can build it"
    if why:
        suites.can_not_run("IMAGE", why)
    with TemporaryDirectory(prefix="numalet-image", ignore_cleanup_errors=True) as made:
        yield Path(made)


@pytest.fixture(scope="session")
def wheel(folder: Path) -> Path:
    """The wheel of this source."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    (made,) = folder.glob("*.whl")
    return made


def build(wheel: Path, output: Path) -> str:
    """Build the image; its digest."""
    command = [sys.executable, str(ROOT / "packaging" / "image" / "build.py")]
    done = subprocess.run(
        [*command, f"--wheel={wheel}", f"--output={output}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="session")
def archive(folder: Path, request: pytest.FixtureRequest) -> Path:
    """The image."""
    if there := os.environ.get("NUMALET_IMAGE_ARCHIVE"):
        return Path(there)
    made = folder / "image.tar"
    build(request.getfixturevalue("wheel"), made)
    return made


@pytest.fixture(scope="session")
def podman(folder: Path) -> Podman:
    """Podman with a storage of its own."""
    return Podman(folder / "containers")


@pytest.fixture(scope="session")
def image(archive: Path, podman: Podman) -> str:
    """The name of the image, as podman loaded it."""
    said = podman.say("load", "--quiet", f"--input={archive}")
    return said.partition("Loaded image: ")[2].strip()
