"""Later releases of Python: numalet is installed on each, and the newest runs the core's tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from running import installations, pythons
from systems.conftest import Debian

PYTHONS: Final = {"trixie": (3, 13), "forky": (3, 14)}
"""The Python of later releases of Debian; the first one is what all other tests run on."""

RELEASES: Final = [f"{major}.{minor}" for major, minor in PYTHONS.values()]

CORE: Final = ("tests/unit/core", "tests/unit/wording", "tests/unit/drawing", "tests/scenarios")
_FOR_TESTS: Final = (
    "pytest", "anyio", "pytest-timeout", "pytest-xdist", "pytest-benchmark", "hypothesis",
    "lightkube-models>=1.32,<1.33", "jsonschema-rs", "coverage",
)  # fmt: skip


def test_every_release_since_the_first_one_is_declared() -> None:
    last = max(PYTHONS.values())
    assert pythons.declared() == [f"3.{minor}" for minor in range(11, last[1] + 1)]
    assert pythons.project()["requires-python"] == ">=3.11"
    assert sys.version_info >= (3, 11)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("suite", PYTHONS)
def test_another_python(debian: Debian, suite: str, tmp_path: Path) -> None:
    system = debian(suite)
    version = "import sys; print(sys.version_info[:2])"
    assert system.run("python3", "-c", version).strip() == str(PYTHONS[suite])
    system.copy(installations.TRY, installations.TRY.name)
    made = installations.artefacts(tmp_path)
    for path in made.values():
        system.copy(path, path.name)
    for artefact, extras in installations.COMBINATIONS:
        installations.try_one(
            system.run, "python3", f"/{artefact}", f"/{made[artefact].name}", extras,
            script=f"/{installations.TRY.name}",
        )  # fmt: skip
    # The oldest release runs the whole suite, so the newest one is enough.
    if PYTHONS[suite] != max(PYTHONS.values()):
        return
    python = "/sdist/bin/python"
    system.run(python, "-m", "pip", "install", "--quiet", *_FOR_TESTS)
    said = system.run(
        "sh", "-c",
        f"cd /numalet && exec {python} -m pytest -q -n 3 --benchmark-disable"
        f" -p no:cacheprovider --ignore tests/scenarios/test_examples.py {' '.join(CORE)}",
    )  # fmt: skip
    assert " passed" in said
