"""What is not enforced is told in sentences wherever it is told."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.agent.host.cgroup_v2 import root
from numalet.agent.host.runtime.shim import watch
from numalet.agent.telemetry import kubelet_log
from numalet.cli import describe_view
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.shared.findings import notes, runtime

EVERY = (
    *(each.code for each in root.OPTIONAL.values()),
    runtime.CgroupNoCgroupV2.code,
    runtime.CgroupNoCpusetOrMemory.code,
    runtime.CgroupNotWritable.code,
    runtime.RuntimeSizesNotLimited.code,
    runtime.RuntimeCanBeUndone.code,
    runtime.RuntimeNoMemoryPolicy.code,
    watch.NOT_SPARED,
)


@pytest.mark.parametrize("code", EVERY)
def test_every_shortfall_has_a_sentence_without_values(code: str) -> None:
    said = notes.sentence(code)
    assert said != code
    assert not {"{", "}"} & set(said)


def test_a_code_without_such_a_sentence_stands_for_itself() -> None:
    assert notes.sentence("cgroup/refused") == "cgroup/refused"
    assert notes.sentence("new/one") == "new/one"


def test_the_log_tells_at_the_start_what_will_not_be_enforced() -> None:
    lines = kubelet_log.of_guarantee(GuaranteeLevel.PROCESS, (runtime.CgroupNotWritable.code,))
    assert [(line.keys.get("guarantee") or line.keys["code"], line.is_error) for line in lines] == [
        ("process", False),
        ("cgroup/not-writable", True),
    ]
    assert lines[1].message == "cgroups cannot be made here"


def test_describe_shows_it_of_each_container() -> None:
    placed: dict[str, Any] = {
        "name": "c",
        "cpus": "",
        "memory": [],
        "devices": {},
        "guarantee": "process",
        "shortfalls": [runtime.RuntimeSizesNotLimited.code, runtime.CgroupNotWritable.code],
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
    assert "    not held:  cgroups cannot be made here\n" in text
