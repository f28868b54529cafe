"""A cache of Debian's kernel: one folder per version, complete or absent.

apt-get downloads the kernel package and checks its signature; it is unpacked, never installed. The
cache keeps the unpacked kernel and the modules that a guest needs, 70 MB. A read-only cache works
if it contains a kernel.
"""

from __future__ import annotations

import fcntl
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value
from numalet.io import os_problem
from numalet.lab import apt, job
from numalet.lab.apt import Package
from numalet.lab.request import Watch

# Format: the kernel's ``Documentation/arch/x86/boot.rst``. QEMU can start Debian's unpacked kernels
# (CONFIG_PVH). An emulated CPU takes three seconds to decompress a kernel.
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


def unpacked_kernel(image: bytes, unzstd: Callable[[bytes], bytes]) -> bytes:
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


# Modules are listed in loading order.
ROOT_MODULES: Final = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
"""The modules for a root over virtio-9p under an overlay."""

_DEPENDS: Final = re.compile(rb"\0depends=([^\0]*)\0")


class NoSuchModuleError(LookupError):
    """A module that is neither a file nor built in."""


def normal(name: str) -> str:
    """Normalise a module's name: ``virtio-pci.ko.xz`` is ``virtio_pci``."""
    return name.partition(".ko")[0].replace("-", "_")


def in_order(
    names: Iterable[str], read: Callable[[str], bytes], built_in: Container[str]
) -> dict[str, bytes]:
    """Return the modules and all their dependencies, each after those that it needs.

    Args:
        names: the wanted modules.
        read: returns the decompressed content of a module's file; raises ``NoSuchModuleError``.
        built_in: names of the modules that are part of the kernel.
    """
    found: dict[str, bytes] = {}
    for name in names:
        _visit(normal(name), read, built_in, found)
    return found


def _visit(
    name: str,
    read: Callable[[str], bytes],
    built_in: Container[str],
    found: dict[str, bytes],
) -> None:
    if name in found or name in built_in:
        return
    data = read(name)
    depends = _DEPENDS.search(data)
    for each in (depends[1].decode() if depends else "").split(","):
        if each:
            # Depth first: each module is added after the modules that it needs, so insmod can load
            # them in this order.
            _visit(normal(each), read, built_in, found)
    found[name] = data


PACKAGE: Final = "linux-image-amd64"

_VERSION: Final = "v1"
"""Part of the folder's name; change it when the content changes."""

_KERNEL: Final = "vmlinux"
_MODULES: Final = "modules.cpio"


class CachedKernel(Value):
    """A kernel ready to boot. ``name`` is that of its package and version."""

    name: str
    vmlinux: Path
    modules: Path


def default_folder(environment: os._Environ[str] | dict[str, str]) -> Path:
    """Return ``NUMALET_LAB_CACHE``, or a folder in the user's cache."""
    if given := environment.get("NUMALET_LAB_CACHE"):
        return Path(given)
    caches = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "numalet" / "lab"


@contextmanager
def kernel(cache: Path, modules: tuple[str, ...], watch: Watch) -> Iterator[CachedKernel]:
    """Provide the kernel of this machine's Debian, protected from deletion during the block.

    Raises ``BadInput`` if the cache is empty and no kernel can be fetched.
    """
    folder = _current(cache, tuple(sorted({*ROOT_MODULES, *modules})), watch)
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Shared by all guests on this kernel; ``_forget_others`` needs the exclusive lock.
        fcntl.flock(held, fcntl.LOCK_SH)
        yield CachedKernel(folder.name, folder / _KERNEL, folder / _MODULES)
    finally:
        os.close(held)


def _current(cache: Path, modules: tuple[str, ...], watch: Watch) -> Path:
    suffix = _suffix(modules)
    try:
        package = apt.newest(PACKAGE)
        folder = cache / f"{package.name}_{package.version}.{suffix}"
        if not folder.is_dir():
            _fetch(package, folder, modules, watch)
        return folder
    except BadInput as bad:
        # Without a network an older kernel is better than no guest.
        older = _newest_kept(cache, suffix)
        if older is None:
            raise
        why = "; ".join(str(finding) for finding in bad.findings)
        watch.note(
            input_error.Assumed(f"cannot fetch the newest kernel ({why}); using {older.name}")
        )
        return older


def _suffix(modules: tuple[str, ...]) -> str:
    extra = [normal(name) for name in modules if name not in ROOT_MODULES]
    return ".".join([_VERSION, *extra])


def _newest_kept(cache: Path, suffix: str) -> Path | None:
    kept = [folder for folder in cache.glob(f"*.{suffix}") if folder.is_dir()]
    return max(kept, key=lambda folder: folder.stat().st_mtime, default=None)


def _fetch(package: Package, folder: Path, modules: tuple[str, ...], watch: Watch) -> None:
    """Create the folder of this version; other processes wait for it."""
    with _writing(folder.parent), _locked(folder.parent):
        # Another process made it while this one waited for the lock.
        if folder.is_dir():
            return
        watch.preparing(package.name)
        # In the cache's own folder, because a rename cannot cross file systems.
        made = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
        try:
            _make(package, made, modules)
            # The rename makes the folder complete or absent, never partial.
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        _forget_others(folder)


@contextmanager
def _writing(cache: Path) -> Iterator[None]:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise input_error.Unwritable(
            f"cannot store the kernel in {str(cache)!r}: {os_problem.text(error)}; set "
            "NUMALET_LAB_CACHE to another directory"
        ).bad_input() from None


@contextmanager
def _locked(cache: Path) -> Iterator[None]:
    descriptor = os.open(cache, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make(package: Package, made: Path, modules: tuple[str, ...]) -> None:
    unpacked = made / "unpacked"
    apt.unpack(apt.download(package, made), unpacked)
    try:
        image = next(iter(sorted((unpacked / "boot").glob("vmlinuz-*"))), None)
        if image is None:
            raise KernelImageError("it holds no /boot/vmlinuz-*")
        (made / _KERNEL).write_bytes(unpacked_kernel(image.read_bytes(), _unzstd))
        (made / _MODULES).write_bytes(job.module_archive(_modules(unpacked, modules)))
    except (KernelImageError, NoSuchModuleError) as error:
        raise input_error.Unavailable(
            f"cannot use the kernel of package {package.name}: {error!s}"
        ).bad_input() from None
    for each in made.iterdir():
        if each.name not in (_KERNEL, _MODULES):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    made.chmod(0o755)


def _unzstd(data: bytes) -> bytes:
    if shutil.which("zstd") is None:
        raise KernelImageError("it is compressed by zstd, and the program zstd is not installed")
    done = subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False)
    if done.returncode:
        raise KernelImageError(done.stderr.decode(errors="replace").strip())
    return done.stdout


def _modules(unpacked: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    files = {normal(path.name): path for path in unpacked.rglob("*.ko*")}
    built_in = {
        normal(Path(line).name)
        for listing in unpacked.rglob("modules.builtin")
        for line in listing.read_text().split()
    }

    def read(name: str) -> bytes:
        if name not in files:
            raise NoSuchModuleError(f"it has no module {name}")
        data = files[name].read_bytes()
        return lzma.decompress(data) if files[name].suffix == ".xz" else data

    return in_order(names, read, built_in)


def _forget_others(folder: Path) -> None:
    """Remove other versions with the same modules that no guest uses."""
    suffix = folder.name.partition(f".{_VERSION}")[2]
    for other in folder.parent.glob(f"linux-image-*.{_VERSION}{suffix}"):
        if other == folder:
            continue
        descriptor = os.open(other, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # A guest on that kernel holds the shared lock, and its files must stay until it ends.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(other, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
