"""A kubelet's configuration that is no YAML: TOML of Bottlerocket, and command lines."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput, Finding, Location, Severity
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources, LoadedConfig

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
TOML = """# user data
[settings.host-containers.admin]
enabled = true

[settings.kubernetes]
cluster-name = "one"
cpu-manager-policy = "static"
cpu-manager-policy-options = ["full-pcpus-only"]
"topology-manager-policy" = "restricted"
topology-manager-scope = "pod"
topology-manager-policy-options = {prefer-closest-numa-nodes = true, max-allowable-numa-nodes = 9}
memory-manager-policy = "Static"
reserved-cpus = "0-1"
max-pods = 58
memory-swap-behavior = "LimitedSwap"

[settings.kubernetes.kube-reserved]
cpu = "500m"
memory = "1Gi"

[settings.kubernetes.eviction-hard]
"memory.available" = "200Mi"

[settings.kubernetes.memory-manager-reserved-memory.0]
enabled = true
memory = "1224Mi"
hugepages-2Mi = "64Mi"

[settings.kubernetes.memory-manager-reserved-memory.1]
enabled = false
memory = "5Gi"
"""


def load(path: Path, text: str | None = None) -> LoadedConfig:
    if text is not None:
        path.write_text(text)
    return kubelet_config.load(ConfigSources(config_file=path))


def refused(path: Path, text: str) -> Finding:
    with pytest.raises(BadInput) as caught:
        load(path, text)
    assert str(caught.value.findings[0]), "every finding has a sentence"
    return caught.value.findings[0]


@pytest.fixture
def given(tmp_path: Path) -> Path:
    return tmp_path / "given"


def test_settings_of_bottlerocket_become_fields(given: Path) -> None:
    loaded = load(given, TOML)

    config = loaded.config
    assert (
        config.cpu_manager_policy,
        config.topology_manager_policy,
        config.topology_manager_scope,
    ) == ("static", "restricted", "pod")
    assert config.cpu_manager_policy_options == {"full-pcpus-only": "true"}
    assert (config.topology_manager_policy_options) == {
        "prefer-closest-numa-nodes": "true",
        "max-allowable-numa-nodes": "9",
    }
    assert (
        config.memory_manager_policy,
        config.reserved_system_cpus,
        config.max_pods,
        config.swap_behavior,
    ) == ("Static", "0-1", 58, "LimitedSwap")
    assert config.kube_reserved == {"cpu": "500m", "memory": "1Gi"}
    assert config.eviction_hard == {"memory.available": "200Mi"}
    (entry,) = config.reserved_memory
    assert (
        entry.numa_node,
        {name: str(size) for name, size in entry.limits.items()},
    ) == (0, {"memory": "1224Mi", "hugepages-2Mi": "64Mi"})
    (note,) = loaded.warnings
    assert Severity.NOTE is note.severity
    assert "read from here: settings of Bottlerocket; Bottlerocket also sets" in note.located


@pytest.mark.parametrize(
    ("field", "path", "line"),
    [
        ("cpuManagerPolicy", "cpu-manager-policy", 7),
        ("cpuManagerPolicyOptions.full-pcpus-only", "cpu-manager-policy-options", 8),
        ("topologyManagerPolicy", "topology-manager-policy", 9),
        ("kubeReserved", "kube-reserved", 17),
        ("kubeReserved.memory", "kube-reserved.memory", 19),
        ("evictionHard.memory.available", "eviction-hard.memory.available", 22),
        ("reservedMemory[0]", "memory-manager-reserved-memory.0", 24),
        ("reservedMemory[0].limits.memory", "memory-manager-reserved-memory.0.memory", 26),
    ],
)
def test_a_field_has_the_place_of_its_setting(
    given: Path, field: str, path: str, line: int
) -> None:
    where = load(given, TOML).config.origins[field]

    assert where.line == line
    assert where.path.startswith(f"$.settings.kubernetes.{path}")


def test_further_fields_in_base64(given: Path) -> None:
    extra = base64.b64encode(b"featureGates: {CPUManagerPolicyAlphaOptions: true}\n").decode()
    head = "[settings.kubernetes]\n"
    loaded = load(given, head + f'kubelet-extra-config = "{extra}"\n')

    assert dict(loaded.config.feature_gates) == {"CPUManagerPolicyAlphaOptions": True}
    assert loaded.config.where("featureGates").line == 2
    for wrong in ('"!"', "5", f'"{base64.b64encode(b"{").decode()}"'):
        finding = refused(given, head + f"kubelet-extra-config = {wrong}\n")
        assert (finding.code, finding.where.line) == ("input/invalid", 2)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (TOML.replace("58", '"many"'), "config-file/wrong-type", 14),
        (TOML.replace("58", "2026-01-01"), "config-file/wrong-type", 14),
        (TOML.replace("58", "nan"), "config-file/wrong-type", 14),
        (TOML.replace('["full-pcpus-only"]', "5"), "config-file/wrong-type", 8),
        (TOML.replace('"1224Mi"', '"much"'), "input/invalid", 26),
        (TOML.replace("memory.0]", "memory.zero]"), "config-file/wrong-type", 24),
        (TOML.replace("memory.0]", f"memory.{'9' * 5_000}]"), "config-file/wrong-type", 24),
        (TOML.replace("58", "0x" + "f" * 5_000), "config-file/wrong-type", 14),
        (TOML + "[", "input/invalid", None),
        ("[settings]\nmotd = 'x'\n", "input/required", None),
        ("settings = 5\n", "input/required", None),
        ("[settings.kubernetes]\na = " + "[" * 100_000, "input/invalid", None),
    ],
)
def test_what_is_wrong_in_settings_has_its_line(
    given: Path, text: str, code: str, line: int | None
) -> None:
    finding = refused(given, text)

    assert (code, line) == (finding.code, finding.where.line)


def test_an_unknown_setting_is_a_warning(given: Path) -> None:
    warnings = load(given, TOML.replace("max-pods", "max-pod")).warnings

    (finding,) = [each for each in warnings if each.severity is Severity.WARNING]
    assert (finding.code, finding.where.line) == ("input/ignored", 14)
    assert "similar: max-pods" in finding.located


@pytest.mark.parametrize(
    "text",
    [
        "/usr/bin/kubelet --config={file} --cpu-manager-policy=static --v=2 --max-pods 9\n",
        "/usr/bin/kubelet\0--config={file}\0--cpu-manager-policy=static\0--max-pods\x009\0",
        "# from systemd\nKUBELET_ARGS='--config={file} --cpu-manager-policy=static --max-pods=9'\n",
        "--config={file} \\\n --cpu-manager-policy=static \\\n --max-pods=9\n",
        "k3s server --kubelet-arg=config={file} --kubelet-arg=cpu-manager-policy=static"
        " --kubelet-arg=max-pods=9",
    ],
)
def test_a_command_line_with_its_file(given: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(HEAD + "cpuManagerPolicy: none\nreservedSystemCPUs: 0-1\n")
    loaded = load(given, text.format(file=file))

    config = loaded.config
    assert (
        config.cpu_manager_policy,
        config.max_pods,
        config.reserved_system_cpus,
    ) == ("static", 9, "0-1")
    assert (str(given), "--cpu-manager-policy") == (
        config.where("cpuManagerPolicy").document,
        config.where("cpuManagerPolicy").path,
    )
    assert Location(str(file), "$.reservedSystemCPUs", 4) == config.where("reservedSystemCPUs")
    assert config.uses_default_eviction


def test_a_kubelet_without_a_file_has_no_eviction_threshold(given: Path) -> None:
    assert not load(given, "kubelet --max-pods=9\n").config.eviction_hard
    assert load(given, 'KUBELET_EXTRA_ARGS="--max-pods=9"\n').config.uses_default_eviction


def test_what_is_wrong_on_a_command_line_has_its_place(given: Path, tmp_path: Path) -> None:
    flag = load(given, "kubelet \\\n  --v=2 \\\n  --max-pods=many\n").config.flags[1].problem
    assert flag is not None
    quote = refused(given, "kubelet --max-pods='9\n")
    (tmp_path / "wrong.yaml").write_bytes(b"\xff")
    file = refused(given, f"kubelet --config={tmp_path / 'wrong.yaml'}\n")
    itself = refused(given, f"kubelet --config={given}\n")

    assert ("flag/invalid", str(given), 3) == (flag.code, flag.where.document, flag.where.line)
    assert quote.code == "input/invalid"
    assert ("input/invalid", str(tmp_path / "wrong.yaml")) == (file.code, file.where.document)
    assert itself.code.startswith(("document/", "config-file/"))


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 1_000_000,
        "# x\n" * 200_000,
        "a" * 1_000_000 + "\n",
        "kubelet " + "--max-pods " * 5_000,
    ],
)
def test_what_is_meant_is_decided_at_once(given: Path, text: str) -> None:
    given.write_text(text)
    began = time.process_time()
    with pytest.raises(BadInput):
        load(given)
    assert time.process_time() - began < 5
