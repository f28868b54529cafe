"""``numalet fleet classes``: what is drafted is accepted by the other commands of a fleet."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from cli import console_page
from cli.commands import EXAMPLES, Runner
from numalet.insight.output import schemas
from running import fake_api_server
from running.fake_api_server import FakeApiServer

DUMP = EXAMPLES.parent / "fleet" / "dump.json"
BIG = "nvidia.com/gpu=4,cpu=16,memory=128Gi"
SHOWN = console_page.shown("fleet-from-nothing.md")


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with fake_api_server.running() as running:
        for each in json.loads(DUMP.read_text())["items"]:
            if each["kind"] == "Node":
                running.put(f"/api/v1/nodes/{each['metadata']['name']}", each)
        yield running


def test_a_draft_with_a_policy_decides_what_is_known(numalet: Runner, tmp_path: Path) -> None:
    drafted = numalet("fleet", "classes", "--dump", str(DUMP), "--policy", "single-numa-node")
    assert (drafted.status, drafted.err) == (0, "")
    path = tmp_path / "classes.yaml"
    path.write_text(drafted.out)
    fit = numalet("fleet", "fit", BIG, "--dump", str(DUMP), "--class", str(path), "--count", "0")
    assert fit.status == 0
    assert "its pool 'rack-web' of the class file has no machine" in fit.out
    assert "Nodes: 4 rebuilt from their pods, 1 undecided" in fit.out
    two = "nvidia.com/gpu=2,cpu=16,memory=128Gi"
    traps = numalet("fleet", "traps", "--dump", str(DUMP), "--class", str(path), "--shape", two)
    assert traps.status == 1
    assert "p5-1" in traps.out
    free = numalet("fleet", "free", BIG, "--dump", str(DUMP), "--class", str(path))
    assert free.status == 0


def test_as_json_it_keeps_to_its_type(numalet: Runner) -> None:
    ended = numalet("fleet", "classes", "--dump", str(DUMP), "-o", "json")
    document = json.loads(ended.out)
    (form,) = schemas.DOCUMENTS["fleet-classes"]
    msgspec.convert(document, form)
    assert document["schema"] == "numalet.fleet-classes/1"
    assert [each["blank"] for each in document["pools"]] == [
        ["configuration"],
        ["configuration"],
        ["machine", "configuration"],
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--configuration", "k.yaml", "--policy", "none"], "cannot be combined with --policy"),
        (["--scope", "pod"], "--scope and --memory-policy need --policy"),
        (["--context", "x"], "--dump cannot be combined with --kubeconfig or --context"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    numalet: Runner, options: list[str], said: str
) -> None:
    ended = numalet("fleet", "classes", "--dump", str(DUMP), *options)
    assert ended.status == 2
    assert said in ended.err


async def test_a_live_cluster_is_asked_for_objects_alone(
    numalet: Runner, server: FakeApiServer, tmp_path: Path
) -> None:
    kubeconfig = str(server.write_kubeconfig(tmp_path / "kubeconfig"))
    ended = await asyncio.to_thread(numalet, "fleet", "classes", "--kubeconfig", kubeconfig)
    assert (ended.status, ended.err) == (0, "")
    assert 'machine: "profile:aws-p5"' in ended.out
    assert "/api/v1/nodes/p5-1/proxy/configz" in ended.out


@pytest.mark.slow
@pytest.mark.parametrize(("command", "expected"), SHOWN)
def test_a_command_prints_what_the_page_says(command: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_bytes(DUMP.read_bytes())
    if "--class" in command:
        console_page.printed(SHOWN[1][0], tmp_path)
    assert console_page.printed(command, tmp_path) == expected
