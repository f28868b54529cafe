from __future__ import annotations

from numalet.core.model.machine_info import CoreInfo, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import Pod
from values import builders


def test_ids_are_ascending_whatever_the_order_of_nodes() -> None:
    cores = (CoreInfo(0, 0, (3, 1)), CoreInfo(0, 1, (1,)))
    nodes = (NumaNodeInfo(10, 0, cores=cores), NumaNodeInfo(2, 0))
    info = MachineInfo(nodes, 0, 2, 1)

    assert info.node_ids == (2, 10)
    assert info.cpu_ids == (1, 3)


def test_containers_come_init_first() -> None:
    pod = builders.pod("u", builders.container("app"), builders.init("first", "1Gi"))

    assert [container.name for container in pod.containers()] == ["first", "app"]


def test_a_pod_is_written_with_its_namespace() -> None:
    assert str(Pod("u", "name", "space")) == "space/name"
