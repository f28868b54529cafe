"""The exit status of every command that answers from files, as its help and the manual list it."""

from __future__ import annotations

import pytest

from cli.commands import (
    DOCUMENTED,
    EXAMPLES,
    FLEET,
    GUARANTEED,
    RESERVED,
    SECOND,
    SMALL_MACHINE,
    Runner,
)
from numalet.cli import main, manual
from values import gpu_dump

_CONFIG = ("-c", str(EXAMPLES / "kubelet.yaml"))
_OTHER = (*_CONFIG, "--reserved-memory", RESERVED, *SMALL_MACHINE)
"""The documented configuration on another machine, on which its reservation is wrong."""

_UNDECIDED = """apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: static}
spec:
  kubeletConfig:
    memoryManagerPolicy: Static
    reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
"""
"""What the vendor reserves on top is in no file."""

_BROKEN = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
memoryManagerPolicy: Static
topologyManagerPolicy: odd
kubeReserved: {memory: 1Gi}
"""

# Files in capitals are made by the test.
ANSWERS: list[tuple[str, tuple[str, ...], int]] = [
    ("machine", SMALL_MACHINE, 0),
    ("simulate", (*DOCUMENTED, GUARANTEED), 0),
    ("simulate", (*DOCUMENTED, GUARANTEED, SECOND), 1),
    ("explain", (*DOCUMENTED, GUARANTEED), 0),
    ("explain", (*DOCUMENTED, SECOND, "--state-dir", "STATE"), 1),
    ("what-if", (*DOCUMENTED, GUARANTEED), 0),
    ("replay", ("RECORD",), 0),
    ("replay", ("CHANGED",), 1),
    ("check", DOCUMENTED, 0),
    ("check", (*_CONFIG, "-m", str(EXAMPLES / "machine.yaml")), 1),
    ("check", ("-c", "TEMPLATE", *SMALL_MACHINE), 4),
    ("reserve", SMALL_MACHINE, 0),
    ("reserve", ("-c", "BROKEN", *SMALL_MACHINE), 1),
    ("state show", ("STATE",), 0),
    ("state verify", ("STATE",), 0),
    ("state verify", ("DAMAGED",), 1),
    ("state diff", ("STATE", "STATE"), 0),
    ("state diff", ("STATE", "OTHER"), 1),
    ("state restore-check", (*DOCUMENTED, "STATE"), 0),
    ("state restore-check", (*_OTHER, "STATE"), 1),
    ("state upgrade-check", (*DOCUMENTED, "STATE", "--from", "1.36", "--to", "1.37"), 0),
    ("state upgrade-check", (*_OTHER, "STATE", "--from", "1.36", "--to", "1.37"), 1),
    ("state rebase", (*DOCUMENTED, "STATE"), 0),
    ("state rebase", (*_OTHER, "STATE"), 1),
    ("fleet fit", ("cpu=1", *FLEET), 0),
    ("fleet fit", ("nvidia.com/gpu=1", *FLEET), 1),
    ("fleet traps", FLEET, 0),
    ("fleet traps", ("--shape", "nvidia.com/gpu=4", "--dump", "DUMP"), 1),
    ("fleet free", (GUARANTEED, *FLEET), 0),
    ("fleet free", ("nvidia.com/gpu=99", *FLEET), 1),
    ("fleet why", ("default/infer-0", "--dump", "DUMP"), 0),
    ("fleet why", ("default/llm-0", "--dump", "DUMP"), 1),
    ("fleet rejected", FLEET, 0),
    ("fleet rejected", ("--dump", "DUMP"), 1),
    ("fleet classes", ("--dump", "DUMP"), 0),
    ("fleet what-if", ("--policy", "restricted", *FLEET), 0),
    ("lab list", (), 0),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the commands read, by the words that stand for it."""
    folder = tmp_path_factory.mktemp("files")
    made = {
        name: folder / name.lower()
        for name in ("STATE", "DAMAGED", "OTHER", "CHANGED", "TEMPLATE", "BROKEN", "DUMP")
    }
    made["RECORD"] = folder / "record.jsonl"
    for name, pod in (("STATE", GUARANTEED), ("DAMAGED", GUARANTEED), ("OTHER", SECOND)):
        made[name].mkdir()
        assert main.run(["simulate", *DOCUMENTED, pod, "--state-dir", str(made[name])]) == 0
    assert main.run(["simulate", *DOCUMENTED, GUARANTEED, "--record", str(made["RECORD"])]) == 0
    (made["DAMAGED"] / "memory_manager_state").write_text('{"policyName": "Static"}')
    made["CHANGED"].write_text(made["RECORD"].read_text().replace(": true", ": false"))
    made["TEMPLATE"].write_text(_UNDECIDED)
    made["BROKEN"].write_text(_BROKEN)
    gpu_dump.write_rejections(made["DUMP"])
    return {name: str(path) for name, path in made.items()}


@pytest.mark.parametrize(("command", "arguments", "status"), ANSWERS)
def test_a_command_ends_as_its_help_says(
    numalet: Runner,
    files: dict[str, str],
    command: str,
    arguments: tuple[str, ...],
    status: int,
) -> None:
    ended = numalet(*command.split(), *(files.get(each, each) for each in arguments))
    assert ended.status == status, ended.err


def test_every_command_ends_with_2_if_an_option_is_unknown(numalet: Runner) -> None:
    pages = [page for page in manual.pages() if page.exit_status and not page.children]
    assert len(pages) > 40
    for page in pages:
        if page.words[1] != "run":
            ended = numalet(*page.words[1:], "--odd")
            assert (ended.status, "No such option: --odd" in ended.err) == (2, True), page.words
