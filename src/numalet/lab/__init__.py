"""The lab: a real Linux kernel with as many NUMA nodes as one wants, for one command.

A *guest* is a QEMU process that emulates a machine of a *topology* (nodes, CPUs, memory,
distances) and boots Debian's kernel on it. Its root is the root of this machine, read-only over
virtio-9p, under an overlay in the guest's own memory: programs, the checkout and its virtualenv
are there at the same paths, nothing is installed for the guest, and what the guest writes is
gone with it. Only *shared folders* outlive it.

Emulated, never virtualised: it works wherever QEMU does, in containers and on machines that are
themselves guests, and it takes a few seconds.

What a guest is, is decided by values and pure functions (``topology``, ``topologies``,
``scaling``, ``hugepages``, ``request``, ``qemu``, ``cpio``, ``kernel_image``,
``kernel_modules``, ``job``, ``protocol``). Three modules have effects: ``kernel_cache`` fetches
the kernel once, ``host`` says what is missing here, ``guest`` runs one guest and never leaves
anything of it behind. The shell scripts in ``scripts`` are what runs inside before the command.
"""
