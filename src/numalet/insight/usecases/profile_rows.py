"""The rows of ``numalet machine --profiles``."""

from __future__ import annotations

from numalet.core.model.findings import NOWHERE
from numalet.insight.maps import machine_map
from numalet.insight.maps.machine_map import ProfileRow, Profiles
from numalet.io import devices, machines
from numalet.io.documents.machine import profile_library
from numalet.io.documents.machine.profile_library import PREFIX


def profile_rows() -> Profiles:
    return Profiles(tuple(_row(name) for name in profile_library.names()))


def _row(name: str) -> ProfileRow:
    profile = profile_library.read(name, NOWHERE)
    lists = devices.named_devices(PREFIX + name, ())
    counts = [(resource, len(its_devices)) for resource, its_devices in lists.items()]
    machine = machines.open_machine(PREFIX + name).info
    return machine_map.profile_row(
        name, profile.about, profile.figures, machine, counts, profile.sources
    )
