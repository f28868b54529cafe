"""The commands of the tutorial and of guides are run, in order, in a copy of their folder."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Final

import pytest

from cli import console_page
from cli.commands import Runner
from running import kubelet_node

_EXAMPLES: Final = console_page.ROOT / "examples"
_FOLDERS: Final = {
    "../tutorial.md": "tutorial",
    "migrate-a-kubelet-configuration.md": "migrate",
    "huge-pages.md": "huge-pages",
    "many-numa-nodes.md": "many-numa-nodes",
    "gb200-trays.md": "gb200-tray",
    "eight-numa-nodes.md": "eight-numa-nodes",
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
    *(f"how-to/{name}.md" for name in ("migrate-a-kubelet-configuration", "run-the-agent")),
    *(f"how-to/{name}.md" for name in ("gb200-trays", "eight-numa-nodes")),
)
_PATIENCE_SECONDS: Final = 120


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
    for command in console_page.commands(page):
        words = list(itertools.takewhile(lambda word: word != "--", shlex.split(command)[1:]))
        ended = numalet(*words[: 1 + (words[0] in ("state", "fleet"))], "--help")

        assert ended.status == 0, command
        options = [word.partition("=")[0] for word in words if word.startswith("-")]
        missing = [
            each for each in options if not re.search(rf"(?<![\w-]){each}(?![\w-])", ended.out)
        ]
        assert missing == [], command


def test_the_pages_have_commands_of_both_kinds() -> None:
    assert [len(console_page.commands(page)) for page in _GUIDES] == [1, 6, 0, 0, 1, 3, 3, 4]


def serves_until_ctrl_c(words: Sequence[str], folder: Path) -> None:
    """Run this command, follow the link that it prints, and end it as a user does."""
    with subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert_opens(process.stdout.readline().strip())
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=_PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in said


def assert_opens(link: str) -> None:
    """A browser that does not ask who signed the certificate gets a page."""
    insecure = ssl.create_default_context()
    insecure.check_hostname, insecure.verify_mode = False, ssl.CERT_NONE
    browser = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(CookieJar()),
        urllib.request.HTTPSHandler(context=insecure),
    )
    with browser.open(link, timeout=_PATIENCE_SECONDS) as answer:
        assert answer.status == 200


@pytest.mark.slow
@pytest.mark.parametrize(("place", "beginning"), _SERVED.items())
def test_a_dashboard_is_served_until_ctrl_c(place: tuple[str, str], beginning: str) -> None:
    page, folder = place
    (command,) = [each for each in console_page.commands(page) if each.startswith(beginning)]
    serves_until_ctrl_c(shlex.split(command), _EXAMPLES / folder)


_DESCRIBED: Final = ("-m", "2n8c1t", "--memory-per-node", "16Gi")
_INSTEAD: Final[Mapping[str, Sequence[str]]] = {
    "/opt/numalet/bin/numalet": ("numalet",),
    "/etc/numalet/manifests": ("manifests",),
    "/var/lib/numalet": ("root",),
    "6443": ("0",),
    "node7.tar.gz": _DESCRIBED[1:],
    "8": ("1",),
    "64Gi": ("64Mi",),
    "/usr/bin/my-database": ("true",),
}
"""What stands in a test for what a page names: folders, free ports, what any machine has."""


def standing_in(command: str, *more: str) -> list[str]:
    """The words of a command of a page, as they can run in a folder of a test."""
    words = shlex.split(command)
    at = words.index("--") if "--" in words else len(words)
    chosen = [each for word in words for each in _INSTEAD.get(word, (word,))]
    at += len(chosen) - len(words)
    return [*chosen[:at], *more, *chosen[at:]]


def commands_of(page: str, beginning: str) -> list[str]:
    return [each for each in console_page.commands(page) if each.startswith(beginning)]


@pytest.mark.slow
def test_the_node_of_a_kubelet_is_served_until_ctrl_c(tmp_path: Path) -> None:
    kubelet_node.made(tmp_path / "made").admit("one")
    (tmp_path / "made" / "root").rename(tmp_path / "kubelet")
    (tmp_path / "node7").mkdir()
    (tmp_path / "kubelet").rename(tmp_path / "node7" / "kubelet")
    shutil.copy(tmp_path / "node7/kubelet/config.yaml", tmp_path / "node7/config.yaml")
    (command,) = commands_of("how-to/dashboard.md", "numalet dashboard --kubelet-root")
    serves_until_ctrl_c(standing_in(command), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["how-to/dashboard.md", "how-to/run-the-agent.md"])
def test_the_agent_of_a_page_serves_its_dashboard(page: str, tmp_path: Path) -> None:
    """The machine is described, and nothing is started on it; all else is as the page says.

    ``systemctl`` needs a machine that systemd booted: the line of ``ExecStart=`` is run here
    without it, and the units by the systemd of a virtual machine in ``tests/lab``.
    """
    (tmp_path / "manifests").mkdir()
    (command,) = commands_of(page, "numalet agent")
    own = () if "--root" in command else ("--root", "root")
    words = standing_in(command, *own, "--runtime", "fake", *_DESCRIBED)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.settimeout(_PATIENCE_SECONDS)
        with subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=tmp_path,
            env=os.environ | {"NOTIFY_SOCKET": str(tmp_path / "notify")},
            stderr=subprocess.DEVNULL,
        ) as agent:
            try:
                assert notified.recv(100) == b"READY=1"
                (asking,) = set(commands_of("how-to/dashboard.md", "numalet dashboard")) & {
                    "numalet dashboard"
                }
                asked = subprocess.run(
                    [sys.executable, "-m", *standing_in(asking, "--root", "root")],
                    cwd=tmp_path,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                assert_opens(asked.stdout.strip())
                assert "fingerprint" in asked.stderr
                agent.send_signal(signal.SIGTERM)
                assert agent.wait(_PATIENCE_SECONDS) == 0
            finally:
                agent.kill()


@pytest.mark.slow
def test_commands_without_the_agent_run_as_the_page_says(tmp_path: Path) -> None:
    commands = commands_of("how-to/run-the-agent.md", "numalet run")
    assert len(commands) == 2
    for command in commands:
        ended = subprocess.run(
            [sys.executable, "-m", *standing_in(command, "--root", "root")],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert re.search("CPUs? ", ended.stdout + ended.stderr)


def test_the_units_are_where_the_page_says_and_named_so() -> None:
    page = (console_page.ROOT / "docs" / "how-to" / "run-the-agent.md").read_text(encoding="utf-8")
    units = sorted((console_page.ROOT / "packaging" / "systemd").glob("*.service"))
    assert [each.name for each in units] == ["numalet-agent.service", "numalet-pods.service"]
    for each in units:
        assert f"`{each.name}`" in page
    agent = units[0].read_text(encoding="utf-8")
    for line in ("Type=notify", "RestartPreventExitStatus=2"):
        assert line in agent
    assert "ExecStart=/usr/local/bin/numalet agent" in agent
