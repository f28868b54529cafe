"""Sentences about what the kernel says of running processes and control groups."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "procfs/unreadable": "{path!r} can not be read: {error}",
    "procfs/no-area": "{value!r} is no line of a numa_maps file",
    "procfs/no-list": "{name} {value!r} is no list of numbers such as 0-3,8",
    "procfs/no-figures": "{value!r} is no line of figures by node, such as 'anon N0=4096 N1=0'",
}
