"""The commands that ask an agent, against an API on a real socket."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from harness.terminals import shown_until
from numalet.agent.kubelet import observed
from numalet.agent.kubelet.observed import RECONCILED_WITHIN, Evidence, KubeletObservation, PodName
from numalet.agent.servers.door import OwnershipMode
from numalet.cli import main
from numalet.cli.ps_view import age
from numalet.core.enforcement.comparison import Reality
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.run import Cause, ContainerPhase, Exit, ExitReason, PodRun
from numalet.shared.findings.runtime import RuntimeFailed
from running import agents, kubelet_node
from servers import views
from servers.pods import pod
from servers.served import Api, served

PATIENCE_SECONDS = 200.0


@pytest.fixture
def api() -> Iterator[Api]:
    with (
        tempfile.TemporaryDirectory(prefix="node") as folder,
        served(Path(folder) / "agent.sock") as found,
    ):
        yield found
        assert found.bugs == []


def _run(api: Api, *arguments: str) -> int:
    return main.run([*arguments, "--root", str(api.path.parent)])


def _manifest(folder: Path, *pods: object) -> str:
    path = folder / "pods.yaml"
    path.write_text(yaml.safe_dump_all(pods))
    return str(path)


def test_apply_reports_the_verdict_on_every_pod(
    api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _manifest(tmp_path, pod("wide", "40Gi"), {"kind": "PodList", "items": [pod("a")]})
    assert _run(api, "apply", "-f", path) == 1
    wide, a = capsys.readouterr().out.splitlines()
    assert wide.startswith("pod/wide rejected: TopologyAffinityError: Pod was rejected: ")
    assert a == "pod/a admitted"
    assert _run(api, "apply", "-f", path) == 1
    assert 'AlreadyExists: pods "a" already exists' in capsys.readouterr().err
    assert _run(api, "apply", "-f", _manifest(tmp_path, pod("b"))) == 0


def test_apply_refuses_what_is_no_object(
    api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(api, "apply", "-f", _manifest(tmp_path, [1])) == 2
    assert "expected a Pod or a list of Pods" in capsys.readouterr().err
    assert _run(api, "apply", "-f", str(tmp_path / "none.yaml")) == 2
    assert _run(api, "apply", "-f", _manifest(tmp_path, {"kind": "Service"})) == 1
    assert "BadRequest" in capsys.readouterr().err


def test_apply_says_when_there_is_nothing_to_apply(
    api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    (tmp_path / "list.yaml").write_text("{kind: List, items: []}")
    for name in ("empty", "empty.yaml", "list.yaml"):
        assert _run(api, "apply", "-f", str(tmp_path / name)) == 2
        assert f"no pods in {tmp_path / name}" in capsys.readouterr().err
    done = subprocess.run(
        [sys.executable, "-m", "numalet", "apply", "-f", "-", "--root", str(api.path.parent)],
        input="",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "error: no pods in -\n")


def test_apply_takes_the_files_of_a_folder_in_order(
    api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(pod(name)))
    (tmp_path / "README").write_text("no manifest")
    assert _run(api, "apply", "-f", str(tmp_path)) == 0
    assert capsys.readouterr().out.splitlines() == ["pod/a admitted", "pod/b admitted"]


def test_apply_reports_what_the_author_of_a_file_should_know(
    api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = pod("a")
    value["spec"]["containers"][0]["securityContext"] = {"capabilities": {"drop": ["ALL"]}}
    assert _run(api, "apply", "-f", _manifest(tmp_path, value)) == 0
    told = capsys.readouterr()
    assert told.err.startswith("warning: ")
    assert "capabilities" in told.err
    (tmp_path / "twice.yaml").write_text("kind: Pod\nkind: Pod\n")
    assert _run(api, "apply", "-f", str(tmp_path / "twice.yaml")) == 2
    assert "kind" in capsys.readouterr().err


def test_ps_lists_pods_and_where_they_are(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    with api.client() as client:
        client.post("/api/v1/namespaces/default/pods", pod("wide", "40Gi"))
        client.post("/api/v1/namespaces/batch/pods", pod("a"))
    assert _run(api, "ps") == 0
    head, a, wide = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "READY", "STATUS", "NUMA", "CPUS", "MEMORY", "ALIGNED", "AGE"]
    assert wide.split()[:7] == ["wide", "0/1", "TopologyAffinityError", "-", "-", "-", "-"]
    assert (a.split()[0], a.split()[3], a.split()[5]) == ("batch/a", "0", "4Gi")
    assert a.index(" 0 ") < a.index("4Gi") == head.index("MEMORY")
    assert _run(api, "ps", "-o", "wide") == 0
    assert "GUARANTEE" in capsys.readouterr().out
    assert _run(api, "ps", "-o", "json") == 0
    _, last = json.loads(capsys.readouterr().out)["items"]
    assert last["status"] == "TopologyAffinityError"


def test_ps_and_describe_name_what_is_held_for_no_pod(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    with api.client() as client:
        client.post("/api/v1/namespaces/default/pods", pod("a"))
        client.post("/api/v1/namespaces/default/pods", pod("b"))
    assert _run(api, "ps") == 0
    assert "Still held" not in capsys.readouterr().out
    records = api.do(lambda door: door.view().records)
    (uid,) = [record.uid for record in records.values() if record.workload.pod.name == "a"]
    api.do(lambda door: door.change(node=door.view().node.remove(uid)))
    assert _run(api, "ps") == 0
    said = capsys.readouterr().out
    assert "Still held for deleted or rejected pods, until the next admission" in said
    assert "  default/a/c: CPUs 1,17; 4Gi on NUMA node 0\n" in said
    assert _run(api, "describe", "a") == 0
    assert "  default/a/c: CPUs 1,17; 4Gi on NUMA node 0\n" in capsys.readouterr().out
    assert _run(api, "describe", "b") == 0
    assert "Still held" not in capsys.readouterr().out


def test_ps_says_when_there_are_no_pods(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(api, "ps") == 0
    assert "numalet apply" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["table", "json"])
def test_ps_goes_on_with_every_change(api: Api, form: str) -> None:
    command = [sys.executable, "-m", "numalet", "ps", "-w", "-o", form]
    command += ["--socket", str(api.path)]
    with api.client() as client:
        client.post("/api/v1/namespaces/default/pods", pod("a"))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
            assert watching.stdout is not None
            if form == "table":
                assert watching.stdout.readline().startswith("NAME")
            assert "a" in watching.stdout.readline()
            client.post("/api/v1/namespaces/default/pods", pod("other"))
            assert "other" in watching.stdout.readline()
            client.delete("/api/v1/namespaces/default/pods/a", {"gracePeriodSeconds": 0})
            watching.stdout.readline()
            gone = watching.stdout.readline()
            assert ("Gone" if form == "table" else "DELETED") in gone
            api.do(lambda door: setattr(door.pods, "is_over", True))
            api.do(lambda door: door.pods.wake())
            assert watching.wait(120) == 0


def test_describe_shows_placement_hints_and_events(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    with api.client() as client:
        client.post("/api/v1/namespaces/default/pods", pod("wide", "40Gi", labels={"x": "y"}))
        client.post("/api/v1/namespaces/default/pods", pod("a"))
    assert _run(api, "describe", "wide") == 0
    told = capsys.readouterr().out
    assert "Status:       TopologyAffinityError\n" in told
    assert "Labels:       x=y\n" in told
    assert "NUMA nodes:   not promised\n" in told
    assert "hints for c:" in told
    assert "Warning  TopologyAffinityError" in told
    assert _run(api, "describe", "default/a") == 0
    told = capsys.readouterr().out
    assert "memory: 4Gi on NUMA node 0\n" in told
    # A manager whose only resource has its own name does not say it twice.
    assert "    memory: {0} preferred" in told
    assert "Events:       none" in told
    assert _run(api, "describe", "nobody") == 1
    assert 'NotFound: pods "nobody" not found' in capsys.readouterr().err


def test_describe_shows_what_could_not_be_asked(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    scratch = pod("scratch")
    scratch["spec"]["containers"][0]["resources"]["limits"] |= {
        "ephemeral-storage": "1Gi",
        "example.com/gpu": "1",
    }
    with api.client() as client:
        client.post("/api/v1/namespaces/default/pods", scratch)
        client.post("/api/v1/namespaces/default/pods", pod("plain"))
    assert _run(api, "describe", "scratch") == 0
    told = capsys.readouterr().out
    assert "  note: default/scratch: OutOfephemeral-storage not evaluated" in told
    assert "  note: example.com/gpu: no node offers it" in told
    assert _run(api, "describe", "plain") == 0
    assert "note:" not in capsys.readouterr().out


MACHINE = agents.SHAPE.open().info
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _looked_at(tmp_path: Path) -> KubeletObservation:
    """Two pods of a kubelet: one is elsewhere than promised, of the other nothing was seen."""
    kubelet = kubelet_node.made(tmp_path)
    kubelet.admit("one")
    kubelet.admit("two")
    cpus, nodes = kubelet_node.EVERYTHING
    seen = Reality(
        pages_bytes={"memory": {0: 1 << 30, 1: 1 << 20}},
        allowed_cpus=cpus,
        allowed_nodes=tuple(sorted(nodes)),
        cgroup=None,
        processes=1,
    )
    evidence = Evidence(
        root="/var/lib/kubelet",
        files=kubelet.node.state_files(),
        realities={ContainerKey("uid-one", "main"): seen},
        pods={"uid-one": PodName("shop", "one")},
    )
    first = observed.observe(None, evidence, MACHINE, NOW)
    return observed.observe(first, evidence, MACHINE, NOW + RECONCILED_WITHIN)


def test_describe_shows_what_is_known_of_a_pod_that_a_kubelet_keeps(
    api: Api, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    look = _looked_at(tmp_path)
    api.do(lambda door: door.change(kubelet=look, standing=OwnershipMode.OBSERVING))
    assert _run(api, "describe", "shop/one") == 0
    told = capsys.readouterr().out
    assert "Name:         one\nNamespace:    shop\nUID:          uid-one\n" in told
    assert "Status:       Observed: a kubelet keeps it" in told
    assert "NUMA nodes:   0\nCPUs:         1-2\nAligned:      no, 1Mi misplaced\n" in told
    assert "    memory: 2Gi on NUMA node 0\n" in told
    assert "    has memory: 1Gi on 0, 1Mi on 1\n" in told
    assert "Differs since 2026-01-01T00:00:00Z: shop/one/main: the kubelet assigned" in told
    assert "Not known here:\n" in told
    assert "kubectl -n shop describe pod one\n" in told
    assert "Events:       none\n" in told
    # A pod without a link to its log is called by its uid.
    assert _run(api, "describe", "uid-two") == 0
    told = capsys.readouterr().out
    assert "Name:         uid-two\nNamespace:    default\n" in told
    assert "its cgroup was not found" in told
    assert "Differs" not in told
    assert "| grep uid-two\n" in told
    assert _run(api, "describe", "shop/uid-one") == 0
    assert "Name:         one\n" in capsys.readouterr().out
    assert _run(api, "describe", "one") == 1
    assert 'NotFound: pods "one" not found' in capsys.readouterr().err


def test_a_pod_that_its_kubelet_does_not_know_any_more_is_marked(
    api: Api, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    look = _looked_at(tmp_path)
    look = replace(look, evidence=replace(look.evidence, known_pods=frozenset({"uid-one"})))
    api.do(lambda door: door.change(kubelet=look, standing=OwnershipMode.OBSERVING))
    assert _run(api, "ps") == 0
    _, two, one = capsys.readouterr().out.splitlines()
    assert (one.split()[0], one.split()[2]) == ("shop/one", "Observed")
    assert (two.split()[0], two.split()[2]) == ("uid-two", "Stale")
    assert _run(api, "describe", "uid-two") == 0
    assert "Status:       Stale: its kubelet does not know it any more" in capsys.readouterr().out


def test_delete_asks_with_the_grace_period(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    with api.client() as client:
        client.post("/api/v1/namespaces/default/pods", pod("a"))
    assert _run(api, "delete", "a") == 0
    assert capsys.readouterr().out == "pod/a is deleted\n"
    assert _run(api, "delete", "a", "--grace-period", "0") == 0
    assert _run(api, "delete", "a") == 1
    assert _run(api, "delete", "../../nodes") == 1
    with api.client() as client:
        client.post("/api/v1/namespaces/default/pods", pod("b"))
    capsys.readouterr()
    # One that is not there does not spare the others.
    assert _run(api, "delete", "nobody", "b") == 1
    assert capsys.readouterr().out == "pod/b is deleted\n"


def _crashed(run: PodRun) -> PodRun:
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    cause = Cause.of(RuntimeFailed(error="all used"))
    last = Exit(code=137, reason=ExitReason.OOM_KILLED, finished_at=moment, cause=cause)
    of = replace(run.of("c"), phase=ContainerPhase.TERMINATED, attempt=2)
    return replace(run, containers={"c": replace(of, last_exit=last, back_off_seconds=10.0)})


def test_describe_shows_how_a_container_ended(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    with api.client() as client:
        client.post("/api/v1/namespaces/default/pods", pod("a"))
    api.do(lambda door: door.update("a", _crashed))
    assert _run(api, "describe", "a") == 0
    told = capsys.readouterr().out
    assert "    state:     waiting, CrashLoopBackOff: back-off 10s" in told
    assert (
        "    before:    terminated, OOMKilled, exit code 137: the runtime failed: all used\n"
        in told
    )


def _ended(run: PodRun) -> PodRun:
    return replace(run, containers={"c": replace(run.of("c"), phase=ContainerPhase.TERMINATED)})


def test_logs_prints_what_was_written(
    api: Api, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"one\ntwo\xff\n")
    with api.client() as client:
        uid = client.post("/api/v1/namespaces/default/pods", pod("a"))["metadata"]["uid"]
    api.do(lambda door: door.logs.update({(ContainerKey(uid, "c"), False): file}))
    assert _run(api, "logs", "a", "--tail", "1") == 0
    assert capfdbinary.readouterr().out == b"two\xff\n"
    api.do(lambda door: door.update("a", _ended))
    assert _run(api, "logs", "-f", "a", "-c", "c") == 0
    assert capfdbinary.readouterr().out == b"one\ntwo\xff\n"
    assert _run(api, "logs", "-p", "a") == 1


def test_top_redraws_on_a_terminal_until_it_is_interrupted(api: Api) -> None:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "numalet", "top", "--every", "0.2"]
    child = subprocess.Popen(
        [*words, "--root", str(api.path.parent)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    )
    os.close(theirs)
    try:
        assert b"\x1b[?1049h" in shown_until(ours, b"NUMA")
        with api.client() as client:
            client.post("/api/v1/namespaces/default/pods", pod("latecomer"))
        assert b"latecomer" in shown_until(ours, b"latecomer")
        child.send_signal(signal.SIGINT)
        # The screen is given back as it was.
        assert b"\x1b[?1049l" in shown_until(ours, b"\x1b[?1049l")
        assert child.wait(PATIENCE_SECONDS) == 130
    finally:
        child.kill()
        child.wait(PATIENCE_SECONDS)
        os.close(ours)


def test_top_scrolls_sorts_and_filters_by_keys(api: Api) -> None:
    with api.client() as client:
        for number in range(14):
            client.post("/api/v1/namespaces/default/pods", pod(f"web-{number}", "1Mi"))
        client.post("/api/v1/namespaces/default/pods", pod("zebra", "1Mi"))
    api.do(lambda door: door.update("zebra", _crashed))
    ours, theirs = pty.openpty()
    modes = termios.tcgetattr(theirs)
    child = subprocess.Popen(
        [sys.executable, "-m", "numalet", "top", "--root", str(api.path.parent)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "18", "NO_COLOR": "1"},
    )

    def screen(keys: bytes, until: bytes) -> list[str]:
        """The pods of the first screen after these keys that has this text above them."""
        os.write(ours, keys)
        shown = b""
        while not (
            found := re.search(re.escape(until) + rb".*?(q quit|Enter keep)", shown, re.DOTALL)
        ):
            more = shown_until(ours, b"e")
            assert more, shown
            shown += more
        lines = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", found[0]).decode().splitlines()
        return [line.split()[0] for line in lines if re.match(r"web|zebra", line)]

    try:
        first = screen(b"", b"of 15 pods, those in trouble first")
        assert first[:2] == ["zebra", "web-0"]
        assert len(first) < 15
        assert first[-1] not in screen(b"\x1b[6~", b"those in trouble")
        assert screen(b"\x1b[H\x1b[C", b"by NAME")[:4] == ["web-0", "web-1", "web-2", "web-3"]
        assert screen(b"r", b"by NAME, reversed")[:2] == ["zebra", "web-13"]
        assert screen(b"/b-1", b"5 with 'b-1', by NAME, reversed")[-1] == "web-1"
        assert screen(b"\r\x1b", b"15 pods, those in trouble first")[0] == "zebra"
        os.write(ours, b"q")
        assert b"\x1b[?1049l" in shown_until(ours, b"\x1b[?1049l")
        assert child.wait(PATIENCE_SECONDS) == 0
        assert termios.tcgetattr(theirs) == modes
    finally:
        child.kill()
        child.wait(PATIENCE_SECONDS)
        os.close(ours)
        os.close(theirs)


def test_top_draws_nodes_and_pods_once(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    with api.client() as client:
        client.post("/api/v1/namespaces/default/pods", pod("a", "16Gi"))
    assert _run(api, "top", "--once") == 0
    drawn = capsys.readouterr().out
    assert drawn.startswith("node7: enforcing, held by process,")
    assert "PROMISED" in drawn
    assert "16Gi" in drawn
    assert "NAME   READY" in drawn


def test_without_an_agent_the_commands_say_how_to_start_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["ps", "--root", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"no agent answers at {tmp_path}/agent.sock" in said
    assert "numalet agent" in said


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (113, "113s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (90_000, "1d")],
)
def test_ages_are_in_their_largest_unit(seconds: int, text: str) -> None:
    assert age(views.BEGINNING.isoformat(), views.later(seconds)) == text
