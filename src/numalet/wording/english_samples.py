"""Sentences of the sample programs."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "samples/no-plugin-folder": (
        "there is no folder {path!r}; start the node first, or name its root with --root"
    ),
    "samples/device": "{value!r} is no device; write ID, ID@NODE or ID@NODE+NODE, such as gpu0@1",
}
