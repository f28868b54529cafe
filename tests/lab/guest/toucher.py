"""A program: map memory and touch every page of it, at the word of its parent.

    python toucher.py SIZE_BYTES [PAGE_SHIFT]

At each line that it reads it maps and touches; the answer is ``touched ADDRESS``, or ``errno N``
where the kernel does not map. The end of the input ends it. With a page shift (21 or 30) the memory
is of huge pages of hugetlbfs.

It needs only what comes with Python itself, and starts without site packages.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

MAP_HUGETLB = 0x40000
MAP_HUGE_SHIFT = 26
SMALL_SHIFT = 12


def touch(memory: mmap.mmap, shift: int) -> int:
    """Write a byte to every page; the address of the first."""
    for place in range(0, len(memory), 1 << shift):
        memory[place] = 1
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def mapped(size_bytes: int, shift: int) -> mmap.mmap:
    """Private memory of nobody's file, in pages of exactly this size."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    if shift != SMALL_SHIFT:
        flags |= MAP_HUGETLB | shift << MAP_HUGE_SHIFT
    memory = mmap.mmap(-1, size_bytes, flags=flags)
    if shift == SMALL_SHIFT:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return memory


def say(text: str) -> None:
    """One line to the parent."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve the parent until it has no more words."""
    size_bytes = int(sys.argv[1])
    shift = int(sys.argv[2]) if len(sys.argv) > 2 else SMALL_SHIFT
    for _ in sys.stdin:
        try:
            memory = mapped(size_bytes, shift)
        except OSError as error:
            say(f"errno {error.errno}")
        else:
            say(f"touched {touch(memory, shift):x}")


if __name__ == "__main__":
    main()
