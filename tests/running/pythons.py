"""The Pythons here that numalet supports, and the oldest releases of what it depends on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from architecture import tree

_ASKED: Final = "import ensurepip, sys; print('%d.%d.%d' % sys.version_info[:3])"


def project() -> dict[str, object]:
    """The table ``project`` of pyproject.toml."""
    text = (tree.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, object] = tomllib.loads(text)["project"]
    return found


def declared() -> list[str]:
    """The releases that the classifiers name, such as ``3.11``."""
    start = "Programming Language :: Python :: "
    classifiers = project()["classifiers"]
    assert isinstance(classifiers, list)
    return [each.removeprefix(start) for each in classifiers if each.startswith(start)]


def here() -> dict[str, str]:
    """The oldest Python of every declared release that makes environments here, by its version."""
    found: dict[str, str] = {}
    for program in _candidates():
        version = _version(program)
        if version and version.rpartition(".")[0] in declared():
            found.setdefault(version, program)
    oldest: dict[str, str] = {}
    for version in sorted(found, key=lambda each: [int(part) for part in each.split(".")]):
        release = version.rpartition(".")[0]
        if not any(each.startswith(f"{release}.") for each in oldest):
            oldest[version] = found[version]
    return oldest


def _candidates() -> Iterator[str]:
    yield from filter(None, os.environ.get("NUMALET_PYTHONS", "").split(os.pathsep))
    yield sys.base_prefix + "/bin/python3"
    for release in declared():
        yield from filter(None, [shutil.which(f"python{release}")])
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
        yield from map(str, sorted(pyenv.glob(f"{release}.*/bin/python{release}")))


def _version(program: str) -> str:
    """The version of a Python; empty if it does not run, or cannot make environments."""
    try:
        done = subprocess.run(
            [program, "-c", _ASKED], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def oldest_dependencies() -> list[str]:
    """Every direct dependency at its lower bound, as a pip constraint each."""
    table = project()
    extras = table["optional-dependencies"]
    assert isinstance(extras, dict)
    lines = [*table["dependencies"], *extras["agent"], *extras["cluster"]]  # type: ignore[misc]
    bounds = [re.match(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)", each) for each in lines]
    assert all(bounds), lines
    return sorted({f"{each[1]}=={each[2]}" for each in bounds if each})
