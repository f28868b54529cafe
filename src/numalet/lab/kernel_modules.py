"""Kernel modules in the order in which they must be loaded.

A package that was only unpacked has no list of dependencies; every module carries its own, as
``depends=`` among the texts of its ``.modinfo`` section.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from typing import Final

ROOT_MODULES: Final = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
"""What a root over virtio-9p under an overlay takes."""

_DEPENDS: Final = re.compile(rb"\0depends=([^\0]*)\0")


class NoSuchModuleError(LookupError):
    """A module that is neither a file nor built in."""


def normal(name: str) -> str:
    """A module's name as the kernel has it: ``virtio-pci.ko.xz`` is ``virtio_pci``."""
    return name.partition(".ko")[0].replace("-", "_")


def in_order(
    names: Iterable[str], read: Callable[[str], bytes], built_in: Container[str]
) -> dict[str, bytes]:
    """The modules and all they depend on, each after what it needs.

    Args:
        names: the modules wanted.
        read: the content of a module's file, decompressed; raises ``NoSuchModuleError``.
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
