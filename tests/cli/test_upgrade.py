"""``numalet check --and`` and ``numalet state upgrade-check``: what another release changes."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from cli.commands import Runner, pod, process
from numalet.insight.output.upgrade_document import UpgradeDocument

STATIC = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions: {prefer-align-cpus-by-uncorecache: "true"}
featureGates: {CPUManagerPolicyAlphaOptions: true, MemoryManager: true}
reservedSystemCPUs: "0-1"
memoryManagerPolicy: Static
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
"""
MACHINE = ("-m", "1n16c2t", "--memory-per-node", "32Gi")


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration that only releases up to 1.35 start with."""
    path = tmp_path / "kubelet.yaml"
    path.write_text(STATIC)
    return str(path)


@pytest.fixture
def pods(tmp_path: Path) -> str:
    """One pod that fits."""
    path = tmp_path / "pods.yaml"
    path.write_text(pod("p1", "1Gi"))
    return str(path)


def codes(out: str) -> list[str]:
    """The codes of the changes in a document, which is one of its schema."""
    document = msgspec.json.decode(out, type=UpgradeDocument)
    return [each.code for each in document.changes]


def test_what_stops_the_next_kubelet_comes_first(numalet: Runner, config: str, pods: str) -> None:
    asked = ("check", "--release", "1.32", "--and", "v1.36.2", "-c", config, *MACHINE, pods)
    ended = numalet(*asked)

    assert ended.status == 1
    assert "A kubelet v1.32 starts\nA kubelet v1.36 does not start. It says:" in ended.out
    assert ended.out.index("upgrade/does-not-start") < ended.out.index("upgrade/option")
    assert "remove MemoryManager from featureGates" in ended.out
    assert "as if these gates were not set" in " ".join(ended.out.split())
    assert ended.out.endswith("notes; 1 pod given.\n")
    as_json = numalet(*asked, "-o", "json")
    assert as_json.status == 1
    assert codes(as_json.out)[0] == "upgrade/does-not-start"
    assert "config/gate-unknown-in-file" in codes(as_json.out)


def test_what_does_not_affect_the_inputs_is_counted_and_shown_on_request(
    numalet: Runner, config: str, pods: str
) -> None:
    asked = ("check", "--release", "1.32", "--and", "1.35", "-c", config, *MACHINE, pods)
    short, long = numalet(*asked), numalet(*asked, "--all")

    assert "more notes on rules and gates that do not affect" in short.out
    assert "PodLevelResources" not in short.out
    assert "What does not affect these inputs" in long.out
    assert "PodLevelResources" in long.out
    assert short.out.splitlines()[-1] == long.out.splitlines()[-1], "both count all"
    marked = numalet(*asked, "-o", "github"), numalet(*asked, "-o", "github", "--all")
    assert [each.out.count("PodLevelResources") > 0 for each in marked] == [False, True]


def test_a_release_changes_nothing_from_itself(numalet: Runner, config: str, pods: str) -> None:
    ended = numalet("check", "--release", "1.33", "--and", "1.33", "-c", config, *MACHINE, pods)

    assert ended.status == 0
    assert ended.out.endswith("From v1.33 to v1.33 nothing changes; 1 pod given.\n")


@pytest.mark.parametrize("output", ["sarif", "github", "junit"])
def test_changes_are_printed_for_programs(numalet: Runner, config: str, output: str) -> None:
    ended = numalet(
        *("check", "--release", "1.32", "--and", "1.36", "-c", config), *MACHINE, "-o", output
    )

    assert ended.status == 1
    assert "upgrade/does-not-start" in ended.out


def test_changes_can_be_left_out(numalet: Runner, config: str) -> None:
    asked = ("check", "--and", "1.35", "-c", config, *MACHINE, "-o", "json")

    assert "upgrade/option" in codes(numalet(*asked).out)
    assert "upgrade/option" not in codes(numalet(*asked, "--ignore", "upgrade/option").out)


@pytest.mark.parametrize("release", ["1.38", "2", "newest", ""])
def test_a_release_that_is_not_known_is_refused(numalet: Runner, config: str, release: str) -> None:
    ended = numalet("check", "--and", release, "-c", config, *MACHINE)

    assert ended.status == 2
    assert "--and" in ended.err
    assert "1.32, 1.33, 1.34, 1.35, 1.36, 1.37" in ended.err


def test_several_machines_are_not_compared(numalet: Runner, config: str) -> None:
    ended = numalet("check", "--and", "1.36", "-c", config, "-m", "1n2c1t", "-m", "2n4c1t")

    assert ended.status == 2
    assert "one configuration and one machine" in ended.err


def test_state_files_are_tried_with_both_releases(
    numalet: Runner, tmp_path: Path, pods: str
) -> None:
    config, folder = tmp_path / "kubelet.yaml", tmp_path / "state"
    config.write_text(STATIC.replace(", MemoryManager: true", ""))
    folder.mkdir()
    asked = ("-c", str(config), *MACHINE)
    written = numalet(
        "simulate", *asked, "--release", "1.32", "--state-dir", str(folder), pods, "-o", "json"
    )
    assert written.status == 0
    files = json.loads(written.out)["state_files"]
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))

    checked = ("state", "upgrade-check", str(folder), *asked, "--pods", pods)
    ended = numalet(*checked, "--from", "1.32", "--to", "1.36")
    assert (ended.status, "upgrade/" in ended.out) == (0, True)
    document = msgspec.json.decode(
        numalet(*checked, "--from", "1.32", "-o", "json").out, type=UpgradeDocument
    )
    assert (document.before.release, document.after.release) == ("1.32", "1.37")
    assert document.after.starts

    memory = folder / "memory_manager_state"
    memory.write_text(json.dumps({**json.loads(memory.read_text()), "checksum": 0}))
    back = numalet(*checked, "--from", "1.36", "--to", "1.35", "-o", "json")
    assert back.status == 1
    assert "memory-state/corrupted" in codes(back.out)


def test_a_kubelet_that_does_not_start_in_any_release_is_an_error(
    numalet: Runner, tmp_path: Path
) -> None:
    (tmp_path / "memory_manager_state").write_text("{")
    asked = ("state", "upgrade-check", str(tmp_path), "--from", "1.33", "--to", "1.36", *MACHINE)

    assert codes(numalet(*asked, "-o", "json").out)[0] == "upgrade/neither-starts"
    assert numalet(*asked).status == 1


def test_without_state_files_nothing_is_compared(numalet: Runner, tmp_path: Path) -> None:
    ended = numalet("state", "upgrade-check", str(tmp_path), "--to", "1.36", *MACHINE)

    assert ended.status == 2
    assert "no state files in" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize("command", [("check", "--and", "1.36"), ("state", "upgrade-check")])
def test_a_configuration_from_the_standard_input_is_read_once(
    command: tuple[str, ...], config: str, tmp_path: Path
) -> None:
    (tmp_path / "cpu_manager_state").write_text(
        '{"policyName":"static","defaultCpuSet":"0-31","checksum":0}'
    )
    place = [str(tmp_path)] if command[0] == "state" else []
    asked = (*command, *place, "-c", "-", *MACHINE, "-o", "json")

    from_input = process(*asked, stdin=Path(config).read_text())
    assert from_input.err == ""
    from_file = process(*(config if each == "-" else each for each in asked))
    assert codes(from_input.out) == codes(from_file.out) != []


def test_pods_that_run_and_are_lost_are_named_by_both_checks(
    numalet: Runner, tmp_path: Path
) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {full-pcpus-only: 'true'}\n"
        "reservedSystemCPUs: '0'\n"
    )
    state = tmp_path / "st"
    state.mkdir()
    held = '{"policyName":"static","defaultCpuSet":"0,7","entries":{"u":{"c":"1-6"}},"checksum":0}'
    (state / "cpu_manager_state").write_text(held)
    asked = {"cpu": "6", "memory": "1Mi"}
    pods = []
    for name, uid, phase in (("p", "u", "Running"), ("q", "v", "Pending")):
        container = {"name": "c", "image": "x", "resources": {"requests": asked, "limits": asked}}
        metadata = {"name": name, "uid": uid, "namespace": "default"}
        spec = {"containers": [container]}
        pods.append({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec})
        pods[-1]["status"] = {"phase": phase}
    listed = tmp_path / "pods.json"
    listed.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": pods}))
    place = ("-c", str(config), "-m", "1n8c1t", "--memory-per-node", "8Gi", "--pods", str(listed))

    ended = numalet("state", "upgrade-check", "--from", "1.36", "--to", "1.36", *place, str(state))
    assert ended.status == 1
    assert "v1.36 rejects pod default/p, which runs: SMTAlignmentError" in " ".join(
        ended.out.split()
    )
    assert ended.out.endswith("1 error, 0 warnings, 0 notes; 1 pod given.\n")

    ended = numalet("state", "restore-check", "--release", "1.36", *place, str(state))
    assert ended.status == 1
    words = " ".join(ended.out.split())
    assert "The kubelet starts with these files." in words
    assert "error: the kubelet rejects pod default/p, which runs: SMTAlignmentError" in words
    config.write_text(config.read_text().replace("full-pcpus-only: 'true'", ""))
    ended = numalet("state", "restore-check", "--release", "1.36", *place, str(state))
    assert ended.status == 0
    assert "The kubelet admits all of them again." in ended.out
