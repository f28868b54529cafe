"""The machine profiles that come with numalet: descriptions of machines that there are.

A profile is one YAML file of ``io/profiles``, and its name is the file's. It says in a
sentence what the machine is like (``about``) and from which published figures it was written
(``figures``); ``machine`` is a description as ``machine_file`` reads it, and ``devices`` a list as
``device_file`` reads it, where the machine has devices that a plugin would report. Nothing here
decodes them: ``machine_file`` may be asked for a profile itself.

Nodes are listed as the kubelet meets them, by the names of their directories: node0, node1,
node10, node2.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value
from numalet.io.documents import typed, yaml_source
from numalet.io.documents.typed import LineOf
from numalet.io.findings.machines import MachineUnknownProfile

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PREFIX: Final = "profile:"
"""What stands before a profile's name wherever a machine or a device file is named."""

_SUFFIX: Final = ".yaml"


class Profile(Value):
    """One profile, read and not decoded. ``machine`` and ``devices`` are plain values."""

    name: str
    about: str
    figures: str
    machine: Mapping[str, Any]
    devices: list[Any]
    line_of: LineOf

    @property
    def machine_place(self) -> Location:
        """Where the description of the machine stands."""
        return Location(PREFIX + self.name, "$.machine")

    @property
    def devices_place(self) -> Location:
        """Where the list of devices stands."""
        return Location(PREFIX + self.name, "$.devices")


def names() -> tuple[str, ...]:
    """The names of all profiles, in alphabetical order."""
    return tuple(sorted(_files()))


def read(name: str, where: Location) -> Profile:
    """The profile of this name; ``where`` is the place that names it, for the finding.

    Raises:
        BadInput: there is no such profile.
    """
    files = _files()
    if name not in files:
        raise BadInput(
            [
                MachineUnknownProfile(
                    value=name[:80], nearest=typed.nearest(name, files), where=where
                )
            ]
        )
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
    )


@cache
def _files() -> Mapping[str, Traversable]:
    """The files of the profiles, by name."""
    # It imports more than all of this module needs, and few machines are profiles.
    from importlib import resources

    folder = resources.files("numalet.io") / "profiles"
    return {
        file.name.removesuffix(_SUFFIX): file
        for file in folder.iterdir()
        if file.name.endswith(_SUFFIX)
    }
