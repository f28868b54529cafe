"""A KubeletConfiguration inside something else: what is read, and where its parts stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.io.documents.kubelet import (
    kubelet_config,
    kubelet_config_document,
    kubelet_config_edit,
)
from numalet.io.documents.kubelet.kubelet_config import ConfigSources, LoadedConfig

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
OWN = "apiVersion: numalet.dev/v1alpha1\nkind: NumaletConfiguration\n"
CONFIG_MAP = """apiVersion: v1
data:
  kubelet: |
    apiVersion: kubelet.config.k8s.io/v1beta1
    kind: KubeletConfiguration
    cpuManagerPolicy: static

    reservedSystemCPUs: 0-1
kind: ConfigMap
metadata:
  name: kubelet-config
  namespace: kube-system
"""
KUBEADM = f"""apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.32.0
---
{HEAD}cpuManagerPolicy: static
"""
OPENSHIFT = """apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata:
  name: tuning
spec:
  machineConfigPoolSelector:
    matchLabels: {pool: tuned}
  kubeletConfig:
    cpuManagerPolicy: static
    reservedMemory:
    - numaNode: 0
      limits:
        memory: 1124Mi
"""
TALOS = """version: v1alpha1
machine:
  kubelet:
    extraArgs:
      feature-gates: CPUManagerPolicyAlphaOptions=true
      rotate-server-certificates: true
      topology-manager-policy: restricted
    extraConfig:
      cpuManagerPolicy: static
      topologyManagerPolicy: best-effort
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "given"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def load(path: Path) -> LoadedConfig:
    return kubelet_config.load(ConfigSources(config_file=path))


def refused(path: Path) -> tuple[Finding, ...]:
    with pytest.raises(BadInput) as caught:
        load(path)
    for finding in caught.value.findings:
        assert str(finding), "every finding has a sentence"
    return caught.value.findings


def place(config: KubeletConfig, field: str) -> tuple[str, int | None]:
    where = config.where(field)
    return where.path, where.line


def note(loaded: LoadedConfig) -> str:
    (found,) = loaded.warnings
    assert Severity.NOTE is found.severity
    return found.located


def test_a_config_map_of_kubeadm(write: Write) -> None:
    loaded = load(write(CONFIG_MAP))

    assert loaded.config.cpu_manager_policy == "static"
    assert place(loaded.config, "reservedSystemCPUs") == ("$.data.kubelet.reservedSystemCPUs", 8)
    assert "ConfigMap kube-system/kubelet-config, its key kubelet" in note(loaded)


def test_a_config_map_as_json_has_the_line_of_the_key(write: Write) -> None:
    text = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubelet-config-1.23"}}
    text["data"] = {"kubelet": HEAD + "cpuManagerPolicy: static\n"}
    loaded = load(write(json.dumps(text, indent=1)))

    assert place(loaded.config, "cpuManagerPolicy") == ("$.data.kubelet.cpuManagerPolicy", 8)
    assert "ConfigMap kubelet-config-1.23, its key kubelet" in note(loaded)


def test_what_is_wrong_inside_a_config_map_has_the_line_of_the_file(write: Write) -> None:
    (type_,) = refused(write(CONFIG_MAP.replace("static", "[static]")))
    (syntax,) = refused(write(CONFIG_MAP.replace("static", "{static")))
    unknown = load(write(CONFIG_MAP.replace("cpuManagerPolicy", "cpuManagerPolizei")))
    twice = load(write(CONFIG_MAP.replace("reservedSystemCPUs: 0-1", "cpuManagerPolicy: none")))

    assert (type_.code, type_.where.line) == ("config-file/wrong-type", 6)
    assert syntax.code == "document/syntax"
    assert syntax.where.line in (7, 8), "libyaml notices it behind the brace"
    assert 6 in [each.where.line for each in unknown.warnings]
    assert ("document/duplicate-key", 8) in [(f.code, f.where.line) for f in twice.warnings]


@pytest.mark.parametrize("style", [">", '"', ""])
def test_text_that_is_no_literal_block_has_the_line_where_it_begins(
    write: Write, style: str
) -> None:
    inner = HEAD + "cpuManagerPolicy: static\n"
    folded = ">\n" + "".join(f"    {line}\n\n" for line in inner.splitlines())
    text = folded if style == ">" else json.dumps(inner)
    path = write(f"apiVersion: v1\nkind: ConfigMap\ndata:\n  kubelet: {text}\n")

    assert place(load(path).config, "cpuManagerPolicy") == ("$.data.kubelet.cpuManagerPolicy", 4)


def test_the_configuration_among_those_of_kubeadm(write: Write) -> None:
    loaded = load(write(KUBEADM))

    assert place(loaded.config, "cpuManagerPolicy") == ("$.cpuManagerPolicy", 10)
    assert "the KubeletConfiguration among 3 documents" in note(loaded)
    assert "InitConfiguration, ClusterConfiguration" in note(loaded)


