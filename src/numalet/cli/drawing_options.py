"""The options that write pictures: ``--html`` for a page, ``--svg`` for the drawing alone.

The command also prints its usual output, unless a picture is written to the standard output.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from numalet.cli.options import Options, Part, option
from numalet.core.model import input_error

if TYPE_CHECKING:
    from numalet.insight.maps.node_map import NodeMap
    from numalet.pages.templating import PageOrigin

_OUTPUT: Final = "-"


class ColoursOption(StrEnum):
    """The values of ``ColoursBy``, which is not imported for an option."""

    POD = "pod"
    NAMESPACE = "namespace"
    QOS = "qos"


class PictureFiles(Options):
    """The files of pictures; ``-`` is the standard output."""

    html: str | None = option(
        "Also write a page with pictures, which needs no other file; '-' prints it alone.", "FILE"
    )
    svg: str | None = option("Also write the drawing alone; '-' prints it alone.", "FILE")

    colours: ColoursOption = option(
        "Which pods have one colour and one letter in pictures.", default=ColoursOption.POD
    )

    def coloured(self, chart: NodeMap) -> NodeMap:
        from numalet.core.model.value import replace
        from numalet.insight.maps.node_map import ColoursBy

        return replace(chart, colours_by=ColoursBy(self.colours.value))

    def check(self) -> None:
        if self.html == self.svg == _OUTPUT:
            raise input_error.Conflict(
                "--html and --svg cannot both write to the standard output"
            ).bad_input()

    @property
    def are_wanted(self) -> bool:
        return self.html is not None or self.svg is not None

    @property
    def is_on_output(self) -> bool:
        """Whether a picture uses the standard output, so that the command prints nothing there."""
        return _OUTPUT in (self.html, self.svg)

    def write(self, html: Callable[[], str], svg: Callable[[], str] | None = None) -> None:
        """Write the pictures, both or neither, and name the files on the error stream.

        Raises ``BadInput`` if writing a file fails.
        """
        from numalet.cli import output
        from numalet.io.files import atomic

        texts = {
            where: make()
            for where, make in ((self.html, html), (self.svg, svg))
            if where is not None and make is not None
        }
        files = {Path(where): text for where, text in texts.items() if where != _OUTPUT}
        atomic.write_texts(files, new_mode=_mode_of_new_files())
        for where, text in texts.items():
            if where == _OUTPUT:
                output.pass_on(text.encode() + b"\n")
            else:
                output.say(f"written: {where}")


OfMachine = Annotated[PictureFiles, Part(without=("colours",))]
Page = Annotated[PictureFiles, Part(without=("svg", "colours"))]


def origin(*, machine: str = "", release: str = "") -> PageOrigin:
    """Return the description of this command line and time for a page."""
    from datetime import UTC, datetime

    from numalet.cli import command_line
    from numalet.pages.templating import PageOrigin

    return PageOrigin(
        command=command_line.text(),
        machine=machine,
        release=release,
        at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
    )


def _mode_of_new_files() -> int:
    """Return the file mode that the umask allows: pictures are meant for others, too."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
