"""Parses texts of the Linux kernel into numbers and sets.

A missing file is None, and an empty one has no value; both give None. A malformed text raises
``KernelTextError``. Files of ``/sys`` end in a newline, in some snapshots followed by a NUL.
"""

from __future__ import annotations

import re
from typing import Final

from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet

_BLANK: Final = " \t\r\n\v\f\0"
_LONGEST_MASK: Final = 1 << 18
"""Hexadecimal digits of a mask: 2^20 CPUs, 16 times the most of any kernel."""

_MASK_WORD = re.compile(r"[0-9a-fA-F]{1,16}", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,15})([KMG]?)", re.ASCII)
_MEM_TOTAL = re.compile(r"MemTotal:\s*([0-9]{1,18})\s*kB", re.ASCII)
_MEMINFO_LINE = re.compile(
    r"^(MemTotal|HugePages_Total|Hugepagesize|Hugetlb):\s*([0-9]{1,18})", re.ASCII | re.MULTILINE
)
_FACTORS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class KernelTextError(ValueError):
    """A malformed text; ``wanted`` names the expected format."""

    def __init__(self, text: str, wanted: str) -> None:
        self.text = text
        self.wanted = wanted
        super().__init__(f"{text!r} is no {wanted}")


def cpu_list(text: str | None) -> CpuSet | None:
    """The CPUs (or nodes) of a list such as ``0-3,8``; a lone newline is the empty set."""
    if text is None:
        return None
    try:
        return cpu_set.parse(text.strip(_BLANK))
    except cpu_set.CpuListError as error:
        raise KernelTextError(text, "list") from error


def cpu_mask(text: str | None) -> CpuSet | None:
    """The CPUs of a mask such as ``00000000,0000ff00``: words of up to 8 hex digits."""
    stripped = (text or "").strip(_BLANK)
    if not stripped or text is None:
        return None
    words = stripped.split(",")
    if len(stripped) > _LONGEST_MASK or not all(map(_MASK_WORD.fullmatch, words)):
        raise KernelTextError(text, "mask")
    # A word covers 32 CPUs even if it is short, as the first one often is.
    return frozenset(_bits(int("".join(word.zfill(8) for word in words), 16)))


def _bits(value: int) -> list[int]:
    bits = []
    # By bytes: shifting a long integer bit by bit would be quadratic.
    for place, byte in enumerate(value.to_bytes((value.bit_length() + 7) // 8, "little")):
        if byte:
            bits += [place * 8 + bit for bit in range(8) if byte >> bit & 1]
    return bits


def integer(text: str | None) -> int | None:
    stripped = (text or "").strip(_BLANK)
    if not stripped or text is None:
        return None
    if not _INTEGER.fullmatch(stripped):
        raise KernelTextError(text, "number")
    return int(stripped)


def integers(text: str | None) -> tuple[int, ...] | None:
    """The numbers of a line, separated by blanks."""
    words = (text or "").strip(_BLANK).split()
    if not words or text is None:
        return None
    if not all(map(_INTEGER.fullmatch, words)):
        raise KernelTextError(text, "row of numbers")
    return tuple(map(int, words))


def size_bytes(text: str | None) -> int | None:
    """The bytes of a size such as ``32768K``."""
    stripped = (text or "").strip(_BLANK)
    if not stripped or text is None:
        return None
    match = _SIZE.fullmatch(stripped)
    if match is None:
        raise KernelTextError(text, "size")
    return int(match[1]) * _FACTORS[match[2]]


def word(text: str | None) -> str:
    """The text without surrounding blanks and NULs; empty for a missing file."""
    return (text or "").strip(_BLANK)


def mem_total_kib(text: str | None) -> int | None:
    """MemTotal of a ``meminfo`` file, which may begin with an empty line."""
    match = _MEM_TOTAL.search(text or "")
    return None if match is None else int(match[1])


def meminfo_figures(text: str | None) -> dict[str, int] | None:
    """Memory size and huge pages from ``/proc/meminfo``."""
    if text is None:
        return None
    return {name: int(number) for name, number in _MEMINFO_LINE.findall(text)}


def count_ids(text: str | None, field: str) -> int | None:
    """The number of distinct lines for this field in ``/proc/cpuinfo``.

    cAdvisor v0.52.1: ``getUniqueMatchesCount`` compares whole lines, including blanks.
    """
    if text is None:
        return None
    line = re.compile(rf"^{re.escape(field)}\s*:\s*[0-9]+$", re.ASCII | re.MULTILINE)
    return len(set(line.findall(text)))
