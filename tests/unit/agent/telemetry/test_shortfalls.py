"""What is not enforced is told in sentences wherever it is told."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.agent.host.cgroup_v2 import root
from numalet.agent.host.runtime import host_capabilities
from numalet.agent.host.runtime.watcher import watch
from numalet.agent.telemetry import node_log
from numalet.cli import describe_view
from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.wording import english

EVERY = (
    *root.OPTIONAL.values(),
    root.NO_CGROUP_V2,
    root.NO_CONTROLLER,
    root.NOT_WRITABLE,
    host_capabilities.SIZES_NOT_LIMITED,
    host_capabilities.CAN_BE_UNDONE,
    host_capabilities.NO_MEMORY_POLICY,
    watch.NOT_SPARED,
)


@pytest.mark.parametrize("code", EVERY)
def test_every_shortfall_has_a_sentence_without_values(code: str) -> None:
    said = english.of_shortfall(code)
    assert said != code
    assert not {"{", "}"} & set(said)


def test_a_code_without_such_a_sentence_stands_for_itself() -> None:
    assert "cgroup/refused" == english.of_shortfall("cgroup/refused")
    assert "new/one" == english.of_shortfall("new/one")


def test_the_log_tells_at_the_start_what_will_not_be_enforced() -> None:
    lines = node_log.of_guarantee(GuaranteeLevel.PROCESS, (root.NOT_WRITABLE,))
    assert [("process", False), ("cgroup/not-writable", True)] == [
        (line.keys.get("guarantee") or line.keys["code"], line.is_error) for line in lines
    ]
    assert "cgroups can not be made here" == lines[1].message


def test_describe_tells_it_of_each_container() -> None:
    placed: dict[str, Any] = {
        "name": "c",
        "cpus": "",
        "memory": [],
        "devices": {},
        "guarantee": "process",
        "shortfalls": [host_capabilities.SIZES_NOT_LIMITED, root.NOT_WRITABLE],
        "audit": None,
    }
    metadata = {"name": "a", "namespace": "default", "uid": "u", "creationTimestamp": "now"}
    pod = {"metadata": metadata, "spec": {"containers": [{"name": "c"}]}, "status": {}}
    placement = {
        "status": "Running",
        "numaNodes": [],
        "cpus": "",
        "aligned": None,
        "containers": [placed],
    }
    told = {
        "pod": {"namespace": "default", "name": "a"},
        "admitted": True,
        "policy": "none",
        "scope": "container",
        "why": None,
        "queue": [],
        "evicted": [],
        "not_asked": [],
        "passed_over": [],
        "subjects": [],
    }
    text = describe_view.text(pod, placement, told, [])
    assert "    not held:  sizes of memory and huge pages are accounted for, not enforced\n" in text
    assert "    not held:  cgroups can not be made here\n" in text
