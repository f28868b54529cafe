"""The worked examples of the documentation and the design document come out as written there.

Each file is one scenario in the format of recorded ones; its ``expect`` was worked out from the
documents and the kubelet's rules. They run through the same code as ``numalet replay``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from numalet.insight.simulate import runner
from numalet.insight.simulate.runner import Failed, Passed
from numalet.insight.simulate.session import Scenario
from numalet.insight.usecases import scenario_file

FILES = sorted(Path(__file__).parent.glob("*.yaml"))


def _scenario(file: Path) -> Scenario:
    (raw,) = scenario_file.read_scenarios(str(file))
    return raw.decode()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_example_comes_out_as_documented(file: Path) -> None:
    verdict = runner.check(_scenario(file))
    assert Passed() == verdict, (
        f"{verdict.first.path}: {verdict.first.expected!r} was expected, "
        f"{verdict.first.actual!r} came out"
        if isinstance(verdict, Failed)
        else verdict
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_example_says_what_it_shows(file: Path) -> None:
    assert file.read_text(encoding="utf-8").startswith("# ")
    assert f"documentation-{file.stem}" == _scenario(file).name


def test_an_altered_expectation_fails() -> None:
    scenario = _scenario(Path(__file__).parent / "documented-150gi.yaml")
    assert scenario.expect is not None
    altered = replace(scenario, expect={**scenario.expect, "start_error": "something else"})
    assert isinstance(runner.check(altered), Failed)
