"""Opens the machine that the text after ``-m`` names.

It may be a folder or tarball with a ``/sys`` tree (``TARBALL:ROOT`` for one of several), a machine
file, cAdvisor's MachineInfo, output of ``numalet machine -o yaml``, ``numactl --hardware`` or
``lscpu``, ``profile:NAME``, or a shape name. The default is the live ``/sys``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from numalet.core.config.machine_notes import machine_notes
from numalet.core.model import input_error, machine_changes, machine_shape, resources
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine import Machine
from numalet.core.model.machine_info import HugePages, MachineInfo
from numalet.core.model.value import ShownValue, Value, field
from numalet.io.documents.machine import (
    cadvisor,
    device_file,
    machine_file,
    machine_listing,
    machine_sizes,
    profile_library,
)
from numalet.io.documents.machine.device_file import DeviceLists
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.typed import Place
from numalet.io.findings.machines import (
    MachineNoteMemoryAssumed,
    MachineNotePagesAssumed,
    MachineNoteUnreadable,
)
from numalet.io.sysfs import roots
from numalet.io.sysfs.discover import read_machine
from numalet.io.sysfs.trees import FolderTree, Tree

DEFAULT_MEMORY_PER_NODE: Final = "64Gi"
LIVE_SYS: Final = "/sys"

_PRINTED: Final = "numalet.machine/1"
_MEMORY_FLAG: Final = "--memory-per-node"
_ACCEPTED: Final = (
    "a folder or tarball with a machine's /sys (TARBALL:ROOT for one of several), a YAML or JSON "
    "description, cAdvisor's MachineInfo, a profile such as profile:gb200-34n, or a shape such as "
    "2n16c2t"
)
_PAGES_FLAG: Final = "--hugepages-per-node"


class LoadedMachine(ShownValue):
    """A machine, and the kubelet's view of it.

    ``reading_notes`` are notes from reading it: unreadable files and assumptions. ``tree`` is the
    ``/sys`` tree that it was read from, if any. ``devices`` are those of its profile, the default
    for devices of the user.
    """

    machine: Machine
    info: MachineInfo
    reading_notes: tuple[Finding, ...] = ()
    tree: Tree | None = None
    devices: DeviceLists = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<LoadedMachine: {self.machine!r}>"

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The notes from reading, and oddities of the machine itself."""
        return (*self.reading_notes, *machine_notes(self.machine, self.info))


class MachineChoice(Value):
    """The arguments of ``open_machine``, as the user chose them."""

    text: str | None = None
    memory_per_node: str | None = None
    hugepages_per_node: Mapping[str, str] | None = None

    def open(self) -> LoadedMachine:
        return open_machine(
            self.text,
            memory_per_node=self.memory_per_node,
            hugepages_per_node=self.hugepages_per_node,
        )


def open_machine(
    text: str | os.PathLike[str] | None = None,
    *,
    memory_per_node: str | None = None,
    hugepages_per_node: Mapping[str, str] | None = None,
) -> LoadedMachine:
    """The machine that a text names; by default the live one. Raises ``BadInput``.

    Args:
        text: a path, ``TARBALL:ROOT``, ``profile:NAME``, or a shape name.
        memory_per_node: a size, for shapes and for output of lscpu.
        hugepages_per_node: counts by page size (``1Gi``) for every node with CPUs; they replace the
            machine's own.
    """
    text = None if text is None else os.fspath(text)
    # A file wins over a shape or profile of the same name.
    is_shape = text is not None and not _exists(text) and machine_shape.resembles_shape(text)
    if text is not None and is_shape:
        return _open_shape(text, memory_per_node, hugepages_per_node or {})
    if text is not None and _exists(text) and _is_document(Path(text)):
        return with_pages(
            _open_document(Path(text), text, memory_per_node), hugepages_per_node or {}
        )
    refuse_memory(text or LIVE_SYS, memory_per_node)
    if text is not None and not _exists(text) and text.startswith(profile_library.PREFIX):
        return _open_profile(text, hugepages_per_node or {})
    return with_pages(_open_source(text), hugepages_per_node or {})


def _open_source(text: str | None) -> LoadedMachine:
    if text is None:
        return open_folder(Path(LIVE_SYS), LIVE_SYS)
    if _exists(text):
        return _open_path(Path(text), text)
    for container, root in _splits(text):
        if Path(container).is_dir():
            return open_folder(Path(container) / root, text)
        if Path(container).is_file():
            return _open_archive(Path(container), container, root)
    raise _unknown(text)


