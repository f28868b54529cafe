"""The lab: a real Linux kernel with any number of NUMA nodes, for one command.

A *guest* is a QEMU process that emulates a machine of a *topology* (nodes, CPUs, memory, distances)
and boots Debian's kernel on it. Its root is the root of this machine, read-only over virtio-9p,
under an overlay in the guest's own memory: programs and the checkout are at the same paths, and the
guest's writes are lost at its end. Only *shared folders* outlive it.

Guests are emulated, never virtualised, so the lab works in containers and in other guests. Three
modules have effects: ``kernel_cache`` fetches the kernel once, ``host`` reports missing programs,
``guest`` runs one guest and removes all of it.
"""