def test_our_own_settings_may_stand_beside_any_of_them(write: Write) -> None:
    for text in (CONFIG_MAP, KUBEADM, OPENSHIFT, TALOS):
        loaded = load(write(text + "---\n" + OWN + "mode: native\n"))
        assert (loaded.config.cpu_manager_policy, loaded.numalet.mode.value) == ("static", "native")


def test_what_a_kubelet_answers_about_its_configuration(write: Write) -> None:
    given = load(write(HEAD + "cpuManagerPolicy: static\nkubeReserved: {cpu: '1'}\nmaxPods: 9\n"))
    answer = kubelet_config_document.configz(given.config)
    loaded = load(write(json.dumps(answer, indent=1)))

    assert (loaded.config.cpu_manager_policy, loaded.config.max_pods) == ("static", 9)
    assert answer == kubelet_config_document.configz(loaded.config)
    assert loaded.config.where("maxPods").path == "$.kubeletconfig.maxPods"
    assert "configz" in note(loaded)


def test_a_kubelet_config_of_openshift(write: Write) -> None:
    loaded = load(write(OPENSHIFT))

    assert loaded.config.cpu_manager_policy == "static"
    assert place(loaded.config, "reservedMemory[0].limits.memory") == (
        "$.spec.kubeletConfig.reservedMemory[0].limits.memory",
        13,
    )
    assert "KubeletConfig or MachineConfig of OpenShift, tuning" in note(loaded)


def test_a_machine_configuration_of_talos(write: Write) -> None:
    loaded = load(write(TALOS))

    config = loaded.config
    assert (config.cpu_manager_policy, config.topology_manager_policy) == ("static", "restricted")
    assert dict(config.feature_gates) == {"CPUManagerPolicyAlphaOptions": True}
    assert place(config, "cpuManagerPolicy") == (
        "$.machine.kubelet.extraConfig.cpuManagerPolicy",
        9,
    )
    assert place(config, "topologyManagerPolicy") == (
        "$.machine.kubelet.extraArgs.topology-manager-policy",
        7,
    )
    assert "Talos" in note(loaded)


def test_a_wrong_flag_in_a_machine_configuration_has_its_line(write: Write) -> None:
    text = TALOS.replace("AlphaOptions=true", "AlphaOptions=maybe")
    (finding,) = [flag.problem for flag in load(write(text)).config.flags if flag.problem]

    assert (finding.code, finding.where.line) == ("flag/invalid", 5)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (CONFIG_MAP.replace("KubeletConfiguration", "KubeProxyConfiguration"), "config-file/kind"),
        ("apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n", "config-file/kind"),
        ("apiVersion: v1\nkind: ConfigMap\ndata: [kubelet]\n", "config-file/kind"),
        ("apiVersion: v1\nkind: ConfigMap\ndata: {kubelet: ''}\n", "config-file/kind"),
        ("kubeletconfig: 5\n", "config-file/kind"),
        ("machine: {kubelet: 5}\n", "config-file/kind"),
        ("machine: {kubelet: {extraConfig: 5}}\n", "config-file/not-a-mapping"),
        ("machine: {kubelet: {extraArgs: 5}}\n", "document/type"),
        ("machine: {kubelet: {extraArgs: {reserved-cpus: {}}}}\n", "document/type"),
        (
            OPENSHIFT.replace("    cpuManagerPolicy", "    kind: Pod\n    cpuManagerPolicy"),
            "config-file/kind",
        ),
        (
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec: 1\n",
            "config-file/kind",
        ),
        (KUBEADM + "---\n" + CONFIG_MAP, "config-file/several-documents"),
        (KUBEADM + "---\n- 1\n", "config-file/several-documents"),
    ],
)
def test_what_encloses_no_configuration_is_refused(write: Write, text: str, code: str) -> None:
    path = write(text)
    finding = refused(path)[0]

    assert (finding.code, finding.where.document) == (code, str(path))


def test_a_list_of_objects_may_hold_one(write: Write) -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
    inside = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"kubelet": HEAD + "maxPods: 7\n"}}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [other, inside]}, indent=1)

    loaded = load(write(text))

    assert loaded.config.max_pods == 7
    assert loaded.config.where("maxPods").path == "$.items[1].data.kubelet.maxPods"


def test_a_drop_in_encloses_nothing(tmp_path: Path) -> None:
    (tmp_path / "1.conf").write_text(CONFIG_MAP)
    with pytest.raises(BadInput) as caught:
        kubelet_config.load(ConfigSources(config_dir=tmp_path))

    assert [each.code for each in caught.value.findings] == ["config-file/kind"]


@pytest.mark.parametrize("text", [CONFIG_MAP, OPENSHIFT, TALOS, '{"kubeletconfig": {}}', KUBEADM])
def test_reservations_are_written_into_plain_files_only(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        kubelet_config_edit.edited(text, "given", ())

    assert [each.code for each in caught.value.findings] == ["input/not-supported"]
