"""The page on hollow nodes: its command runs as it stands, and its tables name what there is."""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import console_page
from cli.commands import Runner
from numalet.cluster.hollow import fleet_members, node_document, pod_reader
from running import fake_api_server
from running.fake_api_server import FakeApiServer
from running.fake_api_store import Target
from running.process_builders import until
from values import hollow_pods

PAGE = console_page.ROOT / "docs" / "how-to" / "hollow-nodes.md"
TEXT = PAGE.read_text(encoding="utf-8")
NODES = "/api/v1/nodes"
POD = "/api/v1/namespaces/default/pods/four-gpus"
PATIENCE_SECONDS = 100


def _block(beginning: str) -> str:
    (found,) = re.findall(rf"^```\w*\n({beginning}.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


def _options(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with fake_api_server.running() as running:
        yield running


def _stored(server: FakeApiServer, path: str) -> Any:
    return server.store.one(Target.of(path))


def _as_stored(pod: dict[str, Any], node: str) -> dict[str, Any]:
    """The pod with what an API server adds to it, bound to a node."""
    stored = hollow_pods.document(pod["metadata"]["name"], node)
    return {
        **stored,
        "metadata": {**stored["metadata"], **pod["metadata"]},
        "spec": {**stored["spec"], **pod["spec"]},
    }


def _phase(server: FakeApiServer) -> str:
    return str(_stored(server, POD)["status"]["phase"])


def test_every_option_of_the_page_is_one_of_the_command(numalet: Runner) -> None:
    told = numalet("hollow", "--help").out
    assert _options(TEXT) <= _options(told)
    assert {"--nodes", "--reboot", "--lie", "--for"} <= _options(TEXT)


def test_every_annotation_of_the_page_is_read() -> None:
    named = set(re.findall(r"^\| `(numalet\.dev/[\w-]+)` \|", TEXT, re.MULTILINE))
    assert named == {
        *(pod_reader.RUNS_FOR, pod_reader.EXIT_CODE),
        *(pod_reader.INIT_RUNS_FOR, pod_reader.ENDS_AFTER),
    }
    shown = re.findall(r"^\| `--(\w+) [^|]*\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert {each for _, each in shown} == {each.value for each in fleet_members.Fault}
    assert all(option == value for option, value in shown)
    assert f"`{node_document.FAULT}`" in TEXT


@pytest.mark.slow
async def test_the_command_of_the_page_makes_nodes_that_decide(
    server: FakeApiServer, tmp_path: Path
) -> None:
    (tmp_path / "kubelet.yaml").write_text(_block("apiVersion: kubelet"), encoding="utf-8")
    server.write_kubeconfig(tmp_path / "test-cluster.yaml")
    _, *words = shlex.split(_block("numalet hollow").replace("\\\n", " "))
    assert words[words.index("--nodes") + 1] == "200"
    words[words.index("--nodes") + 1] = "3"
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "numalet", *words, "--untaint", "--remove"),
        cwd=tmp_path,
        stderr=asyncio.subprocess.PIPE,
    )
    assert command.stderr is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        said = [await command.stderr.readline()]
        while said[-1] and b"3 hollow nodes are registered" not in said[-1]:
            said.append(await command.stderr.readline())
    assert said[-1], said
    assert len(server.store.objects[Target.of(NODES).kind]) == 3
    server.put(POD, _as_stored(yaml.safe_load(_block("apiVersion: v1\n")), "hollow-1"))
    await until(lambda: command.returncode is not None or _phase(server) != "Pending")
    assert _phase(server) == "Running", _stored(server, POD)["status"]
    command.send_signal(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE_SECONDS):
        rest = (await command.stderr.read()).decode()
        assert (await command.wait(), "3 nodes are removed" in rest) == (0, True)
    assert not server.store.objects[Target.of(NODES).kind]
