"""What explain, simulate and what-if use of a kubelet that runs on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from cli.commands import Runner
from numalet.core.checkpoint import device_file
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.device.ledger import DeviceRecord, WrittenCheckpoint
from numalet.core.model.findings import BadInput
from numalet.insight.usecases import kubelet_at_hand
from numalet.insight.usecases.kubelet_at_hand import UsedKubelet
from numalet.io import kubelets
from numalet.io.documents.kubelet.kubelet_config import Base, ConfigSources
from numalet.io.rpc import methods
from numalet.io.rpc import pod_resources_v1_pb2 as v1

GPU, NIC = "example.com/gpu", "example.com/nic"
CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
topologyManagerPolicy: restricted
"""
HELD = WrittenCheckpoint(
    {
        "uid-1": {
            "c": {GPU: DeviceRecord({0: ("g0",), -1: ("g2",)}), NIC: DeviceRecord({1: ("n0",)})}
        }
    },
    {GPU: ("g0", "g1", "g2"), NIC: ("n0",)},
)


@pytest.fixture(autouse=True)
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A proc file system without processes."""
    folder = tmp_path / "proc"
    folder.mkdir()
    monkeypatch.setattr(kubelets, "PROC", folder)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root directory of a kubelet, with a configuration, one pod and three devices."""
    folder = tmp_path / "host/var/lib/kubelet"
    (folder / "pods/uid-1").mkdir(parents=True)
    (folder / "config.yaml").write_text(CONFIG)
    (folder / device_file.FILE_NAME).write_text(device_file.write(HELD))
    return folder


def start(proc: Path, root: Path, *flags: str, name: str = "kubelet") -> Path:
    """A kubelet that runs in a container, as the proc file system shows it."""
    folder = proc / str(1000 + len(list(proc.iterdir())))
    folder.mkdir()
    (folder / "comm").write_text(f"{name}\n")
    words = [f"/usr/bin/{name}", "--config=/var/lib/kubelet/config.yaml", *flags]
    (folder / "cmdline").write_bytes("".join(f"{each}\0" for each in words).encode())
    (folder / "root").symlink_to(root.parents[2])
    return folder


def used(sources: ConfigSources | None = None, **asked: Path) -> UsedKubelet:
    """What is used of the kubelet of this machine."""
    return kubelet_at_hand.used(sources or ConfigSources(), is_live=True, **asked)


@contextmanager
def serving(root: Path, answer: v1.AllocatableResourcesResponse | None) -> Iterator[None]:
    """The PodResources API of a kubelet; without an answer it refuses to give one."""

    def allocatable(_request: object, context: grpc.ServicerContext) -> object:
        if answer is None:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "off")
        return answer

    (root / "pod-resources").mkdir()
    server = grpc.server(ThreadPoolExecutor(1))
    handler = methods.services([(methods.GET_ALLOCATABLE, allocatable)])  # type: ignore[list-item]
    server.add_generic_rpc_handlers(handler)
    with kubelets.short(root / "pod-resources/kubelet.sock") as address:
        server.add_insecure_port(f"unix:{address}")
        server.start()
        yield
        server.stop(None).wait()


def test_without_a_kubelet_nothing_is_used() -> None:
    assert used() == UsedKubelet(sources=ConfigSources())


def test_configuration_files_and_devices_are_those_of_the_kubelet(proc: Path, root: Path) -> None:
    process = start(proc, root, "--max-pods=9", "--config-dir=/etc/kubelet.d")
    gpus = v1.ContainerDevices(
        resource_name=GPU,
        device_ids=["g0"],
        topology=v1.TopologyInfo(nodes=[v1.NUMANode(ID=0), v1.NUMANode(ID=1)]),
    )
    with serving(root, v1.AllocatableResourcesResponse(devices=[gpus])):
        found = used(ConfigSources(flags=[("--topology-manager-policy", "none")]))

    config = process / "root/var/lib/kubelet/config.yaml"
    assert found.sources.config_file == config
    assert found.sources.config_dir == process / "root/etc/kubelet.d"
    assert ("--topology-manager-policy", "none") in found.sources.flags
    assert found.devices == {GPU: (Device("g0", (0, 1)),)}
    assert list(found.files) == [device_file.FILE_NAME]
    assert [found.is_gone(uid) for uid in ("uid-1", "uid-2")] == [False, True]
    assert [str(each) for each in found.notes] == [
        f"numalet uses this machine's kubelet (process {process.name}, kubelet): {config}; 1 state "
        "file in /var/lib/kubelet; 1 device; --ignore-kubelet turns this off"
    ]


@pytest.mark.parametrize("serves", [False, True])
def test_without_an_answer_the_devices_are_those_of_the_checkpoint(
    serves: bool, proc: Path, root: Path
) -> None:
    start(proc, root)
    if serves:
        with serving(root, None):
            found = used()
    else:
        found = used()

    gpus = (Device("g0"), Device("g1"), Device("g2"))
    assert found.devices == {GPU: gpus, NIC: (Device("n0", (1,)),)}
    assert ("Unimplemented: off" in str(found.notes[1])) is serves
    assert "the devices of its checkpoint are used" in str(found.notes[1])


@pytest.mark.parametrize("text", [None, "{}"])
def test_without_a_sound_checkpoint_no_devices_are_known(
    text: str | None, proc: Path, root: Path
) -> None:
    start(proc, root)
    (root / device_file.FILE_NAME).unlink()
    if text is not None:
        (root / device_file.FILE_NAME).write_text(text)

    assert used().devices is None
    assert used().notes[1].code == "input/unreadable"


