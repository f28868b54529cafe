"""What a plain ``pip install`` runs: no package of the extras is loaded."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from numalet.cli import code_index

PROJECT = Path(__file__).parents[2]
BLOCKED = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in %r:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import %s
"""
NAMES = {"prometheus-client": "prometheus_client", "grpcio": "grpc", "protobuf": "google"}


def of_extras() -> set[str]:
    """The top-level modules of all packages that only an extra installs."""
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    packages = {
        each.partition(">=")[0].partition("[")[0]
        for extra in extras["optional-dependencies"].values()
        for each in extra
    }
    return {NAMES.get(each, each.replace("-", "_")) for each in packages}


def test_codes_of_findings_are_explained_without_extras() -> None:
    code = "numalet.cli.code_index as index\nprint(*index.classes())"
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED % (of_extras(), code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*code_index.classes()]


@pytest.mark.parametrize(
    "module",
    [
        "numalet",
        "numalet.cli.dashboard_serving",
        "numalet.cli.simulate",
        "numalet.cli.explain",
        "numalet.cli.run",
        "numalet.insight.usecases.simulating",
        "numalet.dashboard.pod_pages",
    ],
)
def test_a_plain_installation_loads_it(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED % (of_extras(), module)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
