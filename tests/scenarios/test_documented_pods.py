"""The pods that the documentation prints have the QoS class that it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.pod import Pod, QosClass
from numalet.insight.usecases import scenario_file

FOLDER = Path(__file__).parent
QOS = {
    "besteffort": QosClass.BEST_EFFORT,
    "burstable": QosClass.BURSTABLE,
    "integer-cpu": QosClass.GUARANTEED,
    "shared-cpu": QosClass.GUARANTEED,
    "devices-alone": QosClass.BEST_EFFORT,
}


def _pod_and_config(name: str) -> tuple[QosClass, KubeletConfig]:
    (raw,) = scenario_file.read_scenarios(str(FOLDER / f"{name}.yaml"))
    scenario = raw.decode()
    (step,) = scenario.steps
    assert isinstance(step, Pod)
    return step.qos_class, scenario.config


@pytest.mark.parametrize("policy", ["none", "static"])
@pytest.mark.parametrize("kind", QOS)
def test_a_pod_of_the_topology_managers_page_has_its_class(kind: str, policy: str) -> None:
    qos_class, config = _pod_and_config(f"manifest-{kind}-cpu-{policy}")
    assert QOS[kind] == qos_class
    assert policy == config.cpu_manager_policy


@pytest.mark.parametrize("kind", ["integer-cpu", "shared-cpu"])
def test_a_pod_of_the_memory_managers_page_is_guaranteed(kind: str) -> None:
    qos_class, config = _pod_and_config(f"manifest-memory-{kind}")
    assert qos_class == QosClass.GUARANTEED
    assert config.memory_manager_policy == "Static"
