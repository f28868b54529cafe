"""What the handlers keep between two requests."""

from __future__ import annotations

from dataclasses import replace

from numalet.agent.servers.api.served import Served
from numalet.core.model.findings import Findings
from numalet.core.workload.records import PodRecord
from numalet.io.documents.pods import workload
from numalet.io.documents.pods.workload import WorkloadOptions
from numalet.io.documents.text.typed import Place
from servers.memory_door import MemoryDoor
from servers.pods import pod


async def test_objects_of_pods_that_went_are_let_go_though_nobody_lists_them() -> None:
    door = MemoryDoor()
    served = Served(door)
    for number in range(60):
        made = workload.decode_workload(
            pod(f"a{number}"), Place("", "$"), WorkloadOptions(), Findings()
        )
        assert made is not None
        record = await door.create(made)
        assert isinstance(record, PodRecord)
        assert served.pod(record) is served.pod(replace(record))
        door.remove(f"a{number}")
    assert len(served._pods) < 20
