"""The page of metrics is what the reference says of it."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from numalet.cluster.extender import metrics
from numalet.cluster.extender.app import probes
from numalet.cluster.extender.metrics import CallResult, NodeVerdictLabel
from running.extender_parts import AskedExtender, at_work, served

REFERENCE: Final = (
    Path(__file__).resolve().parents[4] / "docs" / "reference" / "extender-metrics.md"
)
ROW: Final = re.compile(
    r"^\| `numalet_extender_(\w+)` \| ([^|]*) \| ([^|]*) \| (.*) \|$", re.MULTILINE
)


async def _everything_happened(extender: AskedExtender) -> str:
    await extender.asked(4, "full", "empty", uid="a")
    await extender.asked(4, "full", uid="b")
    extender.state.metrics.mismatch("TopologyAffinityError")
    return (await extender.http.get(f"{extender.url}/metrics")).text


async def test_every_metric_is_in_the_reference_with_its_kind_and_labels() -> None:
    async with at_work() as extender:
        page = await _everything_happened(extender)
    rows = {name: (kind, labels, text) for name, kind, labels, text in ROW.findall(
        REFERENCE.read_text(encoding="utf-8"))}  # fmt: skip
    assert {name: text for name, (_, _, text) in rows.items()} == dict(metrics.HELP)
    shown = dict(re.findall(r"^# HELP numalet_extender_(\w+) (.*)$", page, re.MULTILINE))
    assert shown == dict(metrics.HELP)
    kinds = dict(re.findall(r"^# TYPE numalet_extender_(\w+) (\w+)$", page, re.MULTILINE))
    assert kinds == {name: kind for name, (kind, _, _) in rows.items()}
    labels: dict[str, set[str]] = {name: set() for name in rows}
    for name, given in re.findall(
        r"^numalet_extender_(\w+?)(?:_bucket)?(?:\{(.*)\})? ", page, re.MULTILINE
    ):
        if name in labels:
            labels[name] |= set(re.findall(r"(\w+)=", given)) - {"le"}
    assert labels == {
        name: set(re.findall(r"`(\w+)`", given)) for name, (_, given, _) in rows.items()
    }


def test_every_value_of_a_label_is_explained() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `([a-z-]+)` \| [A-Z]", text, re.MULTILINE))
    headings = {"result", "verdict"}
    assert explained - headings == {each.value for each in (*CallResult, *NodeVerdictLabel)}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
async def test_promtool_has_no_remarks() -> None:
    async with at_work() as extender:
        page = await _everything_happened(extender)
    command = ["promtool", "check", "metrics"]
    done = await asyncio.to_thread(
        subprocess.run, command, input=page, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


async def test_probes_and_metrics_are_served_alone_too() -> None:
    async with at_work() as extender, served(probes(extender.state)) as url:
        for path in ("healthz", "readyz", "metrics"):
            assert (await extender.http.get(f"{url}/{path}")).status_code == 200
        assert (await extender.http.post(f"{url}/filter", content=b"{}")).status_code == 404
