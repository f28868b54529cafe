"""What ``numalet machine -o`` prints is a machine again, the same to the kubelet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from architecture import tree
from cli.commands import Runner
from harness.bad_inputs import refused_with
from numalet.core.model.value import replace
from numalet.io.machines import open_machine

_CAPTURED = sorted((tree.TESTS / "machines" / "data").glob("n*.tar.gz"))
_MACHINES = ["2s4n3c2t", "profile:gb200-34n", "profile:epyc-nps4", *map(str, _CAPTURED[::6])]


@pytest.mark.slow
@pytest.mark.parametrize("machine", _MACHINES)
@pytest.mark.parametrize("output", ["yaml", "json"])
@pytest.mark.parametrize("view", ["kernel", "kubelet"])
def test_the_output_is_a_machine_again(
    numalet: Runner, tmp_path: Path, machine: str, output: str, view: str
) -> None:
    printed = tmp_path / "printed"
    ended = numalet("machine", machine, "-o", output, "--view", view)
    assert ended.status == 0
    printed.write_text(ended.out, encoding="utf-8")

    again = open_machine(printed).info
    wanted = open_machine(machine).info
    # Caches of whole nodes decide nothing, and the count of cores is that of the cores.
    nodes = tuple(replace(node, caches=()) for node in wanted.nodes)
    same = replace(wanted, nodes=nodes, physical_core_count=again.physical_core_count)
    assert again == same


def test_a_document_without_cores_is_refused_in_words(tmp_path: Path) -> None:
    printed = tmp_path / "old.json"
    printed.write_text(json.dumps({"schema": "numalet.machine/1", "numa_nodes": []}))
    with refused_with("input/not-supported"):
        open_machine(printed)
