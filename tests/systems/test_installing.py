"""``pip install`` in empty environments, and the README's first screen.

Of the oldest Python, and of those that no release of Debian brings (``test_pythons.py``).
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from architecture import tree
from cli import console_page
from running import installations, pythons, suites
from systems.test_pythons import RELEASES

_PIPS: Final = {"checkout": "pip==23.0", "sdist": "pip"}
"""The oldest and the newest pip are tried with the oldest Python."""

# Between the oldest Python and those of Debian, which `test_pythons.py` tries, the package with the
# most dependencies stands for the others.
_TRIED: Final = [
    (release, *each)
    for release in pythons.declared()
    for each in installations.COMBINATIONS
    if release == pythons.declared()[0] or (each == installations.MOST and release not in RELEASES)
]

_README: Final = tree.ROOT / "README.md"
_INSTALL: Final = re.compile(r"^(pip install .*?)(?:\s+#.*)?$", re.MULTILINE)


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What is installed; only where this suite is asked for."""
    suites.skip_unless_asked("SYSTEMS", "it installs numalet in many environments: make systems")
    return installations.artefacts(tmp_path_factory.mktemp("artefacts"))


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[str, str]]:
    """Version and program of the Pythons here, by their release."""
    return {each.rpartition(".")[0]: (each, path) for each, path in pythons.here().items()}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("release", "artefact", "extras"), _TRIED)
def test_pip_installs_it(
    artefacts: dict[str, Path], found: dict[str, tuple[str, str]], tmp_path: Path,
    release: str, artefact: str, extras: str,
) -> None:  # fmt: skip
    if release not in found:
        pytest.skip(f"Python {release} is not here, so nothing was tried on it")
    installations.try_one(
        installations.run, found[release][1], str(tmp_path / "venv"), str(artefacts[artefact]),
        extras, pip_release=_PIPS.get(artefact, "") if release == pythons.declared()[0] else "",
    )  # fmt: skip


@pytest.mark.timeout(900)
def test_it_works_with_the_oldest_dependencies(
    artefacts: dict[str, Path], found: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    constraints = tmp_path / "oldest.txt"
    constraints.write_text("\n".join(pythons.oldest_dependencies()), encoding="utf-8")
    _, program = found[pythons.declared()[0]]
    installations.try_one(
        installations.run, program, str(tmp_path / "venv"), str(artefacts["wheel"]),
        "agent,cluster", options=["--constraint", str(constraints)],
    )  # fmt: skip


@pytest.mark.timeout(900)
def test_the_first_screen_of_the_readme(
    artefacts: dict[str, Path], found: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    checkout = artefacts["checkout"]
    _, program = found[pythons.declared()[0]]
    installations.run(program, "-m", "venv", str(tmp_path / "venv"))
    path = f"{tmp_path}/venv/bin:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_STATE_HOME": str(tmp_path), "COLUMNS": "80"}

    def ended(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command], cwd=checkout, env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    installing = _INSTALL.findall(_README.read_text(encoding="utf-8"))
    assert len(installing) >= 3
    for command in installing:
        done = ended(f"{command} --quiet --disable-pip-version-check")
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    (entering, _), *shown = console_page.shown_in(_README)
    assert len(shown) >= 3
    for command, expected in shown:
        placed = command.replace("numalet run", f"numalet run --root {tmp_path}/root")
        done = ended(f"{entering} && {placed}")
        assert (done.returncode, done.stderr) == (0, ""), command
        # CPUs and NUMA nodes are those of this machine.
        assert done.stdout == expected or "numalet run" in command
