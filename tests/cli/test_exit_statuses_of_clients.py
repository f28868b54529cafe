"""Exit statuses of commands that need an agent, a kubelet, an API server or a container runtime."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer

import pytest

from cli import test_exit_statuses
from cli.commands import DOCUMENTED, GUARANTEED, Runner, process
from numalet.cli import main, manual
from running import fake_api_server
from running.said_program import SaidProgram
from servers import pods
from servers.served import served

_SHAPE = ("-m", "2n4c", "--memory-per-node", "64Gi")
_PODS = ("ps", "top --once", f"apply -f {GUARANTEED}", "describe a", "logs a", "delete a")
_CLUSTER = (
    *("fleet fit cpu=1", "fleet traps", "fleet free cpu=1", "fleet why a/b", "fleet rejected"),
    *("fleet what-if --policy none", "fleet replay DAY", "fleet classes", "fleet dashboard"),
    *("fleet serve", "fleet wake", "breaker", "breaker undo", "doctor cluster", "extender"),
    "hollow --nodes 1 -m 2n4c",
    "publish --once --node-name a",
    "nri --root NONE",
)
_STATE = (
    *("show", "verify", "diff NONE", "restore-check -m 2n4c", "rebase -m 2n4c"),
    "upgrade-check --from 1.36 --to 1.37 -m 2n4c",
)
_WAITING = {
    "fleet serve",
    "fleet wake",
    "fleet dashboard",
    "breaker",
    "extender",
    "nri --root NONE",
}
"""These go on until the API server answers."""
_UNREADABLE = "this file cannot be read"
_NO_SERVER = "http://127.0.0.1:1"

# NONE does not exist, FILE is a text, FOLDER is empty; nobody listens where KUBECONFIG says.
_UNUSABLE: list[tuple[str, str]] = [
    *((f"{each} --socket NONE", "no agent answers at") for each in _PODS),
    *((f"{each} --socket FILE", "no agent answers at") for each in _PODS),
    *((f"{each} --socket LONG", "no agent answers at") for each in _PODS),
    *((f"{each} --root FILE", "no agent answers at") for each in _PODS),
    *((f"{each} --kubeconfig NONE", _UNREADABLE) for each in _CLUSTER),
    *((f"{each} --kubeconfig FOLDER", _UNREADABLE) for each in _CLUSTER),
    *((f"{each} --kubeconfig FILE", "current-context is not set") for each in _CLUSTER),
    *((f"{each} --kubeconfig LONG", "File name too long") for each in _CLUSTER),
    *((f"{each} --kubeconfig KUBECONFIG", _NO_SERVER) for each in _CLUSTER if each not in _WAITING),
    ("machine -m NONE", "no file, folder, profile or shape"),
    *((f"{each} NONE -m 2n4c", _UNREADABLE) for each in ("simulate", "explain", "what-if")),
    *((f"{each} -c NONE -m 2n4c", _UNREADABLE) for each in ("check", "reserve")),
    ("replay NONE", _UNREADABLE),
    ("state show STATE -m NONE", "no file, folder, profile or shape"),
    ("state diff STATE STATE -m NONE", "no file, folder, profile or shape"),
    ("state show STATE --device x.io/a=1@0", "devices need their machine"),
    *((f"state {each} NONE", "no file or directory") for each in _STATE),
    ("apply -f NONE --socket NONE", _UNREADABLE),
    ("podresources --socket NONE", "no server listens at"),
    ("podresources --socket FILE", "is not a socket"),
    ("podresources get", "needs the name of a pod"),
    ("agent --config NONE", _UNREADABLE),
    ("agent --root FILE", "the root folder cannot be used"),
    ("nri --root FILE", "cannot use"),
    ("nri --root NONE --config NONE", _UNREADABLE),
    ("run --root FILE --kubelet-root FOLDER --cpus 1 -- true", "cannot be used"),
    ("run --cpus many -- true", "--cpus"),
    ("publish --once --kubeconfig KUBECONFIG --config NONE --node-name a", "cannot be read"),
    ("dashboard --root NONE", "no agent answers at"),
    ("dashboard --kubelet-root FOLDER", "no kubelet runs in"),
    ("dashboard --config NONE -m 2n4c", _UNREADABLE),
    ("hollow --kubeconfig KUBECONFIG -m NONE", "no file, folder, profile or shape"),
    ("breaker --kubeconfig KUBECONFIG --audit NONE/audit", "cannot write the audit"),
    ("sample-device-plugin --device a@0 --root NONE", "no such directory"),
    ("fleet fit cpu=1 --dump NONE", _UNREADABLE),
    ("fleet fit cpu=1 --dump LONG", "this path cannot be used"),
    ("fleet rejected --dump FOLDER", "no nodes in"),
    ("fleet traps --fleet NONE", _UNREADABLE),
    ("fleet dashboard --dump NONE", _UNREADABLE),
    ("lab run --out NONE -- true", "NONE"),
    ("lab boot -m NONE -- true", "no file, folder, profile or shape"),
    ("lab shell --topology odd", "odd"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the commands read, by the words that stand for it."""
    with tempfile.TemporaryDirectory(prefix="none") as short:
        folder = Path(short)
        (folder / "FILE").write_text("a: 1\n")
        (folder / "FOLDER").mkdir()
        (folder / "DAY").write_text("arrival,duration,shape\n0,1,cpu=1\n")
        (folder / "KUBECONFIG").write_text(
            f"clusters: [{{name: a, cluster: {{server: {_NO_SERVER!r}}}}}]\n"
            "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
            "users: [{name: a, user: {}}]\ncurrent-context: a\n"
        )
        (folder / "STATE").mkdir()
        assert (
            main.run(["simulate", *DOCUMENTED, GUARANTEED, "--state-dir", str(folder / "STATE")])
            == 0
        )
        names = {
            name: str(folder / name) for name in ("FILE", "FOLDER", "STATE", "DAY", "KUBECONFIG")
        }
        yield {**names, "NONE": str(folder / "NONE"), "LONG": str(folder / ("n" * 300))}


