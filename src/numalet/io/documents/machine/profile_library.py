"""The machine profiles that come with numalet, descriptions of real machines.

A profile is a YAML file in ``io/profiles``: ``about`` describes the machine, ``figures`` says
where the values are from and which are not certain, ``sources`` has the links, ``known_by`` the
labels of nodes that are such machines. ``machine`` is read by ``machine_file``, ``devices`` by
``device_file``.

Nodes are in the kubelet's order, by directory name: node0, node1, node10, node2.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.core.model.value import Value
from numalet.io.documents.text import typed, yaml_source
from numalet.io.documents.text.typed import LineOf

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PREFIX: Final = "profile:"
"""The prefix of a profile's name in place of a machine or device file."""

_SUFFIX: Final = ".yaml"


class KnownBy(Value, kw_only=True):
    """Patterns of label values, such as ``dgx-h100*``; case is ignored.

    ``instance_types`` are of ``node.kubernetes.io/instance-type``, ``machines`` and ``gpus`` of the
    GPU operator's ``nvidia.com/gpu.machine`` and ``nvidia.com/gpu.product``.
    """

    instance_types: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()


class Profile(Value):
    """One profile; ``machine`` and ``devices`` are plain values that are not decoded yet.

    A source has a ``link``, what it ``gives``, and the ``date`` on which it was read; without a
    date it is a page to compare with.
    """

    name: str
    about: str
    figures: str
    machine: Mapping[str, Any]
    devices: list[Any]
    line_of: LineOf
    sources: tuple[dict[str, str], ...] = ()
    known_by: KnownBy = KnownBy()

    @property
    def machine_place(self) -> Location:
        return Location(PREFIX + self.name, "$.machine")

    @property
    def devices_place(self) -> Location:
        return Location(PREFIX + self.name, "$.devices")


def names() -> tuple[str, ...]:
    return tuple(sorted(_files()))


def read(name: str, where: Location) -> Profile:
    """The profile with this name; ``where`` is the place that names it, for the finding.

    Raises:
        BadInput: the name is unknown.
    """
    files = _files()
    if name not in files:
        raise input_error.NotFound(
            f"unknown machine profile {name[:80]!r}; 'numalet machine --profiles' lists all of "
            "them",
            expected=f"a name such as {typed.nearest(name, files)}",
            where=where,
        ).bad_input()
    text = files[name].read_text(encoding="utf-8")
    (document,) = yaml_source.load_documents(text, PREFIX + name)
    value = document.value
    return Profile(
        name=name,
        about=value["about"],
        figures=value["figures"],
        machine=value["machine"],
        devices=value.get("devices", []),
        line_of=document.line_of,
        sources=tuple(value.get("sources", ())),
        known_by=KnownBy(**{key: tuple(each) for key, each in value.get("known_by", {}).items()}),
    )


@cache
def _files() -> Mapping[str, Traversable]:
    # Imported late: it imports more than this module needs, and few machines are profiles.
    from importlib import resources

    folder = resources.files("numalet.io") / "profiles"
    return {
        file.name.removesuffix(_SUFFIX): file
        for file in folder.iterdir()
        if file.name.endswith(_SUFFIX)
    }
