"""The command line of QEMU, as a function of values.

Always TCG, the emulator, with all CPUs in one thread: several threads spin on each other's locks if
the guest has more CPUs than the machine. The vendor is set because only Intel's CPUs have siblings
under TCG.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from numalet.core.model import cpu_set
from numalet.core.model.value import Value
from numalet.lab.request import GuestRequest, Init, Share, hugepage_arguments
from numalet.lab.topology import Topology

PROGRAM: Final = "qemu-system-x86_64"

_KERNEL: Final = (
    "console=ttyS0",
    "quiet",
    "loglevel=4",
    # A panic ends the guest at once.
    "panic=-1",
    "mitigations=off",
    "nokaslr",
    # Read inside the emulated code, unlike the HPET, which doubles the time of many programs. Not
    # tsc=reliable: the first measurement is wrong by a factor while this machine is busy, so the
    # kernel has to measure again against the HPET, and to drop the TSC if it still runs ahead.
    "clocksource=tsc",
    "no_timer_check",
    # Pages stay where they were put.
    "numa_balancing=disable",
)
_SYSTEMD: Final = (
    "systemd.unit=numalet-lab.target",
    "systemd.show_status=no",
    # The mounts of this machine do not exist in the guest.
    "fstab=no",
    # Without udev it would wait for the device of a console.
    "systemd.getty_auto=no",
)


class Files(Value):
    """Paths that QEMU opens: the kernel, the first archive, and outputs for console and errors."""

    kernel: str
    initrd: str
    console: str
    errors: str


def arguments(request: GuestRequest, files: Files) -> tuple[str, ...]:
    return (
        PROGRAM,
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-name", f"numalet-lab-{request.topology.name.replace(',', '-')}"),
        *("-accel", "tcg,thread=single", "-machine", "pc", "-cpu", "max,vendor=GenuineIntel"),
        *("-kernel", files.kernel, "-initrd", files.initrd),
        *("-append", " ".join(kernel_words(request))),
        *("-chardev", f"file,id=console,path={files.console}", "-serial", "chardev:console"),
        *("-chardev", "stdio,id=command,signal=off", "-serial", "chardev:command"),
        *("-chardev", f"file,id=errors,path={files.errors}"),
        # The usual third port shares its interrupt with the first, and loses it.
        *("-device", "isa-serial,chardev=errors,index=2,iobase=0x3e8,irq=5"),
        *("-monitor", "none"),
        *topology_arguments(request.topology),
        *_share("root", str(request.root), ",readonly=on"),
        *(word for tag, share in tagged(request) for word in _share(tag, str(share.host), "")),
        *request.qemu,
    )


def kernel_words(request: GuestRequest) -> tuple[str, ...]:
    """Return the kernel's command line, in words; the user's own are last and take precedence."""
    systemd = _SYSTEMD if request.init is Init.SYSTEMD else ()
    reserved = hugepage_arguments(request.hugepages)
    return (*_KERNEL, *systemd, *reserved, *request.kernel_arguments)


def tagged(request: GuestRequest) -> Iterator[tuple[str, Share]]:
    """Yield every shared folder with the name under which the guest mounts it."""
    for number, share in enumerate(request.shares):
        yield f"share{number}", share


def topology_arguments(topology: Topology) -> tuple[str, ...]:
    """Return the arguments for memory, CPUs, nodes and distances."""
    layout = topology.layout
    words = [
        "-m",
        f"{topology.memory_mib}M",
        "-smp",
        f"{topology.cpu_count},sockets={layout.packages},dies={layout.dies},"
        f"cores={layout.cores},threads={layout.threads}",
    ]
    for number, node in enumerate(topology.nodes):
        numa = f"node,nodeid={number}"
        if node.memory_mib:
            memory = f"memory-backend-ram,id=memory{number},size={node.memory_mib}M"
            words += ["-object", memory]
            numa += f",memdev=memory{number}"
        for first, last in cpu_set.runs(node.cpus):
            numa += f",cpus={first}" if first == last else f",cpus={first}-{last}"
        words += ["-numa", numa]
    return (*words, *_distances(topology))


def _distances(topology: Topology) -> Iterable[str]:
    """QEMU takes all pairs or none."""
    for one, row in enumerate(topology.distances or ()):
        for other, distance in enumerate(row):
            yield "-numa"
            yield f"dist,src={one},dst={other},val={distance}"


def _share(tag: str, path: str, more: str) -> tuple[str, ...]:
    """Return the arguments for a folder of this machine; commas in its name are doubled."""
    escaped = path.replace(",", ",,")
    local = f"local,id={tag},path={escaped},security_model=none,multidevs=remap{more}"
    return ("-fsdev", local, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}")
