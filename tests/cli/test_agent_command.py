"""``numalet agent`` as a process: it becomes ready, says what it does, and stops cleanly."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numalet.agent.controller import main
from numalet.cli.main import app
from numalet.io.agent_client.client import AgentClient
from running import agents, kubelet_node

DESCRIBED = ("--runtime", "fake", "-m", "2n8c1t", "--memory-per-node", "16Gi")


def _agent(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "numalet", "agent", *arguments],
        env=os.environ | environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_becomes_ready_and_stops_when_told(tmp_path: Path, number: signal.Signals) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "a.json").write_text(json.dumps(agents.manifest("one")))
    root = tmp_path / "root"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(120)
        words = ["--root", str(root), "--manifests", str(manifests), "--log-format", "json"]
        agent = _agent(*DESCRIBED, *words, NOTIFY_SOCKET=str(tmp_path / "notify"))
        assert told.recv(100) == b"READY=1"
        limits = Path(f"/proc/{agent.pid}/limits").read_text(encoding="ascii")
        (files,) = (line for line in limits.splitlines() if line.startswith("Max open files"))
        assert files.split()[3] == files.split()[4]
        agent.send_signal(number)
        assert told.recv(100) == b"STOPPING=1"
        _, said = agent.communicate(timeout=200)
    assert agent.returncode == 0
    messages = [json.loads(line)["msg"] for line in said.splitlines() if line.startswith("{")]
    assert {"TopologyHints", "Best TopologyHint", "Topology Affinity", "Pod admitted"} <= {
        *messages
    }
    lines = (root / "pods.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({uid for line in lines for uid in json.loads(line).get("set", {})}) == 1


@pytest.mark.slow
def test_a_second_agent_is_refused_and_told_who_holds_the_node_state(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(120)
        words = [*DESCRIBED, "--root", str(tmp_path / "root")]
        first = _agent(*words, NOTIFY_SOCKET=str(tmp_path / "notify"))
        told.recv(100)
        second = _agent(*words)
        _, said = second.communicate(timeout=200)
        assert second.returncode == 1
        assert f"process {first.pid} uses this root folder" in said
        assert "Traceback" not in said
        first.terminate()
        first.communicate(timeout=200)


def test_nobody_who_wants_to_know_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    main.notify_systemd("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "@no-such-socket-of-anybody")
    main.notify_systemd("READY=1")


@pytest.mark.slow
def test_beside_a_kubelet_its_pods_are_listed_and_its_node_state_left_alone(tmp_path: Path) -> None:
    kubelet = kubelet_node.made(tmp_path / "k")
    kubelet.admit("one")
    before = {each.name: each.read_bytes() for each in kubelet.root.iterdir() if each.is_file()}
    root = tmp_path / "root"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(120)
        words = ["--root", str(root), "--ownership", "observe", "--kubelet-root", str(kubelet.root)]
        agent = _agent(*DESCRIBED, *words, NOTIFY_SOCKET=str(tmp_path / "notify"))
        assert told.recv(100) == b"READY=1"
        listed = CliRunner().invoke(app(), ["ps", "--root", str(root)])
        described = CliRunner().invoke(app(), ["describe", "--root", str(root), "uid-one"])
        with AgentClient(root / "agent.sock") as client:
            (state,) = client.get("/apis/numalet.dev/v1alpha1/nodestates")["items"]
        agent.terminate()
        _, said = agent.communicate(timeout=200)
    assert agent.returncode == 0, said
    assert listed.output.split()[-7:] == ["0/1", "Observed", "0", "1-2", "2Gi", "-", "-"]
    assert "memory: 2Gi on NUMA node 0\n" in described.output
    assert (state["standing"], state["kubelet"]["startsWithItsFiles"]) == ("observing", True)
    assert {"sound"} == {each["soundness"] for each in state["kubelet"]["files"]}
    assert [each["podUID"] for each in state["holders"]] == ["uid-one"]
    # Nothing of it was written while the agent looked.
    assert "the kubelet wrote" not in said
    after = {each.name: each.read_bytes() for each in kubelet.root.iterdir() if each.is_file()}
    assert before == after
