"""Command lines as configurations: what is given, what is a default, what is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.config import command_flags
from numalet.core.config.behaviour import EXACT
from numalet.core.config.releases import table
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.node import node as nodes
from numalet.insight.lint import rules
from numalet.insight.lint.subject import LintSubject
from numalet.insight.usecases import reserving
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources, LoadedConfig
from values import builders

LOG = """\
I0303 11:00:01.2 78 flags.go:64] FLAG: --config="{config}"
I0303 11:00:01.2 78 flags.go:64] FLAG: --cpu-manager-policy="none"
I0303 11:00:01.2 78 flags.go:64] FLAG: --enforce-node-allocatable="[pods,kube-reserved]"
I0303 11:00:01.2 78 flags.go:64] FLAG: --help="false"
I0303 11:00:01.2 78 flags.go:64] FLAG: --max-pods="9"
I0303 11:00:01.2 78 flags.go:64] FLAG: --network-plugin="cni"
"""
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    return tmp_path / "given"


def load(path: Path, text: str) -> LoadedConfig:
    path.write_text(text)
    return kubelet_config.load(ConfigSources(config_file=path))


def unknown(loaded: LoadedConfig) -> list[Finding]:
    return [each for each in loaded.warnings if each.severity is Severity.WARNING]


def test_flags_at_their_defaults_in_a_log_leave_the_file_alone(given: Path, tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(HEAD + "cpuManagerPolicy: static\nmaxPods: 5\n")
    config = load(given, LOG.format(config=file)).config

    assert (config.cpu_manager_policy, config.max_pods) == ("static", 9)
    assert config.enforce_node_allocatable == ("pods", "kube-reserved")
    assert config.where("maxPods").line == 5
    (problem,) = command_flags.problems(config.flags, table.DEFAULT)
    assert problem.fields["flag"] == "--network-plugin"


def test_a_log_says_whether_there_is_a_file_and_an_excerpt_does_not(given: Path) -> None:
    assert load(given, LOG.format(config="")).config.eviction_hard == {}
    excerpt = "".join(LOG.splitlines(keepends=True)[1:])
    assert load(given, excerpt).config.uses_default_eviction


def test_what_cannot_be_read_here_is_said(given: Path) -> None:
    loaded = load(
        given,
        "[Service]\nEnvironmentFile=/none/sizing.env\nExecStart=/usr/bin/kubelet \\\n"
        "  --v=${LEVEL} \\\n  --max_pods=9 \\\n  --system-reserved=cpu=${CPU}\n",
    )

    assert loaded.config.max_pods == 9
    assert loaded.config.where("maxPods").line == 5
    assert loaded.config.system_reserved == {}
    assert [*command_flags.problems(loaded.config.flags, table.DEFAULT)] == []
    variable, file = unknown(loaded)
    assert (variable.code, variable.where.line) == ("input/ignored", 6)
    assert "--system-reserved has the value 'cpu=${CPU}'" in str(variable)
    assert "cannot read /none/sizing.env" in str(file)


def test_kubelite_has_the_flags_of_its_kubelet_in_a_file(given: Path, tmp_path: Path) -> None:
    args = tmp_path / "kubelet"
    args.write_text("# of MicroK8s\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n--max-pods=9\n")
    row = "root 77 1 0 10:00 ? 00:00:01 /snap/microk8s/1/kubelite --scheduler-args-file=x "

    assert load(given, f"{row}--kubelet-args-file={args}").config.max_pods == 9
    (missing,) = unknown(load(given, f"{row}--kubelet-args-file=/none/kubelet"))
    assert "cannot read /none/kubelet" in str(missing)
    (unnamed,) = unknown(load(given, row))
    assert unnamed.code == "input/ignored"
    assert load(given, args.read_text()).config.max_pods == 9


def test_a_flag_has_the_line_where_it_stands(given: Path) -> None:
    text = "KUBELET_ARGS='--max-pods=5 \\\n--v=2 \\\n--max-pods=9'\n# --max-pods\n"

    assert load(given, text).config.where("maxPods").line == 3


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("kubelet --config=/none.yaml --max-pods=9", ("/none.yaml",)),
        ("kubelet --config-dir=/none.d --max-pods=9", ("/none.d",)),
        ("kubelet --config={file} --config-dir=/none.d --max-pods=9", ("/none.d",)),
        (
            "[Service]\nEnvironmentFile=-/none\nExecStart=kubelet $EXTRA --max-pods=9",
            ("the variable EXTRA",),
        ),
        ("kubelet --config=$CONFIG --max-pods=9", ("the value of --config",)),
        ("root 7 /bin/kubelite --kubelet-args-file=/none", ("/none",)),
    ],
)
def test_what_may_set_any_field_leaves_the_start_undecided(
    given: Path, tmp_path: Path, text: str, files: tuple[str, ...]
) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(HEAD + "cpuManagerPolicy: static\n")
    config = load(given, text.replace("{file}", str(file))).config

    assert config.unknown is not None
    assert config.unknown.files == files
    started = nodes.start(config, builders.machine(2))
    assert isinstance(started, StartRefused)
    assert started.is_undecided
    assert f"cannot tell whether the kubelet starts without {files[0]}" in str(started.findings[0])


def test_flags_that_stop_the_start_are_certain_without_the_file(given: Path) -> None:
    text = "kubelet --config=/none.yaml --cpu-manager-policy=static --gone --max-pods=x\n"
    config = load(given, text).config
    refused = nodes.start(config, builders.machine(2))

    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.FLAGS
    found = (*refused.findings, *refused.further)
    assert [each.code for each in found] == ["flag/unknown", "flag/invalid"]
    subject = LintSubject(config=config, machine=builders.machine(2))
    assert [each.code for each in rules.check(subject).findings] == ["flag/unknown", "flag/invalid"]
    with pytest.raises(BadInput, match="cannot tell how much reservedMemory is right without"):
        reserving.plan_for(config, builders.machine(2), "even", EXACT)
