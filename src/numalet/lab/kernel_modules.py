"""Kernel modules in loading order."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from typing import Final

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
            _visit(normal(each), read, built_in, found)
    found[name] = data
