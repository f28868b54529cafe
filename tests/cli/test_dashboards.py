"""Dashboards and alerts use metrics that there are, in expressions that Prometheus reads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from numalet.cluster import fleet_metrics
from numalet.cluster.breaker import breaker_metrics
from numalet.cluster.extender import metrics as extender_metrics

PACKAGING: Final = Path(__file__).resolve().parents[2] / "packaging"
REFERENCE: Final = PACKAGING.parent / "docs" / "reference"
DASHBOARDS: Final = sorted((PACKAGING / "grafana").glob("*.json"))
RULES: Final = sorted((PACKAGING / "prometheus").glob("*.rules.yaml"))
HELPS: Final[Mapping[str, Mapping[str, str]]] = {
    "fleet": fleet_metrics.HELP,
    "extender": extender_metrics.HELP,
    "breaker": breaker_metrics.HELP,
}
NAME: Final = re.compile(r"\bnumalet_[a-z_]+")
LABELS: Final = re.compile(r"\b(?:by|without) \(([^)]*)\)|\{\{(\w+)\}\}")
OF_PROMETHEUS: Final = {"instance", "job", "le", "namespace"}
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed"
)


def there_are() -> set[str]:
    """Every metric, a histogram with its parts."""
    names = {f"numalet_{program}_{name}" for program, helps in HELPS.items() for name in helps}
    return names | {
        f"{name}_{part}" for name in names if name.endswith("_seconds")
        for part in ("bucket", "sum", "count")
    }  # fmt: skip


def labels_of() -> dict[str, set[str]]:
    """Labels by metric, as the reference has them."""
    found = {}
    for page in REFERENCE.glob("*-metrics.md"):
        for line in page.read_text(encoding="utf-8").splitlines():
            name, *cells = [each.strip() for each in line.strip("|").split("|")]
            if name.startswith("`numalet_"):
                found[name.strip("`")] = set(re.findall(r"`(\w+)`", " ".join(cells[:-1])))
    return found


def targets(dashboard: Path) -> Iterator[dict[str, Any]]:
    for panel in json.loads(dashboard.read_text(encoding="utf-8"))["panels"]:
        yield from panel["targets"]


def expressions() -> dict[str, list[str]]:
    """Expressions by file."""
    found = {each.name: [one["expr"] for one in targets(each)] for each in DASHBOARDS}
    for each in RULES:
        groups = yaml.safe_load(each.read_text(encoding="utf-8"))["groups"]
        found[each.name] = [rule["expr"] for group in groups for rule in group["rules"]]
    return found


def test_there_is_a_dashboard_for_each_program() -> None:
    assert {each.stem.removeprefix("numalet-") for each in DASHBOARDS} == HELPS.keys()


@pytest.mark.parametrize(("file", "exprs"), expressions().items())
def test_expressions_name_metrics_that_there_are(file: str, exprs: list[str]) -> None:
    named = {name for each in exprs for name in NAME.findall(each)}
    assert named
    assert named - there_are() == set()


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
def test_every_metric_of_a_program_is_on_its_dashboard(dashboard: Path) -> None:
    program = dashboard.stem.removeprefix("numalet-")
    shown = {name for each in targets(dashboard) for name in NAME.findall(each["expr"])}
    shown = {name.removesuffix("_bucket").removeprefix(f"numalet_{program}_") for name in shown}
    assert shown == HELPS[program].keys()


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
def test_legends_and_sums_go_by_labels_that_there_are(dashboard: Path) -> None:
    known = labels_of()
    for each in targets(dashboard):
        names = [name.removesuffix("_bucket") for name in NAME.findall(each["expr"])]
        there = OF_PROMETHEUS.union(*(known[name] for name in names))
        used = {
            label.strip()
            for pair in LABELS.findall(f"{each['expr']} {each['legendFormat']}")
            for label in "".join(pair).split(",")
        }
        assert used <= there, each["expr"]


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_have_their_own_places_and_any_prometheus(dashboard: Path) -> None:
    board = json.loads(dashboard.read_text(encoding="utf-8"))
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in board["panels"]]
    assert len(set(places)) == len(places)
    assert len({each["id"] for each in board["panels"]}) == len(places)
    assert {each["datasource"]["uid"] for each in board["panels"]} == {"${datasource}"}


@needs_promtool
@pytest.mark.parametrize(("file", "exprs"), expressions().items())
def test_prometheus_reads_every_expression(file: str, exprs: list[str], tmp_path: Path) -> None:
    rules = [{"record": f"one:of:{number}", "expr": each} for number, each in enumerate(exprs)]
    (tmp_path / "rules.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]})
    )
    assert promtool(tmp_path, "check", "rules", "rules.yaml") == ""


@needs_promtool
def test_alerts_on_schedulers_do_what_their_tests_say() -> None:
    folder = PACKAGING / "prometheus"
    assert promtool(folder, "check", "rules", "numalet-scheduling.rules.yaml") == ""
    assert promtool(folder, "test", "rules", "numalet-scheduling.test.yaml") == ""


def promtool(folder: Path, *words: str) -> str:
    """What it complains of."""
    done = subprocess.run(
        ["promtool", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
