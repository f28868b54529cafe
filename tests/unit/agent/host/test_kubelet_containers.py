"""Containers of a kubelet: found in cgroups, named by the links to their logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.agent.host import kubelet_containers
from numalet.agent.host.kubelet_containers import NamedContainer
from numalet.core.enforcement.comparison import MEMORY
from numalet.core.model.pod import ContainerKey
from running import kubelet_node
from running.kubelet_node import KubeletNode

KEY = ContainerKey("6b1c4e0e-2f31", "main")
SETS = frozenset({2, 3}), frozenset({1})


@pytest.fixture
def kubelet(tmp_path: Path) -> KubeletNode:
    return kubelet_node.made(tmp_path)


def test_a_container_is_found_and_named(kubelet: KubeletNode) -> None:
    kubelet.container(KEY, "shop", "web-0", SETS, {0: 2, 1: 3})
    number = kubelet_node.container_id(KEY)
    assert {number: NamedContainer(KEY, "shop", "web-0")} == kubelet_containers.names(kubelet.logs)
    (tree,) = kubelet_containers.trees(kubelet.cgroups)
    paths = kubelet_containers.paths(tree)
    assert [number] == list(paths)
    seen = kubelet_containers.reality(tree, paths[number], (2 << 20,))
    assert seen is not None
    assert (SETS[0], (1,)) == (seen.allowed_cpus, seen.allowed_nodes)
    assert seen.pages_bytes[MEMORY] == {0: 8192, 1: 12288}


def test_names_of_the_other_driver_are_found_too(kubelet: KubeletNode) -> None:
    number = kubelet_node.container_id(KEY)
    base = kubelet.cgroups / "kubepods"
    group = base / "burstable" / f"pod{KEY.pod_uid}" / number
    group.mkdir(parents=True)
    (base / "burstable" / f"pod{KEY.pod_uid}" / "crio-conmon-x").mkdir()
    # What looks like a container and is in no pod is none of the kubelet's.
    (base / ("f" * 64)).mkdir()
    (tree,) = kubelet_containers.trees(kubelet.cgroups)
    assert {number: f"burstable/pod{KEY.pod_uid}/{number}"} == kubelet_containers.paths(tree)


def test_a_cgroup_without_sets_or_that_is_gone_says_little(kubelet: KubeletNode) -> None:
    group = kubelet.container(KEY, "shop", "web-0", SETS)
    for each in group.iterdir():
        each.unlink()
    (tree,) = kubelet_containers.trees(kubelet.cgroups)
    (path,) = kubelet_containers.paths(tree).values()
    seen = kubelet_containers.reality(tree, path, ())
    assert seen is not None
    assert (frozenset(), ()) == (seen.allowed_cpus, seen.allowed_nodes)
    (group / "cpuset.cpus.effective").write_text("many")
    assert kubelet_containers.reality(tree, path, ()) is None
    (group / "cpuset.cpus.effective").unlink()
    group.rmdir()
    assert kubelet_containers.reality(tree, path, ()) is None


def test_links_that_mean_nothing_are_left_out(tmp_path: Path) -> None:
    assert kubelet_containers.names(tmp_path / "nowhere") == {}
    number = "a" * 64
    (tmp_path / f"file-{number}.log").write_text("")
    (tmp_path / f"short-{number}.log").symlink_to("0.log")
    (tmp_path / f"odd-{number}.log").symlink_to("/var/log/pods/no_uid/main/0.log")
    (tmp_path / "no-id.log").symlink_to("/var/log/pods/ns_pod_uid/main/0.log")
    assert kubelet_containers.names(tmp_path) == {}
