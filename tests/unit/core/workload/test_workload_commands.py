"""A pod of one command: what it is given by, and what it is promised."""

from __future__ import annotations

import pytest

from numalet.core.model import resources
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.workload.spec import (
    ContainerSpec,
    RestartPolicy,
    Runner,
    Workload,
    WorkloadSource,
    of_command,
)

CPU = {resources.CPU: Quantity.parse("2")}
MEMORY = {resources.MEMORY: Quantity.parse("1Gi")}


@pytest.mark.parametrize(
    ("requests", "limits", "qos_class"),
    [
        (CPU, CPU, QosClass.GUARANTEED),
        (CPU | MEMORY, CPU | MEMORY, QosClass.BURSTABLE),
        (CPU, {}, QosClass.BURSTABLE),
        (MEMORY, MEMORY, QosClass.BURSTABLE),
    ],
)
def test_a_command_that_asks_for_no_size_of_memory_is_guaranteed_all_the_same(
    requests: dict[str, Quantity], limits: dict[str, Quantity], qos_class: QosClass
) -> None:
    container = Container("main", requests=requests, limits=limits)
    pod = Pod(uid="uid", name="a", app_containers=(container,), qos_class=QosClass.BURSTABLE)
    runner = Runner(1, 2, "boot")
    made = of_command(Workload(pod=pod, containers=(ContainerSpec(name="main"),)), runner)
    assert made.pod.qos_class is qos_class
    assert (made.source, made.restart_policy) == (WorkloadSource.RUN, RestartPolicy.NEVER)
    assert made.runner == runner