def _unknown(text: str) -> BadInput:
    return input_error.NotFound(
        f"no file, folder, profile or shape {text!r}", expected=_ACCEPTED, where=Location(text)
    ).bad_input()


def open_folder(folder: Path, document: str) -> LoadedMachine:
    """Raises ``BadInput`` if the folder has no ``/sys`` tree."""
    if not _exists(str(folder)):
        raise _unknown(document)
    tree = roots.tree_of_folder(folder, document)
    loaded = _of_tree(tree, document)
    return LoadedMachine(
        loaded.machine, loaded.info, (*loaded.reading_notes, *_unreadable(tree, document)), tree
    )


def _is_document(path: Path) -> bool:
    return path.is_file() and not roots.is_tarball(path)


def _exists(text: str) -> bool:
    # lexists raises ValueError for a path with a NUL.
    return "\0" not in text and os.path.lexists(text)


def _splits(text: str) -> list[tuple[str, str]]:
    """All ways to cut ``FILE:ROOT`` (file names may contain colons), shortest file first."""
    places = [index for index, letter in enumerate(text) if letter == ":"]
    cuts = ((text[:place], text[place + 1 :].strip("/")) for place in places)
    return [(container, root) for container, root in cuts if container and _exists(container)]


def _open_path(path: Path, text: str) -> LoadedMachine:
    if path.is_dir():
        return open_folder(path, text)
    if not path.is_file():
        raise input_error.Invalid(
            f"{text!r} is neither a file nor a folder", expected=_ACCEPTED, where=Location(text)
        ).bad_input()
    return _open_archive(path, text, None)


def _open_archive(path: Path, document: str, root: str | None) -> LoadedMachine:
    """The machine at a root of a tarball; without a root, its only machine."""
    # Imported late: it is slow to import, and few machines are in tarballs.
    from numalet.io.sysfs import archive

    where = Location(document)
    if not roots.is_tarball(path):
        raise input_error.Unreadable(f"{document!r} is not a tarball", where=where).bad_input()
    contents = archive.read_archive(path, document)
    names = list(contents.trees)
    if not names:
        raise BadInput([roots.no_machine(document)])
    if root is None:
        if len(names) > 1:
            raise BadInput([roots.several(document, names, separator=":")])
        root = names[0]
    root = root or "."
    if root not in contents.trees:
        raise input_error.NotFound(
            f"no machine at {root!r} in {document!r}",
            expected=f"one of: {', '.join(names[:20])}",
            where=where,
        ).bad_input()
    name = document if len(names) == 1 else f"{document}:{root}"
    return _of_tree(contents.trees[root], name)


def _of_tree(tree: Tree, document: str) -> LoadedMachine:
    machine, odd = read_machine(tree, document)
    return LoadedMachine(machine, kubelet_view(machine), odd, tree)


def _unreadable(tree: FolderTree, document: str) -> tuple[Finding, ...]:
    paths = list(dict.fromkeys(tree.unreadable))
    if not paths:
        return ()
    shown = ", ".join(paths[:5])
    more = len(paths) - 5
    where = Location(document)
    return (
        MachineNoteUnreadable(
            value=shown if more <= 0 else f"{shown} and {more} more", where=where
        ),
    )


def _open_document(path: Path, text: str, memory_per_node: str | None) -> LoadedMachine:
    content = yaml_source.read_text(path)
    if machine_listing.resembles(content):
        return _of_listing(content, text, memory_per_node)
    documents = yaml_source.load_documents(content, text)
    if len(documents) != 1:
        raise input_error.Invalid(
            f"{text!r} contains {len(documents)} documents",
            expected="one description of a machine",
            where=Location(text),
        ).bad_input()
    (only,) = documents
    if only.duplicates:
        raise BadInput(only.duplicates)
    printed = machine_listing.of_json(only.value)
    if printed is not None:
        return _of_listing(printed, text, memory_per_node)
    refuse_memory(text, memory_per_node)
    where = Location(text, "$")
    if isinstance(only.value, Mapping) and only.value.get("schema") == _PRINTED:
        if "description" not in only.value:
            raise input_error.NotSupported(
                "an older numalet printed this document without saying which CPUs share a core; "
                "print it again, or use 'numalet machine --capture FILE'",
                where=where,
            ).bad_input()
        where = Location(text, "$.description")
        machine = machine_file.decode(only.value["description"], where, only.line_of)
    elif cadvisor.is_machine_info(only.value):
        machine = cadvisor.decode(only.value, where, only.line_of)
    else:
        machine = machine_file.decode(only.value, where, only.line_of)
    return LoadedMachine(machine, kubelet_view(machine))


