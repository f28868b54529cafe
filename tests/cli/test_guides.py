"""The commands of the tutorial and of guides are run, in order, in a copy of their folder."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Final

import pytest

from cli import console_page
from cli.commands import Runner

_DOCS: Final = console_page.ROOT / "docs"
_EXAMPLES: Final = console_page.ROOT / "examples"
_FOLDERS: Final = {
    "../tutorial.md": "tutorial",
    "migrate-a-kubelet-configuration.md": "migrate",
    "huge-pages.md": "huge-pages",
    "many-numa-nodes.md": "many-numa-nodes",
}
"""Where the commands of a page run."""
_SERVED: Final = {
    ("tutorial.md", "tutorial"): "numalet dashboard -c",
    ("how-to/dashboard.md", "tutorial"): "numalet dashboard -c",
    ("how-to/dashboard.md", "fleet"): "numalet fleet dashboard --fleet",
}
"""The beginning of a command that serves pages, by page and folder."""
_GUIDES: Final = (
    "tutorial.md",
    *(f"how-to/{name}.md" for name in ("dashboard", "huge-pages", "many-numa-nodes")),
    *(f"how-to/{name}.md" for name in ("migrate-a-kubelet-configuration", "under-systemd")),
)
_SHELL: Final = re.compile(r"^```(?:sh|ini)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NAMED: Final = re.compile(r"(?:^|/)(numalet (?!agent-).*)$", re.MULTILINE)
_PATIENCE_SECONDS: Final = 120


def commands(page: str) -> list[str]:
    """The lines of ``sh`` and ``ini`` blocks of a page that run numalet."""
    blocks = _SHELL.findall((_DOCS / page).read_text(encoding="utf-8"))
    return [command for block in blocks for command in _NAMED.findall(block)]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "folder"), _FOLDERS.items())
def test_every_command_prints_what_the_page_says(page: str, folder: str, tmp_path: Path) -> None:
    shutil.copytree(_EXAMPLES / folder, tmp_path, dirs_exist_ok=True)
    shown = console_page.shown(page)

    printed = [(command, console_page.printed(command, tmp_path)) for command, _ in shown]

    assert len(printed) > 3
    assert printed == shown


@pytest.mark.parametrize("page", _GUIDES)
def test_every_other_command_has_the_options_that_the_page_names(
    page: str, numalet: Runner
) -> None:
    for command in commands(page):
        words = list(itertools.takewhile(lambda word: word != "--", shlex.split(command)[1:]))
        ended = numalet(*words[: 1 + (words[0] in ("state", "fleet"))], "--help")

        assert ended.status == 0, command
        options = [word.partition("=")[0] for word in words if word.startswith("-")]
        missing = [
            each for each in options if not re.search(rf"(?<![\w-]){each}(?![\w-])", ended.out)
        ]
        assert missing == [], command


def test_the_pages_have_commands_of_both_kinds() -> None:
    assert [len(commands(page)) for page in _GUIDES] == [1, 4, 0, 0, 1, 3]


@pytest.mark.slow
@pytest.mark.parametrize(("place", "beginning"), _SERVED.items())
def test_a_dashboard_is_served_until_ctrl_c(place: tuple[str, str], beginning: str) -> None:
    page, folder = place
    (command,) = [each for each in commands(page) if each.startswith(beginning)]
    arguments = [sys.executable, "-m", *shlex.split(command)]
    with subprocess.Popen(
        arguments,
        cwd=_EXAMPLES / folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
            with browser.open(link, timeout=_PATIENCE_SECONDS) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=_PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in said


def test_the_units_are_where_the_page_says_and_named_so() -> None:
    page = (_DOCS / "how-to" / "under-systemd.md").read_text(encoding="utf-8")
    units = sorted((console_page.ROOT / "packaging" / "systemd").glob("*.service"))
    assert [each.name for each in units] == ["numalet-agent.service", "numalet-pods.service"]
    for each in units:
        assert f"`{each.name}`" in page
    agent = units[0].read_text(encoding="utf-8")
    for line in ("Type=notify", "RestartPreventExitStatus=2"):
        assert line in agent
    assert "ExecStart=/usr/local/bin/numalet agent" in agent
