"""Every release of Python that is declared runs the tests of the core."""

from __future__ import annotations

import sys
import tomllib
from typing import Final

import pytest

from architecture import tree
from systems.conftest import Debian

PYTHONS: Final = {"trixie": (3, 13), "forky": (3, 14)}
"""The Python of later releases of Debian; the first one is what all other tests run on."""

CORE: Final = ("tests/unit/core", "tests/unit/wording", "tests/unit/drawing", "tests/scenarios")
RECORDED: Final = ("tests/conformance/test_vectors.py",)
_FOR_TESTS: Final = (
    "pytest", "anyio", "pytest-timeout", "pytest-xdist", "pytest-benchmark", "hypothesis",
    "lightkube-models>=1.32,<1.33", "jsonschema-rs", "coverage",
)  # fmt: skip


def test_exactly_the_tested_releases_are_declared() -> None:
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    start = "Programming Language :: Python :: "
    declared = [each.removeprefix(start) for each in project["classifiers"] if start in each]
    tested = [(3, 11), (3, 12), *PYTHONS.values()]
    assert declared == [f"{major}.{minor}" for major, minor in tested]
    assert project["requires-python"] == ">=3.11"
    assert sys.version_info >= (3, 11)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("suite", PYTHONS)
def test_the_core_on_another_python(debian: Debian, suite: str) -> None:
    system = debian(suite)
    system.copy(tree.ROOT, "numalet")
    version = "import sys; print(sys.version_info[:2])"
    assert system.run("python3", "-c", version).strip() == str(PYTHONS[suite])
    system.run("python3", "-m", "venv", "/venv")
    pip = ("/venv/bin/pip", "install", "--quiet", "--disable-pip-version-check")
    system.run(*pip, "--editable", "/numalet[agent,cluster]", *_FOR_TESTS)
    tests = (*CORE, *RECORDED) if suite == "trixie" else CORE
    # The demonstration needs a /sys.
    said = system.run(
        "sh", "-c",
        "cd /numalet && exec /venv/bin/python -m pytest -q -n 3 --benchmark-disable"
        f" -p no:cacheprovider --ignore tests/scenarios/test_examples.py {' '.join(tests)}",
    )  # fmt: skip
    assert " passed" in said
