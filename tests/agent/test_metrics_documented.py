"""The documents about metrics say what an agent shows, and how Prometheus comes to it."""

from __future__ import annotations

import asyncio
import re
import shutil
import ssl
import subprocess
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

import numalet
from architecture import tree
from numalet.agent.controller import kube_api
from numalet.agent.nri.choices import PinningCounts
from numalet.agent.nri.metrics import PinningMetrics
from numalet.agent.publish.publisher import PublishMetrics
from numalet.agent.servers import metrics as metrics_page
from numalet.agent.servers.door import OwnershipMode
from numalet.agent.servers.endpoints import Address, KubeApi
from numalet.agent.telemetry import metrics
from numalet.cluster import fleet_metrics
from numalet.core.config.behaviour import NATIVE
from running.agents import running, settings
from servers import views

REFERENCE = tree.ROOT / "docs" / "reference" / "agent-api.md"
HOW_TO = tree.ROOT / "docs" / "how-to" / "run-the-agent.md"
IN_THE_EXAMPLE = "/etc/prometheus/numalet"
ROW = re.compile(
    r"^\| `(?P<name>\w+)` \| (?P<kind>\w+) \| (?P<labels>[^|]*) \| (?P<by>\w+) \| (?P<what>.+) \|$",
    re.MULTILINE,
)
SHOWN = re.compile(r"^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)$", re.MULTILINE)


class Shown(NamedTuple):
    kind: str
    labels: tuple[str, ...]
    by: str
    what: str


def _shown() -> dict[str, Shown]:
    """Every metric as the page of an agent has it."""
    labels = {each.name: each.labels for each in metrics.DEFINITIONS}
    node = views.started(behaviour=NATIVE)
    pages = {
        by: SHOWN.findall(metrics_page.text(views.view(node, standing=standing)).decode())
        for by, standing in (
            ("enforcing", OwnershipMode.ENFORCING),
            ("observing", OwnershipMode.OBSERVING),
        )
    }
    found: dict[str, Shown] = {}
    for by, rows in pages.items():
        for name, what, kind in rows:
            agent = "both" if name in found else by
            found[name] = Shown(kind, labels.get(name, ()), agent, what)
    return found


def _of_publishers() -> set[str]:
    """The names of what a publisher and a plugin of the runtime show; the same without any work."""
    registry = CollectorRegistry()
    registry.register(PublishMetrics(cast(Any, SimpleNamespace(writers=(), pods=None))))
    plan = SimpleNamespace(members={})
    plugin = SimpleNamespace(counts=PinningCounts(), plan=plan, enforces=False, misplaced_bytes=0)
    plugin.is_synchronized = False
    view = views.view(views.started(behaviour=NATIVE))
    registry.register(PinningMetrics(cast(Any, plugin), lambda: view))
    return {name for name, _, _ in SHOWN.findall(generate_latest(registry).decode())}


def _documented() -> dict[str, Shown]:
    """Every metric as the reference has it."""
    rows = list(ROW.finditer(REFERENCE.read_text()))
    found = {
        row["name"]: Shown(
            row["kind"], tuple(re.findall(r"`(\w+)`", row["labels"])), row["by"], row["what"]
        )
        for row in rows
    }
    assert len(found) == len(rows), "a metric has two rows"
    return found


def test_the_reference_has_every_metric_as_it_is_and_no_other() -> None:
    shown = _shown()
    assert {"numalet_build_info", "process_open_fds", "process_start_time_seconds"} <= {*shown}
    assert shown == _documented()


def _on_own_pages() -> set[str]:
    """The metrics of extender and breaker, as the tables of their pages name them."""
    pages = [REFERENCE.with_name(f"{name}-metrics.md") for name in ("extender", "breaker")]
    rows = [re.findall(r"^\| `(numalet_\w+)", page.read_text(), re.MULTILINE) for page in pages]
    assert all(rows)
    return {name for names in rows for name in names}


def test_no_document_names_a_metric_that_there_is_not() -> None:
    # Of the cluster part, whose own pages are held against what it serves.
    known = {*_shown(), *(f"numalet_fleet_{name}" for name in fleet_metrics.HELP)}
    known |= _of_publishers() | _on_own_pages()
    for path in (tree.ROOT / "docs").rglob("*.md"):
        named = re.findall(r"\b(?:numalet|process)_[a-z_]+_[a-z]+\b", path.read_text())
        assert {*named} - known == set(), path


def test_build_info_names_the_version_for_both_kinds_of_agents() -> None:
    for standing in OwnershipMode:
        page = metrics_page.text(views.view(standing=standing)).decode()
        (line,) = re.findall(r"^numalet_build_info\{.*\} 1\.0$", page, re.MULTILINE)
        assert f'version="{numalet.__version__}"' in line
        assert 'kubernetes_release="1.32"' in line


def _example() -> str:
    (found,) = re.findall(r"```yaml\n(scrape_configs:\n.*?)```", HOW_TO.read_text(), re.DOTALL)
    return str(found)


def _scraped(example: str, port: int) -> str:
    """The page, as Prometheus gets it with the one job of this configuration."""
    (job,) = yaml.safe_load(example)["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    url = f"{job['scheme']}://{target}/metrics".replace("6443", str(port))
    authorization: dict[str, Any] = job["authorization"]
    token = Path(authorization["credentials_file"]).read_text().strip()
    request = urllib.request.Request(url)
    request.add_header("Authorization", f"{authorization['type']} {token}")
    trusted = ssl.create_default_context(cafile=job["tls_config"]["ca_file"])
    with urllib.request.urlopen(request, timeout=100, context=trusted) as response:
        return str(response.read().decode())


def test_what_the_example_configures_is_answered(tmp_path: Path) -> None:
    async def scene() -> str:
        root = tmp_path / "root"
        wanted = KubeApi(Address("127.0.0.1", 0))
        async with (
            running(settings(root)) as agent,
            kube_api.served(agent.controller, wanted, root, datetime.now(UTC)) as serving,
        ):
            port = int(serving.url.rpartition(":")[2])
            example = _example().replace(IN_THE_EXAMPLE, str(root / "kube-api"))
            return await asyncio.to_thread(_scraped, example, port)

    page = asyncio.run(scene())
    assert "\nnumalet_build_info{" in page
    assert "\nprocess_open_fds " in page


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_finds_nothing_wrong_with_the_example(tmp_path: Path) -> None:
    for name in ("token", "ca.crt"):
        (tmp_path / name).write_text("")
    config = tmp_path / "prometheus.yml"
    config.write_text(_example().replace(IN_THE_EXAMPLE, str(tmp_path)))
    done = subprocess.run(
        ["promtool", "check", "config", str(config)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
