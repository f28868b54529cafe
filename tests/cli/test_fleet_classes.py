"""``numalet fleet classes``: what is drafted is accepted by the other commands of a fleet."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from cli import console_page
from cli.commands import EXAMPLES, Ended, Runner
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
        (["--configz"], "--configz cannot be combined with --configuration, --policy or --dump"),
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


REPORTED = {
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0-3",
    "topologyManagerPolicy": "single-numa-node",
    "evictionHard": {"memory.available": "100Mi"},
    "kubeReserved": {"memory": "8Gi"},
    "maxPods": 250,
    "address": "10.0.0.1",
}


async def drafted_by_reports(
    numalet: Runner, server: FakeApiServer, folder: Path, answers: Mapping[str, Any]
) -> Ended:
    for name, answer in answers.items():
        server.documents[f"/api/v1/nodes/{name}/proxy/configz"] = answer
    kubeconfig = str(server.write_kubeconfig(folder / "kubeconfig"))
    return await asyncio.to_thread(
        numalet, "fleet", "classes", "--kubeconfig", kubeconfig, "--configz"
    )


async def test_kubelets_are_asked_for_their_configuration_on_request(
    numalet: Runner, server: FakeApiServer, tmp_path: Path
) -> None:
    p5 = [f"p5-{number}" for number in (1, 2, 3)]
    # The kubelets of one pool differ, one is not there, and one answer is that of another server.
    answers: dict[str, Any] = {name: {"kubeletconfig": REPORTED} for name in p5}
    answers["p5-2"] = {"kubeletconfig": REPORTED | {"topologyManagerPolicy": "restricted"}}
    answers["l40s-1"] = {"status": "ok"}
    ended = await drafted_by_reports(numalet, server, tmp_path, answers)
    assert ended.status == 0
    assert ended.err.startswith("warning: the configuration of 2 kubelets was not read; l40s-1: ")
    assert "this is not a kubelet's answer to /configz" in ended.err
    pools = yaml.safe_load(ended.out)["pools"]
    (one,) = (each for each in pools if each["match"] == {"names": ["p5-2"]})
    assert one["configuration"]["topologyManagerPolicy"] == "restricted"
    path = tmp_path / "classes.yaml"
    path.write_text(ended.out)
    fit = numalet("fleet", "fit", BIG, "--dump", str(DUMP), "--class", str(path))
    assert "p5-2  1" in fit.out
    assert "its pool 'rack-l40s' of the class file has no machine" in fit.out


async def test_kubelets_that_no_one_may_ask_are_an_error(
    numalet: Runner, server: FakeApiServer, tmp_path: Path
) -> None:
    ended = await drafted_by_reports(numalet, server, tmp_path, {})
    assert (ended.status, ended.out) == (2, "")
    assert "/api/v1/nodes/l40s-1/proxy/configz" in ended.err
    assert ended.err.count("error:") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("command", "expected"), SHOWN)
def test_a_command_prints_what_the_page_says(command: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_bytes(DUMP.read_bytes())
    if "--class" in command:
        console_page.printed(SHOWN[1][0], tmp_path)
    assert console_page.printed(command, tmp_path) == expected
