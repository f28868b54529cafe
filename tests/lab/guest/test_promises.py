"""A simulation from the live /sys of the guest, and a kernel that is held to it."""

from __future__ import annotations

import numalet
from lab.guest.groups import Group
from lab.guest.touching import Toucher
from numalet.agent.host import procfs
from numalet.core.model import cpu_set
from numalet.insight.simulate.outcome import LinuxSettings

MIB = 1 << 20
CONFIG = {
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0",
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
    "topologyManagerPolicy": "single-numa-node",
}
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
    - name: main
      resources: {{limits: {{cpu: 1, memory: {size}Mi}}}}
"""


def test_touched_pages_are_on_the_nodes_that_the_simulation_promised(group: Group) -> None:
    """Three pods of two thirds of a node each: every one gets a node of its own."""
    loaded = numalet.open_machine(None)
    size = min(node.memory_bytes for node in loaded.info.nodes) // MIB * 2 // 3
    node = numalet.start_node(numalet.decode_config(CONFIG, "lab"), loaded.info)
    assert isinstance(node, numalet.Node)
    used: list[str] = []
    for name in ("first", "second", "third"):
        (pod,) = numalet.read_pods(POD.format(name=name, size=size), "lab").pods
        node, decision = node.admit(pod)
        assert decision.admitted
        settings = numalet.runtime_settings(decision)["main"]
        assert isinstance(settings, LinuxSettings)
        _hold_to(group.child(name), settings)
        used.append(settings.cpuset_mems)
    assert len(set(used)) == 3


def _hold_to(own: Group, settings: LinuxSettings) -> None:
    """Bind a process as the runtime would be told to, and look where its memory is."""
    own.bind(cpus=settings.cpuset_cpus, nodes=settings.cpuset_mems)
    with Toucher(own, 16 * MIB) as process:
        address = process.touch()
        maps = procfs.read_numa_maps(process.pid)
        assert maps is not None
        area = maps.area_at(address)
        assert area is not None
        assert {int(settings.cpuset_mems): 16 * MIB // 4096} == area.pages_by_node
        allowed = procfs.read_status(process.pid)
        assert allowed is not None
        assert settings.cpuset_cpus == cpu_set.text(allowed.cpus)