def _of_listing(content: str, text: str, memory_per_node: str | None) -> LoadedMachine:
    where = Location(text)
    described, lacks = machine_listing.read(content, where, memory_per_node)
    machine = machine_file.decode(described, where)
    return LoadedMachine(machine, kubelet_view(machine), tuple(lacks))


def _open_profile(text: str, hugepages_per_node: Mapping[str, str]) -> LoadedMachine:
    name = text.removeprefix(profile_library.PREFIX)
    profile = profile_library.read(name, Location(text))
    findings = Findings()
    pages = _pages(hugepages_per_node, findings)
    findings.raise_errors()
    machine = machine_file.of_profile(profile, pages, Place(_PAGES_FLAG, ""))
    info = kubelet_view(machine)
    devices = device_file.decode(
        profile.devices, profile.devices_place, profile.line_of, info.node_ids
    )
    return LoadedMachine(machine, info, devices=devices)


def refuse_memory(machine: str, memory_per_node: str | None) -> None:
    """Raise ``BadInput`` for a memory size, which only shapes need."""
    if memory_per_node is not None:
        raise input_error.Conflict(
            f"{memory_per_node!r} applies only to shapes such as 2n16c2t; {machine!r} states the "
            "memory of its nodes",
            where=Location(_MEMORY_FLAG),
        ).bad_input()


def with_pages(loaded: LoadedMachine, hugepages_per_node: Mapping[str, str]) -> LoadedMachine:
    """The machine with these huge pages on every node with CPUs, and a note about it.

    Raises ``BadInput`` if a count is invalid, or if the machine has other page sizes only.
    """
    if not hugepages_per_node:
        return loaded
    findings = Findings()
    pages = _pages(hugepages_per_node, findings)
    known = machine_changes.page_sizes_kib(loaded.machine)
    for page in pages:
        if known and page.page_size_kib not in known:
            findings.add(
                input_error.NotSupported(
                    f"{loaded.machine.source!r} has no "
                    f"{resources.hugepages_name(page.page_size_kib)}",
                    expected=f"one of: {', '.join(map(resources.hugepages_name, sorted(known)))}",
                    where=Location(_PAGES_FLAG),
                )
            )
    findings.raise_errors()
    counts = {page.page_size_kib: page.count for page in pages}
    machine = machine_changes.with_huge_pages(loaded.machine, counts)
    text = ";".join(f"{size}={count}" for size, count in hugepages_per_node.items())
    where = Location(loaded.machine.source)
    note = MachineNotePagesAssumed(flag=_PAGES_FLAG, value=text, where=where)
    # Without its tree, which has other pages.
    return LoadedMachine(machine, kubelet_view(machine), (*loaded.reading_notes, note))


def _open_shape(
    text: str, memory_per_node: str | None, hugepages_per_node: Mapping[str, str]
) -> LoadedMachine:
    findings = Findings()
    notes: tuple[Finding, ...] = ()
    shape = machine_shape.MachineShape(1, 1, 1)
    try:
        shape = machine_shape.parse_shape(text, Location(text))
    except BadInput as bad:
        findings.extend(bad.findings)
    if memory_per_node is None:
        note = MachineNoteMemoryAssumed(value=DEFAULT_MEMORY_PER_NODE, where=Location(text))
        notes = (note,)
    place = Place(_MEMORY_FLAG, "")
    given = memory_per_node or DEFAULT_MEMORY_PER_NODE
    memory = machine_sizes.memory_bytes(given, place, findings)
    pages = _pages(hugepages_per_node, findings)
    findings.raise_errors()
    by_size = {page.page_size_kib: page.count for page in pages}
    machine = machine_shape.machine_of_shape(shape, memory or 0, by_size, text)
    return LoadedMachine(machine, kubelet_view(machine), notes)


def _pages(hugepages_per_node: Mapping[str, str], findings: Findings) -> tuple[HugePages, ...]:
    counts: dict[str, int] = {}
    for size, count in hugepages_per_node.items():
        counts[size] = _page_count(count, findings)
    return machine_sizes.huge_pages(counts, Place(_PAGES_FLAG, ""), findings)


def _page_count(text: str, findings: Findings) -> int:
    digits = text.strip()
    if digits.isascii() and digits.isdigit() and len(digits) < 20:
        return int(digits)
    findings.add(
        input_error.Invalid(
            f"invalid number of huge pages {text[:80]!r}",
            expected="SIZE=COUNT, such as 1Gi=4",
            where=Location(_PAGES_FLAG),
        )
    )
    return 0
