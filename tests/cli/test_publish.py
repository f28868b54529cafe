"""``numalet publish`` beside the files of a kubelet, without a cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.publish import command
from numalet.agent.publish.command import PublishOptions
from numalet.agent.publish.publisher import PublishChoice
from numalet.cli.main import run
from numalet.core.cluster import classes, published
from numalet.core.config.numalet_config import PublishSettings
from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import BadInput, Location
from numalet.core.node.node import Node
from numalet.insight.usecases import kubelet_at_hand
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.shared.publish import node_view
from running import agents, kubelet_node
from running.kubelet_node import KubeletNode
from running.kubelet_process import kubelet_process

HERE = Location("printed")


def made(folder: Path) -> KubeletNode:
    kubelet = kubelet_node.made(folder)
    kubelet.admit("one")
    kubelet.admit("two", cpu="3", memory="5Gi")
    return kubelet


def words(kubelet: KubeletNode) -> tuple[str, ...]:
    shape = agents.SHAPE
    machine = ("-m", str(shape.text), "--memory-per-node", str(shape.memory_per_node))
    return ("publish", "--kubelet-root", str(kubelet.root), *machine, "--node-name", "n7")


def printed(capsys: pytest.CaptureFixture[str], *given: str) -> list[dict[str, Any]]:
    assert run([*given, "--dry-run", "-o", "json"]) == 0
    items: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["items"]
    return items


def test_the_node_of_the_printed_objects_is_the_kubelets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubelet = made(tmp_path)
    config = str(kubelet.root / "config.yaml")
    of_class, node = printed(capsys, *words(kubelet), "-c", config)
    empty = classes.start(numa_node_class.decode(of_class, HERE))
    assert isinstance(empty, Node)
    state = numa_node.decode(node, HERE).state
    pods = kubelet.node.snapshot.pods.values()
    rebuilt = published.onto(empty, state, pods)

    assert published.of_node(rebuilt) == published.of_node(kubelet.node)


def test_the_running_kubelets_file_and_release_count(tmp_path: Path) -> None:
    kubelet = made(tmp_path)
    arguments = (f"--config={kubelet.root / 'config.yaml'}", f"--root-dir={kubelet.root}")
    with kubelet_process(tmp_path / "bin", "v1.34.2", *arguments, "--max-pods=33"):
        options = PublishOptions(
            kubelet_root=kubelet.root,
            machine=agents.SHAPE,
            node_name="n7",
            given=PublishSettings(node_resource_topology=False),
        )
        document, findings = command.shown(options)
    (of_class, node) = document["items"]

    assert of_class["spec"]["release"] == "1.34"
    assert of_class["spec"]["configuration"]["maxPods"] == 33
    assert node["spec"]["pods"] == 2
    assert [each.code for each in findings] == ["publish/no-pod-resources"]


def shown_beside(kubelet: KubeletNode, folder: Path, version: str, **more: Any) -> Any:
    """The published class, and the findings about it."""
    arguments = (f"--config={kubelet.root / 'config.yaml'}", f"--root-dir={kubelet.root}")
    with kubelet_process(folder / "bin", version, *arguments):
        options = PublishOptions(
            kubelet_root=kubelet.root,
            machine=agents.SHAPE,
            node_name="n7",
            given=PublishSettings(node_resource_topology=False),
            **more,
        )
        document, findings = command.shown(options)
    of_class, node = document["items"]
    assert node["spec"]["pods"] == 2
    assert of_class["metadata"]["name"] == node["spec"]["class"]
    return of_class, [each for each in findings if each.code != "publish/no-pod-resources"]


def test_an_unknown_release_is_published_under_its_own_name(tmp_path: Path) -> None:
    of_class, findings = shown_beside(made(tmp_path), tmp_path, "v1.99.1")
    assert of_class["spec"]["release"] == "1.99"
    assert [each.code for each in findings] == ["publish/release-unknown"]
    assert "the kubelet is v1.99.1, and numalet knows only 1.32, " in str(findings[0])
    with pytest.raises(BadInput, match=r"unknown release '1\.99' of this class"):
        numa_node_class.decode(of_class, HERE)


def test_a_chosen_release_is_published_beside_an_unknown_one(tmp_path: Path) -> None:
    of_class, findings = shown_beside(made(tmp_path), tmp_path, "v1.99.1", release="1.36")
    assert of_class["spec"]["release"] == "1.36"
    (finding,) = findings
    assert "the rules of release 1.36 apply" in str(finding)


def test_flags_win_over_the_configuration_and_this_over_what_is_usual(tmp_path: Path) -> None:
    kubelet = made(tmp_path)
    config = kubelet.root / "config.yaml"
    section = "publish: {kubeconfig: node.conf, refreshSeconds: 60, nodeResourceTopology: false}"
    own = f"apiVersion: numalet.dev/v1alpha1\nkind: NumaletConfiguration\n{section}\n"
    usual = PublishOptions(
        kubelet_root=kubelet.root, config_file=config, machine=agents.SHAPE, node_name="n7"
    )
    assert command.prepared(usual).choice == PublishChoice(node_name="n7")

    config.write_text(f"{config.read_text()}---\n{own}")
    ready = command.prepared(usual)
    assert ready.wanted.kubeconfig == str(kubelet.root / "node.conf")
    assert ready.choice == PublishChoice(node_name="n7", has_topology=False, refresh_seconds=60.0)

    given = PublishSettings(kubeconfig="mine", force=True, node_resource_topology=True)
    ready = command.prepared(replace(usual, given=given))
    assert ready.wanted.kubeconfig == "mine"
    assert ready.choice == PublishChoice(node_name="n7", force=True, refresh_seconds=60.0)


def test_pods_whose_folders_are_gone_are_left_over(tmp_path: Path) -> None:
    kubelet = made(tmp_path)
    first, second = kubelet.node.snapshot.pods
    (kubelet.root / "pods" / first).mkdir(parents=True)
    options = PublishOptions(
        kubelet_root=kubelet.root,
        config_file=kubelet.root / "config.yaml",
        machine=agents.SHAPE,
    )
    document, _ = command.shown(options)
    texts = document["items"][1]["spec"]["state"]["pods"]

    assert texts[first].endswith(" s")
    assert not texts[second].endswith(" s")


def test_why_nothing_can_be_published_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubelet = made(tmp_path)
    config = str((kubelet.root / "config.yaml").rename(tmp_path / "kubelet.yaml"))
    assert run([*words(kubelet), "--dry-run"]) == 2
    assert "is unknown" in capsys.readouterr().err

    (kubelet.root / "cpu_manager_state").write_text("{}")
    assert run([*words(kubelet), "--dry-run", "-c", config]) == 2
    assert "no kubelet would start with these state files" in capsys.readouterr().err


def test_without_a_cluster_nothing_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    kubelet = made(tmp_path)
    config = str(kubelet.root / "config.yaml")

    assert run([*words(kubelet), "-c", config]) == 2
    assert "error" in capsys.readouterr().err


ANSWER: dict[str, Any] = {
    "devices": [
        {"resourceName": "gpu", "deviceIds": ["b"], "topology": {"nodes": [{}]}},
        {"resourceName": "gpu", "deviceIds": ["b"], "topology": {"nodes": [{"ID": "1"}]}},
        {"resourceName": "gpu", "deviceIds": ["a"]},
    ],
    "cpuIds": ["1", "2"],
    "memory": [{"memoryType": "memory", "size": "5", "topology": {"nodes": [{}, {"ID": "1"}]}}],
}


def test_the_number_0_is_left_out_of_an_answer() -> None:
    allocatable = node_view.allocatable_of(ANSWER)

    devices = kubelet_at_hand.devices_of_answer(ANSWER)
    assert devices == {"gpu": (Device("a"), Device("b", (0, 1)))}
    assert allocatable.cpus == (1, 2)
    assert allocatable.memory[0].nodes == (0, 1)
    (pod,) = node_view.pods_of({"podResources": [{"name": "p", "containers": [ANSWER]}]})
    assert (pod.namespace, pod.name) == ("", "p")
    assert replace(pod.containers[0], name="").cpus == (1, 2)


def test_a_root_that_is_not_there_is_said_without_options_of_other_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    assert run(["publish", "--dry-run", "-m", "2n4c", "--kubelet-root", str(gone)]) == 2
    told = capsys.readouterr().err
    assert f"error: there is no directory '{gone}'" in told
    assert "this is its PodResources socket" in told
    assert "--s" not in told.replace("--memory-per-node", "")