def test_state_files_that_cannot_be_read_are_reported(proc: Path, root: Path) -> None:
    start(proc, root)
    (root / device_file.FILE_NAME).unlink()
    (root / device_file.FILE_NAME).mkdir()

    assert [each.code for each in used().notes] == [
        "input/assumed",
        "input/unreadable",
        "input/unreadable",
    ]


def test_a_configuration_that_cannot_be_read_is_an_error(proc: Path, root: Path) -> None:
    start(proc, root)
    (root / "config.yaml").unlink()
    with pytest.raises(BadInput) as caught:
        used()
    assert [each.code for each in caught.value.findings] == ["input/unreadable"]


def test_a_kubelet_without_a_file_has_its_flags_alone(proc: Path, root: Path) -> None:
    (root / "config.yaml").unlink()
    folder = start(proc, root)
    (folder / "cmdline").write_bytes(b"kubelet\0")
    assert used().sources.base is Base.FLAGS_ONLY


def test_what_the_user_names_wins(proc: Path, root: Path, tmp_path: Path) -> None:
    process = start(proc, root)
    for named in (
        ConfigSources(config_file="k.yaml"),
        ConfigSources(config_dir="k.d"),
        ConfigSources(base=Base.FLAGS_ONLY),
    ):
        assert used(named) == UsedKubelet(sources=named)
    other = kubelet_at_hand.used(ConfigSources(), is_live=False)
    assert other == UsedKubelet(sources=ConfigSources())
    its_own = used(ConfigSources(config_file=f"/proc/{process.name}/cmdline"))
    assert its_own.sources.config_file == process / "root/var/lib/kubelet/config.yaml"
    assert used(root=tmp_path).files == {}


def test_of_several_kubelets_none_is_used(proc: Path, root: Path) -> None:
    start(proc, root)
    start(proc, root)
    assert [each.code for each in used().notes] == ["input/ignored"]


def test_a_kubelet_inside_a_larger_program_is_not_used(proc: Path, root: Path) -> None:
    start(proc, root, name="k3s")
    found = used()
    assert found.sources == ConfigSources()
    assert [each.code for each in found.notes] == ["input/ignored"]


def test_commands_use_the_kubelet_unless_it_is_ignored(
    proc: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/sys/devices/system/cpu/cpu0").exists():
        pytest.skip("there is no /sys here")
    start(proc, root)
    amounts = {"cpu": "10m", "memory": "1Mi", GPU: "3"}
    containers = [{"name": "c", "image": "i", "resources": {"limits": amounts}}]
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    (manifest := tmp_path / "pod.json").write_text(json.dumps(pod))
    numalet = Runner(capsys)

    for command in (["simulate"], ["explain", "--budget", "0"]):
        ended = numalet(*command, str(manifest))
        assert ended.status == 1, ended.err
        assert "numalet uses this machine's kubelet" in ended.err
        assert "UnexpectedAdmissionError" in ended.out
        ignored = numalet(*command, str(manifest), "--ignore-kubelet")
        assert ignored.status == 0
        assert "of this machine" not in ignored.err
    compared = numalet("what-if", str(manifest), "--policies", "none", "-o", "json")
    ignored = numalet(
        "what-if", str(manifest), "--policies", "none", "-o", "json", "--ignore-kubelet"
    )
    assert (compared.status, ignored.status) == (0, 0)
    assert compared.out != ignored.out
    (root / "pods/uid-1").rmdir()
    assert numalet("simulate", str(manifest)).status == 0


def test_check_judges_the_kubelet_of_this_machine(
    proc: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/sys/devices/system/cpu/cpu0").exists():
        pytest.skip("there is no /sys here")
    start(proc, root)
    (root / "config.yaml").write_text("cpuManagerPolicy: statik\n")
    numalet = Runner(capsys)

    judged = numalet("check", "-o", "json")
    assert judged.status == 1, judged.out
    assert "statik" in judged.out
    assert "numalet uses this machine's kubelet" in judged.out
    for other in (["--ignore-kubelet"], ["-m", "2n8c1t", "--memory-per-node", "8Gi"]):
        assert "statik" not in numalet("check", "-o", "json", *other).out
    named = tmp_path / "named.yaml"
    named.write_text("cpuManagerPolicy: none\n")
    assert "statik" not in numalet("check", "-o", "json", "-c", str(named)).out


def test_state_commands_use_the_configuration_of_the_kubelet_of_this_machine(
    proc: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/sys/devices/system/cpu/cpu0").exists():
        pytest.skip("there is no /sys here")
    process = start(proc, root)
    (root / "config.yaml").write_text("cpuManagerPolicy: statik\n")
    numalet = Runner(capsys)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / device_file.FILE_NAME).write_text(device_file.write(HELD))

    for command in ("restore-check", "rebase", "upgrade-check"):
        for path in (root, copy, copy / device_file.FILE_NAME):
            told = numalet("state", command, str(path))
            assert f"(process {process.name}, kubelet): " in told.err + told.out, command
            assert "statik" in told.err + told.out, command
            for other in (["--ignore-kubelet"], ["-m", "2n8c1t", "--memory-per-node", "8Gi"]):
                told = numalet("state", command, str(path), *other)
                assert "statik" not in told.err + told.out, command
