"""Unpack the kernel inside a ``vmlinuz``.

An emulated CPU takes three seconds to decompress a kernel, the machine itself a fraction of one.
QEMU can start Debian's unpacked kernels (CONFIG_PVH). Format: the kernel's
``Documentation/arch/x86/boot.rst``.
"""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Callable
from typing import Final

_SECTOR: Final = 512
_SETUP_SECTORS: Final = 0x1F1
_MAGIC: Final = 0x202
_PAYLOAD: Final = 0x248
_DEFAULT_SECTORS: Final = 4
_LEAST: Final = 0x250
_ELF: Final = b"\x7fELF"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


class KernelImageError(ValueError):
    """Not a kernel that can be unpacked; the text says why."""


def vmlinux(image: bytes, unzstd: Callable[[bytes], bytes]) -> bytes:
    """Return the ELF file in a compressed kernel; ``unzstd`` decompresses zstd data."""
    if len(image) < _LEAST or image[_MAGIC : _MAGIC + 4] != b"HdrS":
        raise KernelImageError("no boot header")
    offset, size = struct.unpack_from("<II", image, _PAYLOAD)
    start = ((image[_SETUP_SECTORS] or _DEFAULT_SECTORS) + 1) * _SECTOR + offset
    kernel = _decompressed(image[start : start + size], unzstd)
    if not kernel.startswith(_ELF):
        raise KernelImageError("its content is not an ELF file")
    return kernel


def _decompressed(payload: bytes, unzstd: Callable[[bytes], bytes]) -> bytes:
    """Decompress the payload; its last four bytes are its size, outside of the compressed data."""
    try:
        if payload.startswith(b"\xfd7zXZ\0"):
            return lzma.LZMADecompressor().decompress(payload)
        if payload.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(31).decompress(payload)
    except (lzma.LZMAError, zlib.error) as error:
        raise KernelImageError(str(error)) from None
    if payload.startswith(_ZSTD):
        return unzstd(payload[:-4])
    raise KernelImageError(f"unknown compression {payload[:4].hex()}")
