"""What an administrator says, and what an agent makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bad_inputs import refused_with
from numalet.agent.controller import settings
from numalet.agent.controller.settings import AgentOptions, RuntimeKind
from numalet.core.config.behaviour import Mode
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import BadInput
from numalet.core.node import node as nodes
from numalet.io import machines
from numalet.io.agent_client import places
from numalet.io.machines import MachineChoice
from running import agents

KUBELET = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
"""
NUMALET = """
---
apiVersion: numalet.dev/v1alpha1
kind: NumaletConfiguration
mode: exact
"""


@pytest.mark.parametrize("shape", ["1n2c1t", "2n8c1t", "4n16c2t", "8n8c2t"])
@pytest.mark.parametrize("memory", ["1Gi", "16Gi", "512Gi"])
def test_the_embedded_configuration_fits_every_machine(shape: str, memory: str) -> None:
    machine = machines.open_machine(shape, memory_per_node=memory).info
    started = nodes.start(settings.fitted(machine), machine)
    assert not isinstance(started, StartRefused), started


@pytest.mark.parametrize(
    ("text", "exact", "mode"),
    [
        (None, False, Mode.NATIVE),
        (None, True, Mode.EXACT),
        (KUBELET, False, Mode.NATIVE),
        (KUBELET, True, Mode.EXACT),
        (KUBELET + NUMALET, False, Mode.EXACT),
    ],
)
def test_an_agent_is_native_unless_configured_otherwise(
    tmp_path: Path, text: str | None, exact: bool, mode: Mode
) -> None:
    file = None
    if text is not None:
        file = tmp_path / "kubelet.yaml"
        file.write_text(text)
    given = agents.settings(tmp_path / "root", config_file=file, exact=exact)
    assert mode is given.premises.behaviour.mode


def test_a_described_machine_is_no_place_for_real_programs(tmp_path: Path) -> None:
    options = AgentOptions(
        root=tmp_path, machine=MachineChoice("2n8c1t", "16Gi"), runtime=RuntimeKind.PROCESS
    )
    with refused_with("input/not-supported"):
        settings.resolve(options)


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    options = AgentOptions(
        root=tmp_path, machine=MachineChoice("no-such"), config_file=tmp_path / "no-such"
    )
    with pytest.raises(BadInput) as refused:
        settings.resolve(options)
    assert len(refused.value.findings) == 2


def test_the_node_state_of_a_user_are_in_their_own_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert Path("/var/lib/numalet") == places.default_root()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", "/home/someone/state")
    assert Path("/home/someone/state/numalet") == places.default_root()
    monkeypatch.setenv("HOME", "/home/someone")
    for none in ("", "state"):
        monkeypatch.setenv("XDG_STATE_HOME", none)
        assert Path("/home/someone/.local/state/numalet") == places.default_root()


def test_a_relative_path_means_the_same_wherever_the_agent_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kubelet.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    )
    found = settings.resolve(
        AgentOptions(
            root=Path("root"),
            manifests=Path("pods"),
            config_file=Path("kubelet.yaml"),
            kubelet_root=Path("kubelet"),
            runtime=RuntimeKind.FAKE,
        )
    )
    assert (tmp_path / "root", tmp_path / "pods") == (found.root, found.manifests)
    assert (tmp_path / "kubelet.yaml", tmp_path / "kubelet") == (
        found.config_file,
        found.kubelet_root,
    )
    assert str(tmp_path / "root") == found.premises.root


@pytest.mark.parametrize(
    ("release", "gates", "is_on"),
    [
        ("1.32", "{}", False),
        ("1.32", "{AllAlpha: true}", True),
        ("1.33", "{}", False),
        ("1.33", "{KubeletPodResourcesGet: true}", True),
        ("1.34", "{}", True),
        ("1.34", "{KubeletPodResourcesGet: false}", False),
        ("1.36", "{}", True),
    ],
)
def test_monitors_may_ask_for_one_pod_where_the_release_lets_them(
    tmp_path: Path, release: str, gates: str, is_on: bool
) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(f'{KUBELET}featureGates: {gates}{NUMALET}release: "{release}"\n')
    asking = agents.settings(tmp_path / "root", config_file=file).asking
    assert is_on is asking.get_is_enabled
