"""``numalet.Fleet``: a live cluster and its dump give the same answers; errors name arguments."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import numalet
from cli.commands import EXAMPLES
from harness.bad_inputs import refused_with
from running import fake_api_server
from running.fake_api_server import FakeApiServer

DUMP = EXAMPLES.parent / "fleet" / "dump.json"
CLASSES = """
pools:
- name: p5
  match: {labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
  machine: "profile:aws-p5"
  configuration: {topologyManagerPolicy: single-numa-node, cpuManagerPolicy: static,
    kubeReserved: {cpu: "4", memory: 8Gi}}
"""
BIG = "nvidia.com/gpu=4,cpu=16,memory=128Gi"


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with fake_api_server.running() as running:
        for each in json.loads(DUMP.read_text())["items"]:
            metadata = each["metadata"]
            if each["kind"] == "Node":
                running.put(f"/api/v1/nodes/{metadata['name']}", each)
            elif each["kind"] == "Pod":
                path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
                running.put(path, each)
        yield running


async def test_a_live_cluster_is_read_where_an_event_loop_runs(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """As in a notebook."""
    kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
    classes = tmp_path / "classes.yaml"
    classes.write_text(CLASSES)
    # The server answers in this event loop.
    live = await asyncio.to_thread(numalet.Fleet.from_kubeconfig, kubeconfig, class_file=classes)
    dumped = numalet.Fleet.from_dump(DUMP, class_file=str(classes))
    (there,), (here,) = (each.fit(BIG)["shapes"] for each in (live, dumped))
    # Only the texts about the undecided nodes differ: the dump also has a NodeResourceTopology.
    for field in ("landings", "nodes_that_fit"):
        assert there[field] == here[field]
    assert there["landings"][0]["node"] == "p5-2"
    (row, *_) = live.rejected().to_rows()
    there, here = live.why(f"{row['namespace']}/{row['pod']}"), dumped.why(row["pod"])
    for field in ("standing", "node", "reason", "there", "ways_out"):
        assert there[field] == here[field]


def test_a_running_event_loop_does_not_matter() -> None:
    async def asked() -> None:
        numalet.Fleet.from_kubeconfig("none")

    with pytest.raises(numalet.BadInput, match="kubeconfig='none': this file cannot be read"):
        asyncio.run(asked())


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"kubeconfig": 5}, "kubeconfig takes str or a path, not int 5"),
        ({"context": 5}, "context takes str, not int 5"),
        ({"class_file": 5}, "class_file takes str or a path, not int 5"),
    ],
)
def test_an_argument_of_another_type_is_named(given: dict[str, Any], text: str) -> None:
    with refused_with("api/wrong-type") as raised:
        numalet.Fleet.from_kubeconfig(**given)
    assert str(raised.value) == text


def test_a_count_is_not_negative() -> None:
    with refused_with("input/invalid") as raised:
        numalet.Fleet.from_dump(DUMP).fit(BIG, count=-1)
    assert str(raised.value) == "count -1 is too small; expected 0 or more"


def test_errors_about_the_cluster_name_arguments_and_no_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(numalet.BadInput, match="name a kubeconfig with kubeconfig=FILE"):
        numalet.Fleet.from_kubeconfig()
    config = tmp_path / "config"
    config.write_text("{apiVersion: v1, kind: Config, contexts: [], clusters: []}")
    with pytest.raises(numalet.BadInput, match="current-context is not set; use context=NAME or"):
        numalet.Fleet.from_kubeconfig(config)


def test_a_node_of_a_plan_is_known() -> None:
    fleet = numalet.Fleet.from_dump(DUMP)
    with pytest.raises(numalet.BadInput, match="nodes 'n1' is unknown") as raised:
        fleet.free(BIG, nodes=["n1"])
    assert "expected" not in str(raised.value)
    with pytest.raises(numalet.BadInput) as raised:
        fleet.free(BIG, nodes=["p5-1"])
    assert str(raised.value) == str(fleet.undecided["p5-1"].why)


def test_a_missing_or_misspelled_argument_names_the_method() -> None:
    fleet: Any = numalet.Fleet.from_dump(DUMP)
    with pytest.raises(TypeError, match=r"^fit\(\) got an unexpected keyword argument 'cout'"):
        fleet.fit(BIG, cout=3)


def test_no_dump_is_no_empty_cluster() -> None:
    with refused_with("input/required") as raised:
        numalet.Fleet.from_dump(iter([]))
    assert str(raised.value) == "paths is empty; expected at least one"


def test_a_dump_without_nodes_says_how_to_make_one(tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text('{"kind": "List", "apiVersion": "v1", "items": []}')
    with pytest.raises(numalet.BadInput, match=r"no nodes in .*empty.json; write a dump with"):
        numalet.Fleet.from_dump(empty)
