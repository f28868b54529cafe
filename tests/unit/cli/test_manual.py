"""Pages of the system's manual: one for every command, which formatters read without a warning."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from architecture import tree
from numalet.cli import main, manual
from numalet.cli.manual import CommandOption, CommandPage

MANUAL = tree.ROOT / "packaging" / "man"


def test_every_command_has_a_page() -> None:
    pages = {page.name: page for page in manual.pages()}
    assert pages["numalet"].words == ("numalet",)
    for page in pages.values():
        assert page.text
        for name, about in page.children:
            assert f"{page.name}-{name}" in pages
            assert about


def test_the_pages_in_the_repository_are_current() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in MANUAL.iterdir()}
    wanted = manual.files()
    stale = sorted(
        name for name in written.keys() | wanted.keys() if written.get(name) != wanted.get(name)
    )
    assert not stale, "say `make schemas`"


def test_a_page_has_everything_that_the_help_has() -> None:
    (page,) = (each for each in manual.pages() if each.words == ("numalet", "machine"))
    text = manual.roff(page, "1.2")
    assert text.startswith('.TH "NUMALET-MACHINE" "1" "" "numalet 1.2" "numalet"')
    assert "\nnumalet machine \\-\\-profiles\n" in text
    assert "\\fB\\-\\-memory\\-per\\-node SIZE\\fR" in text
    assert ".SH EXIT STATUS\n0 shown, 2 invalid input, 3 a bug." in text


def test_text_is_no_request_to_the_formatter() -> None:
    page = CommandPage(
        words=("a",), usage="a", text=".TH first\n\n'quoted \\fB", arguments=(),
        options=(("Options", (CommandOption("-x", ".so /etc/passwd"),)),),
        examples=".sy date", exit_status="", children=(),
    )  # fmt: skip
    lines = manual.roff(page, "1").splitlines()
    assert "\\&.TH first" in lines
    assert "\\&'quoted \\efB" in lines
    assert "\\&.so /etc/passwd" in lines
    assert "\\&.sy date" in lines


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_a_formatter_reads_them_without_a_warning() -> None:
    for path in sorted(MANUAL.glob("*.1")):
        done = subprocess.run(
            ["groff", "-man", "-ww", "-z", str(path)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), path.name


def test_the_pages_leave_the_commands_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    manual.pages()
    assert main.run(["ps", "-h"]) == 0
    assert "numalet ps" in capsys.readouterr().out