@pytest.mark.parametrize(("line", "text"), _UNUSABLE)
def test_what_is_missing_or_unusable_ends_a_command_with_2(
    numalet: Runner, files: dict[str, str], line: str, text: str
) -> None:
    ended = numalet(
        *(files.get(each, each.replace("NONE/", f"{files['NONE']}/")) for each in line.split())
    )
    assert ended.status == 2, ended.err
    assert text in ended.err


# The agent has no pods before; POD is the manifest of one.
_ASKED: list[tuple[str, int]] = [
    ("dashboard", 1),
    ("ps", 0),
    ("top --once", 0),
    ("describe a", 1),
    ("logs a", 1),
    ("delete a", 1),
    ("apply -f POD", 0),
    ("apply -f POD", 1),
    ("describe a", 0),
    ("delete a", 0),
]


def test_an_agent_answers_yes_or_no(numalet: Runner, tmp_path: Path) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(pods.pod("a")))
    with tempfile.TemporaryDirectory(prefix="node") as root, served(Path(root) / "agent.sock"):
        for line, status in _ASKED:
            words = line.replace("POD", str(manifest)).split()
            ended = numalet(*words, "--root", root)
            assert (line, ended.status) == (line, status), ended.err


class _Refusing(BaseHTTPRequestHandler):
    """An agent that refuses every request."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        body = json.dumps({"kind": "Status", "reason": "Forbidden", "message": "not you"}).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_DELETE = do_GET  # noqa: N815 - the names of the base class

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_refusal_of_the_agent_is_the_answer_no(numalet: Runner) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="node") as root,
        UnixStreamServer(f"{root}/agent.sock", _Refusing) as server,
    ):
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        ended = {line: numalet(*line.split(), "--root", root) for line in (*_PODS, "dashboard")}
        server.shutdown()
        thread.join()
    assert {line: each.status for line, each in ended.items()} == dict.fromkeys(ended, 1)
    assert all("Forbidden: not you" in each.err for each in ended.values())


_FORBIDDEN = json.dumps(
    {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not you"}
)

_TAINT = {"key": "numalet.dev/trap", "value": "20330518T033320Z.abc", "effect": "NoSchedule"}

# An API server with one object, which may not be changed.
_SERVED: list[tuple[str, int, str]] = [
    ("breaker undo", 1, "refused: lift node a"),
    ("breaker undo --context c", 2, "unknown context 'c'"),
    ("hollow --nodes 1 -m 2n4c --memory-per-node 64Gi --for 1s", 0, ""),
]


@pytest.mark.parametrize(("line", "status", "text"), _SERVED)
async def test_an_api_server_is_asked(tmp_path: Path, line: str, status: int, text: str) -> None:
    async with fake_api_server.running() as server:
        server.put("/api/v1/nodes/a", {"spec": {"taints": [_TAINT]}})
        server.refused["/api/v1/nodes/a"] = 403
        kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
        words = (*line.split(), "--kubeconfig", str(kubeconfig))
        ended = await asyncio.to_thread(process, *words)
    assert (ended.status, text in ended.err) == (status, True), ended.err


# They print this line when they wait for something that does not come.
_STOPPED: list[tuple[str, str]] = [
    ("breaker --kubeconfig KUBECONFIG", "waits: not everything was listed yet"),
    ("fleet serve --kubeconfig KUBECONFIG --listen 127.0.0.1:0", "cannot list"),
    ("nri --root NONE --socket NONE", "Not connected to the runtime"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("line", "text"), _STOPPED)
def test_a_signal_ends_a_server_with_0(files: dict[str, str], line: str, text: str) -> None:
    program = SaidProgram(*(files.get(each, each) for each in line.split()))
    try:
        program.until_said(text)
        assert program.end() == 0, program.said
    finally:
        program.kill()


_DOCTOR = (
    "cluster/test_doctor.py",
    "test_an_empty_cluster_is_mended_by_the_commands_that_are_printed",
)
_ENDS = ("integration/test_run.py", "test_other_ends_have_the_shells_status")
_GUEST = ("lab/test_running.py", "test_the_command_line_ends_as_the_guest_does")
_LISTED = ("servers/test_pod_resources.py", "test_the_command_shows_tables_and_documents")
_ELSEWHERE: dict[str, tuple[str, str]] = {
    "podresources 0": _LISTED,
    "podresources 1": _LISTED,
    "publish 0": (
        "integration/test_publish.py",
        "test_what_a_node_holds_is_published_until_the_publisher_ends",
    ),
    "publish 1": (
        "integration/test_publish.py",
        "test_an_object_that_is_refused_is_an_exit_status_and_a_sentence",
    ),
    "extender 0": (
        "cli/test_extender_command.py",
        "test_a_signal_lets_a_request_end_and_the_process_ends_well",
    ),
    "run 125": ("integration/test_run.py", "test_what_does_not_fit_is_refused_with_the_reason"),
    "run 126": _ENDS,
    "run 127": _ENDS,
    "run 128": _ENDS,
    "agent 0": ("cli/test_agent_command.py", "test_it_becomes_ready_and_stops_when_told"),
    "agent 1": (
        "cli/test_agent_command.py",
        "test_a_second_agent_is_refused_and_told_who_holds_the_node_state",
    ),
    "logs 0": ("cli/test_agent_clients.py", "test_logs_prints_what_was_written"),
    "dashboard 0": ("cli/test_dashboard_command.py", "test_a_simulated_node_until_ctrl_c"),
    "fleet replay 0": ("cli/test_fleet.py", "test_a_day_costs_what_blindness_costs"),
    "fleet dashboard 0": ("cli/test_fleet_dashboard.py", "test_a_dump_until_ctrl_c"),
    "fleet wake 0": (
        "integration/test_waker.py",
        "test_the_command_says_what_it_misses_and_ends_when_asked",
    ),
    "breaker undo 0": (
        "cluster/test_breaker.py",
        "test_the_breaker_alone_ends_a_storm_within_its_caps",
    ),
    "doctor cluster 0": _DOCTOR,
    "doctor cluster 1": _DOCTOR,
    "sample-device-plugin 0": (
        "integration/test_agent_plugins.py",
        "test_a_plugin_s_devices_are_given_out_and_reported",
    ),
    "lab run 124": _GUEST,
    "lab run 125": _GUEST,
    "lab boot 124": _GUEST,
    "lab boot 125": _GUEST,
    # It is `lab run` with a terminal.
    "lab shell 124": _GUEST,
    "lab shell 125": _GUEST,
}
"""Statuses that no table has, and the tests that see them."""
_BUG = 3


def test_every_status_of_the_help_is_in_a_table_or_seen_by_another_test() -> None:
    documented = {
        f"{' '.join(page.words[1:])} {status}"
        for page in manual.pages()
        if not page.children or page.words[-1] == "breaker"
        for status in re.findall(r"(?:^|[,;] )(\d+) ", page.exit_status)
        if int(status) != _BUG
    }
    tables = (
        *((command, status) for command, _, status in test_exit_statuses.ANSWERS),
        *((line, 2) for line, _ in _UNUSABLE),
        *_ASKED,
        *((line, 1) for line in _PODS),
        *((line, status) for line, status, _ in _SERVED),
        *((line, 0) for line, _ in _STOPPED),
    )
    commands = {each.rpartition(" ")[0] for each in documented}
    in_tables = {
        f"{max((each for each in commands if f'{line} '.startswith(f'{each} ')), key=len)} {status}"
        for line, status in tables
    }
    assert documented - in_tables == {*_ELSEWHERE}
    assert in_tables <= documented


@pytest.mark.parametrize(("path", "function"), sorted({*_ELSEWHERE.values()}))
def test_the_other_test_exists(path: str, function: str) -> None:
    assert f"def {function}(" in (Path(__file__).parents[1] / path).read_text()
