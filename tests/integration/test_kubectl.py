"""kubectl as it comes, against an agent in a process of its own.

``NUMALET_KUBECTL`` may name several programs, separated by colons; without it the one in PATH is
taken. A machine without any skips.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PATIENCE_SECONDS = 200.0
DESCRIBED = ("--runtime", "fake", "-m", "2n16c2t", "--memory-per-node", "128Gi")
# What one NUMA node can not hold is refused.
STRICT = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
kubeReserved: {cpu: "1", memory: 924Mi}
reservedMemory:
- {numaNode: 0, limits: {memory: 512Mi}}
- {numaNode: 1, limits: {memory: 512Mi}}
"""
HERE = ("--runtime", "process", "--ownership", "enforce")
KUBECTLS = [
    path
    for path in os.environ.get("NUMALET_KUBECTL", shutil.which("kubectl") or "").split(":")
    if path
]
REJECTION = "Resources cannot be allocated with Topology locality"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not KUBECTLS, reason="there is no kubectl"),
]


def run(command: list[str], given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@dataclass(frozen=True)
class Cluster:
    """A kubectl, and the agent that it talks to."""

    program: str
    root: Path

    def command(self, *words: str) -> list[str]:
        given = ["--kubeconfig", str(self.root / "admin.kubeconfig")]
        return [self.program, *given, "--cache-dir", str(self.root.parent / "cache"), *words]

    def run(self, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        command = self.command(*words)
        return run(command, given)

    def said(self, *words: str, given: str | None = None) -> str:
        """What a command prints. It must end well, and complain of nothing."""
        done = self.run(*words, given=given)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def rows(self, *words: str) -> list[list[str]]:
        """A table, heads first; columns are apart by two spaces or more."""
        text = self.said(*words)
        return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]

    def found(self, *words: str) -> Any:
        return json.loads(self.said(*words, "-o", "json"))

    @contextmanager
    def followed(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on by itself, ended with the block."""
        with subprocess.Popen(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                yield process
            finally:
                process.kill()


@contextmanager
def agent(root: Path, *options: str) -> Iterator[None]:
    words = ("agent", "--root", str(root), "--kube-api", "0", "--node-name", "node7", *options)
    log = root.parent / "agent.log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            [sys.executable, "-m", "numalet", *words], stdout=output, stderr=output
        ) as process,
    ):
        try:
            eventually(lambda: "Agent is ready" in log.read_text())
            yield
        finally:
            process.terminate()


def eventually(found: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE_SECONDS
    while not (value := found()):
        assert time.monotonic() < until, "in vain"
        time.sleep(0.05)
    return value


@pytest.fixture(scope="module", params=KUBECTLS)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """An agent that is shared; each test has a namespace of its own."""
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        root = Path(folder) / "root"
        config = Path(folder) / "kubelet.yaml"
        config.write_text(STRICT)
        with agent(root, *DESCRIBED, "-c", str(config)):
            yield Cluster(request.param, root)


def manifest(name: str, memory: str = "1Gi", namespace: str = "default", **spec: Any) -> str:
    asked = {"cpu": "2", "memory": memory}
    container = {"name": "main", "command": ["serve"], "resources": {"limits": asked}}
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return json.dumps({**pod, "spec": {"containers": [{**container, **spec}]}})


def test_a_refused_pod_shows_as_in_the_documentation(cluster: Cluster) -> None:
    space = ("-n", "refused")
    created = cluster.said("create", "-f", "-", given=manifest("guaranteed", "200Gi", "refused"))
    assert created == "pod/guaranteed created\n"
    head, row = cluster.rows("get", "pods", *space)
    assert head == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row[:4] == ["guaranteed", "0/1", "TopologyAffinityError", "0"]
    assert re.fullmatch(r"\d+s", row[4])
    head, row = cluster.rows("get", "events", *space)
    assert head == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row[1:] == ["Warning", "TopologyAffinityError", "pod/guaranteed", REJECTION]
    told = cluster.said("describe", "pod", "guaranteed", *space)
    assert re.search(r"^Status: +Failed$", told, re.MULTILINE)
    assert re.search(r"^Reason: +TopologyAffinityError$", told, re.MULTILINE)
    assert re.search(rf"^Message: +Pod was rejected: {REJECTION}$", told, re.MULTILINE)
    event = rf"Warning +TopologyAffinityError +\w+ +numalet +{REJECTION}$"
    assert re.search(event, told, re.MULTILINE)


def test_a_pod_is_shown_in_every_form(cluster: Cluster) -> None:
    space = ("-n", "forms")
    cluster.said("create", "-f", "-", given=manifest("small", namespace="forms"))
    cluster.said("wait", "--for=condition=Ready", "pod/small", "--timeout=200s", *space)
    head, row = cluster.rows("get", "pods", "-o", "wide", *space)
    assert head[5:] == ["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert row[:4] == ["small", "1/1", "Running", "0"]
    assert row[5:] == ["<none>", "node7", "<none>", "<none>"]
    assert "phase: Running" in cluster.said("get", "pod", "small", "-o", "yaml", *space)
    (pod,) = cluster.found("get", "pods", *space)["items"]
    assert pod["spec"]["nodeName"] == "node7"
    assert cluster.said("get", "po", "-o", "name", *space) == "pod/small\n"
    assert cluster.rows("get", "pods", "-A", "-l", "app=small")[1][:2] == ["forms", "small"]
    of_phase = ("--field-selector", "status.phase=Failed")
    assert "No resources found" in cluster.run("get", "pods", *of_phase, *space).stderr


def test_apply_makes_a_pod_and_does_not_change_it(cluster: Cluster) -> None:
    space = ("-n", "applied")
    given = manifest("small", namespace="applied")
    assert cluster.said("apply", "-f", "-", given=given) == "pod/small created\n"
    assert cluster.said("apply", "-f", "-", given=given) == "pod/small unchanged\n"
    assert cluster.said("diff", "-f", "-", given=given) == ""
    before = cluster.found("get", "pod", "small", *space)
    larger = manifest("small", "2Gi", namespace="applied")
    for words in (("apply", "-f", "-"), ("apply", "--server-side", "-f", "-")):
        done = cluster.run(*words, given=larger)
        assert (done.returncode, "application/merge-patch+json" in done.stderr) == (1, True)
    assert cluster.found("get", "pod", "small", *space) == before


def test_a_pod_is_labelled_annotated_and_patched(cluster: Cluster) -> None:
    space = ("-n", "relabelled")
    cluster.said("create", "-f", "-", given=manifest("small", namespace="relabelled"))
    with cluster.followed("get", "pods", "-w", "--output-watch-events", *space) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline().split()[0] == "EVENT"
        assert watch.stdout.readline().split()[0] == "ADDED"
        told = cluster.said("label", "pod", "small", "tier=back", "app-", *space)
        # Newer ones say what they did in other words.
        assert told.startswith("pod/small ")
        line = watch.stdout.readline()
        while "MODIFIED" not in line:
            line = watch.stdout.readline()
    cluster.said("annotate", "pod", "small", "who=me", *space)
    operation = '[{"op": "add", "path": "/metadata/labels/by", "value": "patch"}]'
    labels = '{"metadata":{"labels":{"on":"y"}}}'
    for kind, patch in (("json", operation), ("merge", labels)):
        cluster.said("patch", "pod", "small", f"--type={kind}", "-p", patch, *space)
    found = cluster.found("get", "pod", "small", *space)
    assert found["metadata"]["labels"] == {"tier": "back", "by": "patch", "on": "y"}
    assert found["metadata"]["annotations"] == {"who": "me"}
    assert cluster.said("get", "pods", "-l", "by=patch", "-o", "name", *space) == "pod/small\n"
    size = '{"spec":{"terminationGracePeriodSeconds":1}}'
    done = cluster.run("patch", "pod", "small", "--type=merge", "-p", size, *space)
    assert done.returncode == 1
    assert "spec: Forbidden: pod updates may not change fields other than" in done.stderr


def test_a_dry_run_of_the_server_decides_and_keeps_nothing(cluster: Cluster) -> None:
    space, dry = ("-n", "dry"), "--dry-run=server"
    given = manifest("small", namespace="dry")
    said = cluster.said("create", "-f", "-", dry, given=given)
    assert said == "pod/small created (server dry run)\n"
    words = ("create", "-f", "-", dry, "-o", "json")
    status = json.loads(cluster.said(*words, given=given))["status"]
    assert "would get memory of NUMA node" in status["message"]
    too_large = manifest("large", "200Gi", namespace="dry")
    status = json.loads(cluster.said(*words, given=too_large))["status"]
    assert status["reason"] == "TopologyAffinityError"
    cluster.said("apply", "-f", "-", dry, given=given)
    assert cluster.found("get", "pods", *space)["items"] == []
    cluster.said("apply", "-f", "-", given=given)
    before = cluster.found("get", "pod", "small", *space)
    cluster.said("label", "pod", "small", "a=b", dry, *space)
    cluster.said("delete", "pod", "small", dry, *space)
    assert cluster.found("get", "pod", "small", *space) == before


def test_fields_are_explained_as_they_are_taken_here(cluster: Cluster) -> None:
    done = cluster.run("explain", "pod.spec.containers.volumeMounts")
    assert "Refused: the program would do something else" in done.stdout


def test_what_is_wrong_with_a_pod_is_reported(cluster: Cluster) -> None:
    wrong = manifest("small", volumeMounts=[{"name": "v", "mountPath": "/data"}])
    done = cluster.run("create", "-f", "-", given=wrong)
    assert done.returncode == 1
    assert 'The Pod "small" is invalid' in done.stderr
    assert "spec.containers[0].volumeMounts" in done.stderr
    done = cluster.run("get", "pod", "absent")
    assert done.stderr == 'Error from server (NotFound): pods "absent" not found\n'


def test_what_an_author_should_know_is_said(cluster: Cluster) -> None:
    probed = manifest("probed", namespace="warned", livenessProbe={"exec": {"command": ["x"]}})
    done = cluster.run("create", "-f", "-", given=probed)
    assert (done.returncode, done.stdout) == (0, "pod/probed created\n")
    assert done.stderr.startswith("Warning: spec.containers[0].livenessProbe")


def test_a_watch_shows_a_pod_as_it_comes_and_goes(cluster: Cluster) -> None:
    space = ("-n", "watched")
    cluster.said("create", "-f", "-", given=manifest("first", namespace="watched"))
    with cluster.followed("get", "pods", "-w", *space) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline().split()[0] == "NAME"
        assert watch.stdout.readline().split()[0] == "first"
        cluster.said("create", "-f", "-", given=manifest("second", "200Gi", "watched"))
        line = watch.stdout.readline()
        while not line.startswith("second"):
            line = watch.stdout.readline()
        assert line.split()[:3] == ["second", "0/1", "TopologyAffinityError"]
        assert "deleted" in cluster.said("delete", "pod", "first", "--grace-period=1", *space)
        while "Terminating" not in line:
            assert not line.startswith("NAME")
            line = watch.stdout.readline()
    left = cluster.found("get", "pods", *space)["items"]
    assert [each["metadata"]["name"] for each in left] == ["second"]


def test_a_pod_is_deleted_by_its_name_and_by_its_file(cluster: Cluster) -> None:
    given = manifest("small", namespace="deleted")
    for words in (("pod", "small", "-n", "deleted"), ("-f", "-")):
        cluster.said("create", "-f", "-", given=given)
        said = cluster.said("delete", *words, given=given if "-f" in words else None)
        assert said.startswith('pod "small" deleted')
        assert cluster.found("get", "pods", "-n", "deleted")["items"] == []


def test_a_node_is_drained_and_comes_back(cluster: Cluster) -> None:
    given = manifest("small", namespace="drained")
    cluster.said("create", "-f", "-", given=given)
    done = cluster.run(
        *("drain", "node7", "--force", "--grace-period=0", "--timeout=200s"),
        *("--pod-selector", "app=small"),
    )
    assert done.returncode == 0, done.stderr
    assert "node/node7 cordoned" in done.stdout
    assert cluster.found("get", "pods", "-n", "drained")["items"] == []
    assert cluster.rows("get", "nodes")[1][1] == "Ready,SchedulingDisabled"
    refused = cluster.run("create", "-f", "-", given=given)
    assert "the node is cordoned" in refused.stderr
    assert cluster.said("uncordon", "node7") == "node/node7 uncordoned\n"
    cluster.said("create", "-f", "-", given=given)
    assert cluster.said("logs", "small", "-n", "drained") == ""


def test_the_node_is_shown_and_described(cluster: Cluster) -> None:
    cluster.said("create", "-f", "-", given=manifest("heavy", "3Gi", "noded"))
    head, row = cluster.rows("get", "nodes")
    assert head == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert row[:3] == ["node7", "Ready", "<none>"]
    assert re.match(r"v1\.\d+\.0\+numalet\.", row[4])
    told = cluster.said("describe", "node", "node7")
    assert re.search(r"^Capacity:\n +cpu: +64\n +memory: +256Gi", told, re.MULTILINE)
    assert re.search(r"^ +Ready +True .* AgentReady ", told, re.MULTILINE)
    assert re.search(r"^ +noded +heavy +2 \(3%\) +2 \(3%\) +3Gi", told, re.MULTILINE)
    assert ["noded", "Active"] in [row[:2] for row in cluster.rows("get", "namespaces")]
    assert cluster.rows("get", "podplacements", "-n", "noded")[1][4] == "0"


def test_a_wrong_token_is_turned_away(cluster: Cluster, tmp_path: Path) -> None:
    text = (cluster.root / "admin.kubeconfig").read_text()
    stranger = tmp_path / "stranger.kubeconfig"
    stranger.write_text(re.sub(r"token: .*", "token: wrong", text))
    words = [cluster.program, "--kubeconfig", str(stranger), "get", "pods"]
    done = run(words)
    assert done.returncode == 1
    assert "You must be logged in to the server" in done.stderr


@pytest.mark.parametrize("program", KUBECTLS)
def test_the_output_of_a_program_is_shown_and_followed(program: str) -> None:
    says = {"name": "main", "command": ["/bin/sh", "-c", "echo one; echo two; exec sleep 100"]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "talker"},
        "spec": {"containers": [says], "terminationGracePeriodSeconds": 1},
    }
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        root = Path(folder) / "root"
        with agent(root, *HERE):
            cluster = Cluster(program, root)
            cluster.said("create", "-f", "-", given=json.dumps(pod))
            cluster.said("wait", "--for=condition=Ready", "pod/talker", "--timeout=200s")
            eventually(lambda: cluster.said("logs", "talker") == "one\ntwo\n")
            assert cluster.said("logs", "talker", "--tail=1") == "two\n"
            timed = cluster.said("logs", "talker", "--timestamps", "--since=1h").splitlines()
            assert [line.split()[1] for line in timed] == ["one", "two"]
            with cluster.followed("logs", "-f", "talker") as log:
                assert log.stdout is not None
                assert [log.stdout.readline() for _ in range(2)] == ["one\n", "two\n"]
                cluster.said("delete", "pod", "talker")
                # Its end is the end of the output too.
                assert log.stdout.read() == ""
                assert log.wait(PATIENCE_SECONDS) == 0
