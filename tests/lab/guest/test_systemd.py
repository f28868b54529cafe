"""The command as a service of a real systemd, with slices of its own making."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.guest.groups import wait_until

SLICE = "kubepods-burstable-poda.slice"
CGROUP = Path("/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice") / SLICE


def test_systemd_is_the_first_process() -> None:
    assert Path("/proc/1/comm").read_text() == "systemd\n"


def test_a_scope_in_a_slice_is_bound_to_a_node() -> None:
    """systemd-run answers once the scope runs; the setting is the slice's."""
    command = ["systemd-run", "--quiet", "--unit=bound", f"--slice={SLICE}"]
    subprocess.run([*command, "-p", "AllowedMemoryNodes=1", "sleep", "600"], check=True)
    effective = CGROUP / "bound.service" / "cpuset.mems.effective"
    wait_until(lambda: effective.exists() and effective.read_text() == "1\n", "cpuset.mems is 1")
    subprocess.run(["systemctl", "stop", "bound.service"], check=True)
