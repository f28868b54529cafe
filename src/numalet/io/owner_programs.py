"""Programs that assign CPUs or memory to other processes, by the names of their processes.

``numalet run`` loads this before it calls an agent, so it has constants and one cheap check.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

KUBELET: Final = "kubelet"
WITH_A_KUBELET_INSIDE: Final = ("hyperkube", "k3s", "k3s-agent", "k3s-server", "kubelite")
KUBELET_SOCKETS: Final = ("device-plugins/kubelet.sock", "pod-resources/kubelet.sock")
"""In the root directory of a kubelet."""
NRI_SOCKET: Final = "/var/run/nri/nri.sock"
OTHERS: Final[Mapping[str, str]] = {
    "numad": "moves processes between NUMA nodes",
    "cri-resmgr": "pins containers between kubelet and container runtime",
    "nri-resource-policy-topology-aware": "pins containers as a plugin of the container runtime",
    "nri-resource-policy-balloons": "pins containers as a plugin of the container runtime",
    "slurmd": "gives CPUs and memory to jobs with cpusets",
    "pbs_mom": "gives CPUs and memory to jobs with cpusets",
    "docker-cpusetd": "changes cpusets of containers",
}
NAME_BYTES: Final = 15
"""The kernel truncates names of processes."""


def process_names() -> Iterator[str]:
    """The names of all processes."""
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        # Without a file object, which takes longer than the rest.
        try:
            descriptor = os.open(f"/proc/{pid}/comm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            # It ended meanwhile.
            continue
        with suppress(OSError):
            yield os.read(descriptor, NAME_BYTES + 1).decode(errors="replace").rstrip("\n")
        os.close(descriptor)


def may_be_near(kubelet_root: str, *, only_kubelets: bool) -> bool:
    """Whether another manager of CPUs and memory may be at work; ``owners.find`` finds out."""
    names = {KUBELET, *WITH_A_KUBELET_INSIDE}
    places = [f"{kubelet_root}/{socket}" for socket in KUBELET_SOCKETS]
    if not only_kubelets:
        names |= {name[:NAME_BYTES] for name in OTHERS}
        places.append(NRI_SOCKET)
    return any(map(os.path.exists, places)) or not names.isdisjoint(process_names())
