"""What a pod as a whole asks for."""

from __future__ import annotations

from numalet.core.model import pod_demand
from numalet.core.model.pod import Container, ContainerKind, Pod, Resources
from numalet.core.model.pod_demand import Overhead
from numalet.core.model.quantity import Quantity


def container(kind: ContainerKind, **cpu_and_memory: str) -> Container:
    """A container whose requests and limits are these."""
    asked = quantities(**cpu_and_memory)
    return Container("c", kind, asked, asked)


def quantities(**texts: str) -> Resources:
    """Quantities by name."""
    return {name: Quantity.parse(text) for name, text in texts.items()}


def app(**asked: str) -> Container:
    """An app container."""
    return container(ContainerKind.APP, **asked)


def init(**asked: str) -> Container:
    """An init container that ends."""
    return container(ContainerKind.INIT, **asked)


def sidecar(**asked: str) -> Container:
    """A restartable init container."""
    return container(ContainerKind.SIDECAR, **asked)


def pod(*containers: Container, **overhead: str) -> Pod:
    """A pod of these containers."""
    starting = tuple(c for c in containers if c.kind is not ContainerKind.APP)
    apps = tuple(c for c in containers if c.kind is ContainerKind.APP)
    return Pod("u", "p", "n", starting, apps, overhead=quantities(**overhead))


def test_app_containers_add_up() -> None:
    asked = pod_demand.effective_requests(pod(app(cpu="1", memory="1Gi"), app(cpu="500m")))
    assert {k: str(v) for k, v in asked.items()} == {"cpu": "1500m", "memory": "1Gi"}


def test_the_largest_init_container_counts_when_it_is_larger_than_the_apps() -> None:
    asked = pod_demand.effective_requests(pod(init(cpu="3"), init(cpu="2"), app(cpu="1")))
    assert quantities(cpu="3") == asked
    assert quantities(cpu="4") == pod_demand.effective_requests(pod(init(cpu="3"), app(cpu="4")))


def test_a_sidecar_stays_beside_the_apps_and_beside_later_init_containers() -> None:
    before = pod(sidecar(cpu="2"), init(cpu="3"), app(cpu="1"))
    assert quantities(cpu="5") == pod_demand.effective_requests(before)
    after = pod(init(cpu="3"), sidecar(cpu="2"), app(cpu="1"))
    assert quantities(cpu="3") == pod_demand.effective_requests(after)


def test_sidecars_add_up_with_the_apps() -> None:
    asked = pod_demand.effective_requests(pod(sidecar(cpu="1"), sidecar(cpu="2"), app(cpu="4")))
    assert quantities(cpu="7") == asked


def test_requests_include_the_overhead_unless_it_is_left_out() -> None:
    one = pod(app(cpu="1"), cpu="250m", memory="120Mi")
    assert quantities(cpu="1250m", memory="120Mi") == pod_demand.effective_requests(one)
    assert quantities(cpu="1") == pod_demand.effective_requests(one, Overhead.EXCLUDED)


def test_limits_include_the_overhead_only_where_there_is_a_limit() -> None:
    one = pod(app(cpu="1", pids="0"), cpu="250m", memory="120Mi", pids="5")
    assert quantities(cpu="1250m", pids="0") == pod_demand.effective_limits(one)
    assert quantities(cpu="1", pids="0") == pod_demand.effective_limits(one, Overhead.EXCLUDED)


def test_the_answer_does_not_change_the_pod() -> None:
    one = pod(sidecar(cpu="1"), init(cpu="9"), app(cpu="1"), cpu="1")
    pod_demand.effective_requests(one)
    assert quantities(cpu="1") == one.init_containers[0].requests
    assert quantities(cpu="9") == one.init_containers[1].requests
    assert quantities(cpu="1") == one.overhead
