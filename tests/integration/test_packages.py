"""The wheel and the source package: what users get, and that one is made of the other."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from architecture import tree
from numalet.cli import manual

# What a build runs of the unpacked source is no part of this source.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source package of this source."""
    return _built(tree.ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(source_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the unpacked source package."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(source_package) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return _built(unpacked, "wheel", tmp_path_factory.mktemp("wheel"))


def _built(source: Path, target: str, folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)],
        cwd=source, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    (made,) = folder.iterdir()
    return made


def test_the_wheel_has_all_that_the_package_has(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = tree.SOURCE
    wanted = {
        str(path.relative_to(package.parent))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= names


def test_the_wheel_has_manual_completions_and_units(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    shared = {name.partition("/data/share/")[2]: name for name in archive.namelist()}
    for page in manual.pages():
        assert f"man/man1/{page.name}.1" in shared
    assert "doc/numalet/systemd/numalet-agent.service" in shared
    for place in (
        "bash-completion/completions/numalet",
        "zsh/site-functions/_numalet",
        "fish/vendor_completions.d/numalet.fish",
    ):
        assert "_NUMALET_COMPLETE" in archive.read(shared[place]).decode()


def test_the_wheel_has_the_pages_of_the_documentation_and_not_what_builds_the_site(
    wheel: Path,
) -> None:
    parts = [
        name.partition("/data/share/doc/numalet/") for name in zipfile.ZipFile(wheel).namelist()
    ]
    installed = {place for _, _, place in parts if place and not place.startswith("systemd/")}
    docs = tree.DOCS
    wanted = {
        str(path.relative_to(docs))
        for path in docs.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".css")
    }
    assert {"index.md", "tutorial.md", "how-to/run-the-agent.md"} <= wanted
    assert installed == wanted


def test_nothing_but_the_source_is_in_the_source_package(source_package: Path) -> None:
    with tarfile.open(source_package) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "packaging/man/numalet.1"} <= names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
