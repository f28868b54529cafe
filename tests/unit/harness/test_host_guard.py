"""A run that does not leave the host as it was fails, and says what is another way now."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import host_guard

TESTS = Path(__file__).parents[2]
CONFTEST = """
from harness.host_guard import HostGuard

def pytest_configure(config):
    config.pluginmanager.register(HostGuard(config), "numalet-host-guard")
"""
QUIET = ("-q", "-p", "no:cacheprovider")
SIDE_BY_SIDE = (*QUIET, "-p", "xdist", "-n", "1")

HARMFUL = {
    "mode and owner of {tmp}": "os.chmod(tempfile.gettempdir(), 0o711)",
    "umask": "os.umask(0o123)",
    "RLIMIT_CORE": "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
    "blocked signals": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])",
    "variable LEFT": "os.environ['LEFT'] = '1'",
    "goes on: sleep 1000": "subprocess.Popen(['sleep', '1000'], start_new_session=True)",
}


def run(folder: Path, body: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Two tests of which the first one does this; temporary files are in a folder of their own."""
    (folder / "tmp").mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    text = "import os, resource, signal, subprocess, sys, tempfile, time\n\ndef test_harm():\n"
    text += textwrap.indent(body, "    ") + "\n\ndef test_other():\n    pass\n"
    (folder / "test_them.py").write_text(text)
    # What other plugins there are does not matter here, and to load them takes long.
    own = {"PYTHONPATH": str(TESTS), "TMPDIR": str(folder / "tmp")}
    environment = {name: text for name, text in os.environ.items() if "PYTEST_" not in name}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **own}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment,
    )


@pytest.mark.parametrize("words", [QUIET, pytest.param(SIDE_BY_SIDE, marks=pytest.mark.slow)])
def test_a_run_that_changes_nothing_passes(quick_path: Path, words: tuple[str, ...]) -> None:
    done = run(quick_path, "(open(tempfile.mkdtemp() + '/x', 'w')).close()", *words)
    assert done.returncode == 0, done.stdout
    assert "HOST" not in done.stdout


def test_a_run_that_changes_something_fails_and_says_what(quick_path: Path) -> None:
    started = "print(subprocess.Popen(['sleep', '1000']).pid, file=open('pid', 'w'))"
    body = "\n".join(HARMFUL.values()).replace(
        HARMFUL["goes on: sleep 1000"], started.replace("'pid'", f"'{quick_path}/pid'")
    )
    try:
        # What is left may end by itself; the run does not wait for a minute.
        done = run(
            quick_path,
            f"from harness import host_guard; host_guard._PATIENCE_SECONDS = 0.1\n{body}",
            *QUIET,
        )
    finally:
        os.kill(int((quick_path / "pid").read_text()), 9)
    assert done.returncode == 1
    assert "2 passed" in done.stdout
    for said in HARMFUL:
        assert said.format(tmp=quick_path / "tmp") in done.stdout


def test_a_folder_of_a_test_leaves_room_for_sockets_however_long_the_name_of_the_test_is(
    tmp_path: Path,
) -> None:
    deepest = tmp_path / "kubelet-of-somebody-else" / "root" / "device-plugins" / "kubelet.sock"
    deepest.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as ours:
        ours.bind(str(deepest))
    assert len(str(tmp_path)) <= 32


@pytest.mark.slow
def test_workers_say_what_they_changed_in_themselves(quick_path: Path) -> None:
    body = f"{HARMFUL['umask']}\n{HARMFUL['mode and owner of {tmp}']}"
    done = run(quick_path, body, *SIDE_BY_SIDE)
    assert done.returncode == 1
    for said in ("in worker gw", "umask was", f"mode and owner of {quick_path / 'tmp'} was"):
        assert said in done.stdout


def test_cgroups_of_others_may_vanish_during_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "numalet-other" / "kubepods" / "podleft"
    for each in (left, left.parent / "podgone"):
        each.mkdir(parents=True)
        (each / "cgroup.events").write_text("populated 0\n")
    scandir = os.scandir

    def vanishing(path: str) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "podgone":
            (left.parent / "podgone" / "cgroup.events").unlink()
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert host_guard.empty_pods(tmp_path) == [left]
