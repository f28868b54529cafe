"""A real kubelet, containerd with plugins, and ``numalet nri``: static pods of one node.

The kubelet creates, updates and restarts the containers. Without managers of the kubelet the plugin
alone sets their CPUs; beside a static CPU Manager it sets none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubelet import plugin_node
from kubelet.plugin_node import ALL, OWN, OWN_OF_STATIC, SHARED, STATIC, PluginNode
from running.kubelet_programs import KubeletPrograms
from running.real_kubelet import NODE

pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def started(programs: KubeletPrograms, module_folder: Path) -> Iterator[PluginNode]:
    with plugin_node.opened(programs, module_folder) as node:
        yield node


@pytest.fixture
def node(started: PluginNode) -> Iterator[PluginNode]:
    """The node without pods and without managers of the kubelet."""
    started.begin()
    yield started
    started.remove_all()


def test_pods_of_a_kubelet_are_pinned_refused_and_tried_again(node: PluginNode) -> None:
    node.add("web")
    node.until_cpus(web=ALL)
    node.add("db", "1", "64Mi")
    node.until_cpus(db=OWN, web=SHARED)
    node.add("second", "1", "64Mi")
    node.until(lambda: "CreateContainerError" in str(node.status("second")))
    waiting = node.status("second")["state"]["waiting"]
    no_room = f"numalet: no room for default/second-{NODE} on this node: "
    assert waiting["reason"] == "CreateContainerError"
    assert no_room in waiting["message"]
    log = node.kubelet.kubelet.log.read_text(errors="replace").splitlines()
    events = [each for each in log if "Event occurred" in each]
    assert any('reason="Failed"' in each and no_room in each for each in events), events
    assert node.listed()["second"]["status"] == "CreateContainerError"
    node.remove("db")
    # The kubelet tries again by itself.
    node.until_cpus(second=OWN)
    assert node.cpus("web") == SHARED
    found = node.listed()["second"]
    assert (found["status"], found["cpus"], found["numaNodes"]) == ("Running", "1", [0])
    assert found["containers"][0]["guarantee"] == "kernel"
    node.remove("second")
    node.until_cpus(web=ALL)


def test_restarts_of_kubelet_and_plugin_move_nothing(node: PluginNode) -> None:
    node.add("web")
    node.add("db", "1", "64Mi")
    node.until_cpus(db=OWN, web=SHARED)
    before = {name: node.status(name)["containerID"] for name in ("db", "web")}
    node.kubelet.kubelet.restart()
    node.until_cpus(db=OWN, web=SHARED)
    node.restart_plugin()
    node.until(lambda: node.listed()["db"]["containers"][0]["guarantee"] == "kernel")
    node.kubelet.kubelet.kill()
    node.restart_plugin()
    node.kubelet.kubelet.start()
    # Without room also after all restarts: the plugin knows who has the CPUs.
    node.add("second", "1", "64Mi")
    node.until(lambda: "CreateContainerError" in str(node.status("second")))
    assert {"db": node.cpus("db"), "web": node.cpus("web")} == {"db": OWN, "web": SHARED}
    assert {name: node.status(name)["containerID"] for name in before} == before
    assert node.metric("repairs_total") == 0
    assert not node.plugin.says("Unpinned")


def test_beside_a_static_cpu_manager_it_only_observes(node: PluginNode) -> None:
    node.add("web")
    node.add("db", "1", "64Mi")
    node.until_cpus(db=OWN, web=SHARED)
    # The kubelet and the plugin differ about both pods.
    node.restart_kubelet(STATIC)
    node.until_cpus(db=OWN_OF_STATIC, web=ALL - OWN_OF_STATIC)
    node.until(lambda: node.plugin.says("Only observing"))
    assert node.metric("enforcing") == 0
    node.restart_plugin()
    node.until(lambda: node.plugin.says("the kubelet's cpuManagerPolicy is static"))
    node.remove("db")
    node.add("second", "1", "64Mi")
    node.until_cpus(second=OWN_OF_STATIC, web=ALL - OWN_OF_STATIC)
    node.until(lambda: not node.listed()["second"]["aligned"])
    assert (node.cpus("second"), node.cpus("web")) == (OWN_OF_STATIC, ALL - OWN_OF_STATIC)
    assert node.metric("repairs_total") == 0
