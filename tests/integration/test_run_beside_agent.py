"""``numalet run`` beside a real agent: both are killed at will, and nothing leaks or doubles."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

import numalet
from harness.terminals import shown_until
from numalet.core.model import cpu_set
from numalet.core.model.findings import BadInput
from numalet.insight.output import explanation_document
from numalet.io.agent_client.client import AgentClient, AgentRefused
from running import agent_processes
from running.agent_processes import Begun, Forks, Process
from running.faults import VARIABLE
from running.process_builders import is_there

PATIENCE_SECONDS = 200.0
NOTHING = Path(os.devnull)
CPUS = len(os.sched_getaffinity(0))
MOST = str(CPUS - 1)
REFUSED = 125
UNUSABLE = 2
MOMENTS = ("before", "after")
PLACEMENTS = "/apis/numalet.dev/v1alpha1/namespaces/run/podplacements"
SEED = os.environ.get("NUMALET_CRASH_SEED", "0")
UP = "echo up; exec sleep 1000"

pytestmark = pytest.mark.skipif(CPUS < 2, reason="one CPU is kept for the system")


def until(condition: Callable[[], bool]) -> None:
    last = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.01)


@dataclass
class Site:
    """A root folder, its agents one after the other, and commands beside them."""

    root: Path
    forks: Forks
    agent: Process | None = None
    begun: list[Process] = field(default_factory=list)
    outputs: list[IO[str]] = field(default_factory=list)

    def start(self, fault: str = "", *, ready: bool = True) -> None:
        """Start an agent, which may find commands that began without it."""
        self._spawn(fault)
        if ready:
            until(self.is_up)

    def is_up(self) -> bool:
        assert self.agent is not None
        ended = self.agent.poll()
        assert ended is None, f"the agent ended with {ended}"
        return self.answers()

    def _spawn(self, fault: str = "") -> None:
        words = ["agent", "--root", str(self.root), "--ownership", "enforce"]
        environment = os.environ | ({VARIABLE: fault} if fault else {})
        with (self.root.parent / "agent.log").open("ab") as log, NOTHING.open("r+b") as nothing:
            streams = [nothing.fileno(), nothing.fileno(), log.fileno()]
            self.agent = self.forks.process(words, streams, environment)

    def kill(self) -> None:
        assert self.agent is not None
        self.agent.kill()
        self.agent.wait(PATIENCE_SECONDS)

    def answers(self) -> bool:
        try:
            self.get("/readyz?verbose")
        except BadInput:
            return False
        except AgentRefused:
            return False
        return True

    def get(self, path: str) -> str:
        with AgentClient(self.root / "agent.sock") as client:
            return client.text(path)

    def pods(self) -> list[Any]:
        found: list[Any] = json.loads(self.get("/api/v1/pods"))["items"]
        return found

    def tickets(self) -> list[str]:
        return [path.name for path in (self.root / "run" / "queue").glob("0*")]

    def phases(self) -> list[str]:
        return [pod["status"]["phase"] for pod in self.pods()]

    def has_running(self) -> bool:
        """Whether an agent answers, and a command runs as far as it knows."""
        try:
            return "Running" in self.phases()
        except BadInput:
            return False

    def words(self, *rest: str, cpus: str = "1") -> list[str]:
        base = [sys.executable, "-m", "numalet", "run", "--root", str(self.root)]
        return [*base, "--cpus", cpus, "--memory", "64Mi", *rest]

    def run(self, *rest: str, cpus: str = "1") -> subprocess.CompletedProcess[str]:
        """The end of a command, and what it wrote; on its input is a word."""
        return self.forks.run(self.words(*rest, cpus=cpus)[3:], "in")

    def begin(self, *rest: str, cpus: str = "1", fault: str = "") -> Begun:
        """A command that goes on."""
        environment = os.environ | ({VARIABLE: fault} if fault else {})
        command = self.forks.begin(self.words("-q", *rest, cpus=cpus)[3:], environment)
        self.begun.append(command)
        self.outputs.append(command.stdout)
        return command

    def up(self, script: str = UP, cpus: str = "1") -> tuple[Begun, int]:
        """A command that has said something, and the id of its program."""
        child = self.begin("--", "sh", "-c", f"echo $$; {script}", cpus=cpus)
        return child, int(child.stdout.readline())

    def is_clean(self) -> bool:
        """Whether no pod, no paper, no promise is left."""
        state = json.loads((self.root / "cpu_manager_state").read_text(encoding="utf-8"))
        papers = list((self.root / "runs").glob("*"))
        return not (self.pods() or papers or state.get("entries"))


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with agent_processes.forks() as made:
        yield made


@pytest.fixture
def site(forks: Forks) -> Iterator[Site]:
    """Agents and commands are copies of one interpreter, but for those that tests start."""
    with tempfile.TemporaryDirectory(prefix="numalet-") as folder:
        made = Site(Path(folder) / "root", forks)
        made.root.mkdir(mode=0o700)
        yield made
        for child in made.begun:
            child.kill()
            child.wait(PATIENCE_SECONDS)
        for stdout in made.outputs:
            stdout.close()
        if made.agent is not None:
            made.agent.kill()
            made.agent.wait(PATIENCE_SECONDS)


def test_a_command_is_the_callers_own_and_the_agent_has_it_in_its_node_state(
    site: Site, tmp_path: Path
) -> None:
    site.start()
    done = subprocess.run(
        site.words("--", "sh", "-c", "cat; pwd; echo $OWN >&2; exit 7"),
        input="in\n",
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"OWN": "mine"},
    )
    assert (7, ["in", str(tmp_path)]) == (done.returncode, done.stdout.splitlines())
    note, own = done.stderr.splitlines()
    assert note.startswith("note: CPU ")
    assert own == "mine"
    # It has ended for the agent too before it ended for the caller.
    until(site.is_clean)
    child, program = site.up()
    until(lambda: site.phases() == ["Running"])
    (pod,) = site.pods()
    assert pod["spec"]["containers"][0]["command"][:2] == ["sh", "-c"]
    given = os.sched_getaffinity(program)
    assert len(given) == 1
    child.terminate()
    assert child.wait(PATIENCE_SECONDS) == 143
    until(site.is_clean)


_LOADED = """
import sys
before = {*sys.modules}
from numalet.__main__ import main
try:
    main()
finally:
    print(*sorted({*sys.modules} - before))
"""
MOST_MODULES = 68
"""A few more than there are. They are counted, because a time would depend on the machine."""
HEAVY = {"argparse", "dataclasses", "http", "msgspec", "pathlib", "socket", "typer", "typing"}


def test_a_plain_command_is_started_without_the_engine(site: Site) -> None:
    site.start()
    words = [sys.executable, "-S", "-c", _LOADED, *site.words("--", "true")[3:]]
    source = str(Path(numalet.__file__).parents[1])
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": source}
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: CPU ")
    loaded = set(done.stdout.split())
    assert "numalet.agent.run.foreground" in loaded
    assert {each.removeprefix("numalet.").partition(".")[0] for each in loaded} & {
        *HEAVY, "core", "insight", "wording", "shared",
    } == set()  # fmt: skip
    assert len(loaded) <= MOST_MODULES


def refused_and_explained(site: Site, *words: str) -> subprocess.CompletedProcess[str]:
    """A refusal for which what would be admitted was searched to the end, as on a quiet machine."""
    answers: list[subprocess.CompletedProcess[str]] = []

    def is_whole() -> bool:
        answers.append(site.run(*words, cpus=str(CPUS + 1)))
        answer = answers[-1]
        if "json" not in words:
            return "search stopped early" not in answer.stderr
        tried = json.loads(answer.stdout)["explanation"]["would_admit"]
        return not any(each["ended_early"] for each in tried)

    until(is_whole)
    return answers[-1]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_refusal_is_told_the_same_with_an_agent_and_without(site: Site, dry_run: bool) -> None:
    words = (*(["--dry-run"] if dry_run else []), "--", "true")
    alone = refused_and_explained(site, *words)
    site.start()
    beside = refused_and_explained(site, *words)

    assert 125 == alone.returncode == beside.returncode
    story = beside.stderr.partition("error: ")[0]
    assert "'true' does not fit on the machine" in beside.stderr
    assert alone.stderr == story
    assert f"* --cpus {CPUS - 1}\n" in story
    assert re.search(r"\bpods?\b", story) is None


def test_a_refusal_as_a_document_has_the_same_explanation_with_an_agent_and_without(
    site: Site,
) -> None:
    words = ("--dry-run", "-o", "json", "--", "true")
    alone = json.loads(refused_and_explained(site, *words).stdout)
    site.start()
    beside = json.loads(refused_and_explained(site, *words).stdout)

    for each in (alone, beside):
        name = each["explanation"]["pod"]["name"]
        each["explanation"]["pod"] = {}
        each["explanation"]["first_line"] = each["explanation"]["first_line"].replace(name, "true")
    assert alone["explanation"] == beside["explanation"]
    assert alone["explanation"]["would_admit"]


def test_commands_get_cpus_of_their_own_and_the_next_is_refused_with_the_reason(
    site: Site,
) -> None:
    site.start()
    children = [site.up() for _ in range(CPUS - 1)]
    given = [os.sched_getaffinity(program) for _, program in children]
    assert len(frozenset[int]().union(*given)) == CPUS - 1
    refused = site.run("--", "true")
    assert (refused.returncode, refused.stdout) == (125, "")
    assert "1 CPU requested; 0 free on all NUMA nodes together." in refused.stderr
    assert "\nChanges that make it fit\n" in refused.stderr
    assert "'true' does not fit on the machine" in refused.stderr
    # Who holds the memory is named, as the agent knows it.
    holders = {pod["metadata"]["name"] for pod in site.pods()}
    assert any(f"run/{name}" in refused.stderr for name in holders)
    document = site.run("--dry-run", "-o", "json", "--", "true")
    assert document.returncode == 125
    told = json.loads(document.stdout)
    assert "TopologyAffinityError" == told["reason"] == told["explanation"]["reason"]
    assert explanation_document.of(told["explanation"]).would_admit
    assert len(site.pods()) == CPUS - 1
    for child, _ in children:
        child.terminate()
        child.wait(PATIENCE_SECONDS)
    until(site.is_clean)


def test_a_place_is_free_for_the_next_as_soon_as_a_command_has_ended(site: Site) -> None:
    site.start()
    assert [site.run("-q", "--", "true", cpus=MOST).returncode for _ in range(5)] == [0] * 5
    until(site.is_clean)


def test_a_dry_run_asks_the_agents_node_state_and_takes_nothing(site: Site) -> None:
    site.start()
    done = site.run("--dry-run", "-o", "json", "--", "true")
    place = json.loads(done.stdout)
    assert (done.returncode, place["admitted"], place["decided_by"]) == (0, True, "agent")
    assert "note: CPU" in site.run("--dry-run", "--", "true").stderr
    until(site.is_clean)


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("/nowhere/app",), 127),
        (("/etc/passwd",), 126),
        (("sh", "-c", "kill -TERM $$"), 143),
        (("sh", "-c", "setsid sleep 1000 >&- 2>&- & exit 3"), 3),
    ],
)
def test_ends_have_the_shells_status_and_leave_nothing(
    site: Site, command: tuple[str, ...], status: int
) -> None:
    site.start()
    assert status == site.run("--", *command).returncode
    until(site.is_clean)


def test_signals_reach_the_command(site: Site) -> None:
    site.start()
    child, _ = site.up("trap 'exit 9' USR1; echo up; while :; do sleep 0.01; done")
    child.stdout.readline()
    child.send_signal(signal.SIGUSR1)
    assert child.wait(PATIENCE_SECONDS) == 9


def test_a_command_ignores_what_its_caller_ignored(site: Site) -> None:
    site.start()
    asked = ["grep", "SigIgn", "/proc/self/status"]
    script = f"trap '' HUP INT PIPE TERM\n{shlex.join(asked)}\n{shlex.join(site.words(*asked))}\n:"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
    )
    plain, of_run = done.stdout.splitlines()
    assert of_run == plain


def test_what_a_killed_command_had_is_taken_back(site: Site) -> None:
    site.start()
    child, program = site.up(cpus=MOST)
    child.kill()
    until(lambda: not is_there(program))
    until(site.is_clean)
    assert site.run("--", "true", cpus=MOST).returncode == 0


def test_the_agent_may_end_a_command(site: Site) -> None:
    site.start()
    child, program = site.up("trap '' TERM; echo up; while :; do sleep 0.01; done")
    name = site.pods()[0]["metadata"]["name"]
    with AgentClient(site.root / "agent.sock") as client:
        client.delete(f"/api/v1/namespaces/run/pods/{name}", {"gracePeriodSeconds": 1})
    assert child.wait(PATIENCE_SECONDS) == 137
    assert not is_there(program)
    until(site.is_clean)


def test_a_command_outlives_its_agent_and_is_known_to_the_next(site: Site) -> None:
    site.start()
    child, program = site.up(cpus=MOST)
    site.kill()
    refused = site.run("--", "true")
    assert refused.returncode == 2
    gone = "a stopped agent left 1 program running"
    assert gone in refused.stderr
    words = [sys.executable, "-m", "numalet", "ps", "--root", str(site.root)]
    listed = subprocess.run(words, capture_output=True, text=True, check=True)
    assert gone in listed.stderr
    site.start()
    assert site.phases() == ["Running"]
    assert site.run("--", "true", cpus=MOST).returncode == 125
    os.kill(program, signal.SIGTERM)
    assert child.wait(PATIENCE_SECONDS) == 143
    until(site.is_clean)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_ends_while_no_agent_is_there_is_given_back_by_the_next(
    site: Site, number: signal.Signals
) -> None:
    site.start()
    child, program = site.up(cpus=MOST)
    site.kill()
    child.send_signal(number)
    child.wait(PATIENCE_SECONDS)
    until(lambda: not is_there(program))
    site.start()
    until(site.is_clean)
    assert site.run("--", "true", cpus=MOST).returncode == 0


def test_without_memory_it_has_cpus_of_its_own_and_pages_on_their_nodes(site: Site) -> None:
    site.start()
    base = [sys.executable, "-m", "numalet", "run", "--root", str(site.root), "--cpus"]
    code = "import os; print(os.environ['NUMALET_CPUS'], os.environ['NUMALET_MEMORY_NODES']);"
    code += "print(open('/proc/self/numa_maps').read())"

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*base, *words], capture_output=True, text=True, check=False)

    document = json.loads(said("1", "--dry-run", "-o", "json", "--", "true").stdout)
    done = said("1", "--", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    first, maps = done.stdout.split("\n", 1)
    cpus, nodes = first.split()
    assert (document["cpus"], document["memory"]) == (cpus, [])
    assert ",".join(map(str, document["numa_nodes"])) == nodes
    assert f"memory of NUMA node {nodes}" in done.stderr.replace("nodes", "node")
    assert "enforced by the kernel" in done.stderr or f" bind:{nodes} " in maps
    refused = said("500", "--", "true")
    assert "500 CPUs" in refused.stderr
    assert "No place for true: " in refused.stderr

    # An agent that takes it over knows it as what it is.
    child = subprocess.Popen([*base, "1", "--", "sleep", "1000"])
    until(site.has_running)
    site.kill()
    site.start()
    (pod,) = site.pods()
    child.terminate()
    child.wait(PATIENCE_SECONDS)
    assert (pod["status"]["phase"], pod["status"]["qosClass"]) == ("Running", "Guaranteed")


def test_options_that_the_agent_decides_are_refused(site: Site) -> None:
    site.start()
    done = site.run("--policy", "none", "-c", "x.yaml", "--", "true")
    assert done.returncode == 2
    assert done.stderr.count("uses its own configuration") == 2
    device = site.run("--device", "example.com/gpu=1", "--", "true")
    assert device.returncode == 2
    assert "unknown devices example.com/gpu" in device.stderr


def test_an_agent_of_a_described_machine_runs_no_command(site: Site) -> None:
    words = [sys.executable, "-m", "numalet", "agent", "--root", str(site.root)]
    machine = ["--runtime", "fake", "-m", "2n8c1t", "--memory-per-node", "16Gi"]
    with (site.root.parent / "agent.log").open("ab") as log:
        site.agent = subprocess.Popen([*words, *machine], stderr=log)
    until(site.answers)
    done = site.run("--", "true")
    assert done.returncode == 125
    assert "the machine is only described" in done.stderr
    until(lambda: not site.pods())


# The pod comes, runs, ends; then its record goes, and the file of records is written anew. The
# first replacements are those of the start: 5 is the node state with the command, 8 the node
# state without it, 10 the records without it.
PASSAGES = {
    "records.append": (1, 2, 3),
    "runs.make": (1,),
    "runs.remove": (1,),
    "file.replace": (5, 8, 10),
}
FAULTS = [
    f"{point}:{moment}:{passage}"
    for point, passages in PASSAGES.items()
    for moment in MOMENTS
    for passage in passages
]


@pytest.mark.parametrize("fault", FAULTS)
def test_an_agent_that_dies_at_any_point_costs_no_command_its_end(site: Site, fault: str) -> None:
    site.start(fault)
    doomed = site.agent
    assert doomed is not None
    go = site.root.parent / "go"
    # Start and end are two writes only if the end comes after the start is in the records.
    script = f"until [ -e {go} ]; do sleep 0.01; done; echo up; exit 6"
    child = site.begin("--", "sh", "-c", script, cpus=MOST)
    until(lambda: doomed.poll() is not None or site.has_running())
    go.touch()
    assert doomed.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    site.start()
    assert child.wait(PATIENCE_SECONDS) == 6
    assert child.stdout.read().split() == ["up"]
    until(site.is_clean)


@pytest.mark.parametrize("point", ["process.fork", "runs.started"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_command_that_dies_at_any_point_leaves_nothing(
    site: Site, point: str, moment: str
) -> None:
    site.start()
    child = site.begin("--", "sleep", "1000", cpus=MOST, fault=f"{point}:{moment}:1")
    assert child.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    until(site.is_clean)
    assert site.run("--", "true", cpus=MOST).returncode == 0


def test_those_who_wait_are_served_in_order_across_a_restart(site: Site, tmp_path: Path) -> None:
    site.start()
    served = tmp_path / "served"
    first, _ = site.up(cpus=MOST)
    waiting = []
    for index in range(3):
        script = f"echo {index} >> {served}"
        waiting.append(site.begin("--wait", "--", "sh", "-c", script, cpus=MOST))
        until(lambda: len(site.tickets()) == len(waiting))
    late = site.run("--wait=10ms", "--", "true", cpus="500m")
    assert late.returncode == 125
    assert "3 commands still wait before 'true'" in late.stderr
    hopeless = site.run("--wait", "--", "true", cpus="5000")
    assert hopeless.returncode == 125
    waiting[1].kill()
    waiting[1].wait(PATIENCE_SECONDS)
    site.kill()
    site.start()
    assert not served.exists()
    first.terminate()
    first.wait(PATIENCE_SECONDS)
    assert [waiting[index].wait(PATIENCE_SECONDS) for index in (0, 2)] == [0, 0]
    assert served.read_text(encoding="utf-8").split() == ["0", "2"]
    assert site.tickets() == []
    until(site.is_clean)


ASKS_ONCE = (
    "import functools, sys; from numalet.agent.run import beside_agent;"
    "beside_agent._LONGEST_WAIT_SECONDS = 3600;"
    "beside_agent.AgentClient = functools.partial(beside_agent.AgentClient, timeout_seconds=3700);"
    "from numalet.cli.main import run; sys.exit(run(sys.argv[1:]))"
)
"""The program that holds a question back for longer than a test may take."""


def test_a_command_that_waits_has_its_place_as_soon_as_there_is_one(site: Site) -> None:
    site.start()
    first, _ = site.up(cpus=MOST)
    assert site.run("--wait=10ms", "--", "true", cpus=MOST).returncode == 125
    words = site.words("--wait=1h", "--", "sh", "-c", "echo up", cpus=MOST)
    second = subprocess.Popen([sys.executable, "-c", ASKS_ONCE, *words[3:]])
    until(lambda: bool(site.tickets()))
    first.terminate()
    # It is told, and does not look from time to time.
    assert second.wait(PATIENCE_SECONDS) == 0


def test_an_agent_takes_over_the_commands_that_began_without_one(site: Site) -> None:
    own, pid = site.up()
    shared, other = site.up(cpus="100m")
    before = os.sched_getaffinity(pid)
    site.start()
    until(lambda: site.phases() == ["Running", "Running"])
    items = json.loads(site.get(PLACEMENTS))["items"]
    assert {each["cpus"] for each in items} == {cpu_set.text(before), ""}
    # The agent decides by what they hold.
    refused = site.run("--", "true", cpus=MOST)
    assert refused.returncode == REFUSED
    assert (own.poll(), shared.poll()) == (None, None)
    assert before == os.sched_getaffinity(pid)
    assert json.loads((site.root / "run" / "runs.json").read_text(encoding="utf-8")) == []
    # They hand their places back to it, and the next is there for the next command at once.
    own.terminate()
    assert own.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    assert site.run("--", "true", cpus=MOST).returncode == 0
    until(lambda: os.sched_getaffinity(other) >= before)
    shared.kill()
    until(site.is_clean)
    assert not is_there(other)


def test_commands_that_were_taken_over_outlive_that_agent_too(site: Site) -> None:
    first, pid = site.up("exit 5")
    assert first.wait(PATIENCE_SECONDS) == 5
    first, pid = site.up()
    second, _ = site.up("sleep 0.1; exit 5", cpus="100m")
    site.start()
    until(lambda: "Running" in site.phases())
    site.kill()
    assert second.wait(PATIENCE_SECONDS) == 5
    # Who has what is the agent's to say now, and there is none.
    assert site.run("--", "true", cpus="100m").returncode == UNUSABLE
    site.start()
    until(lambda: site.phases() == ["Running"])
    assert is_there(pid)
    first.terminate()
    first.wait(PATIENCE_SECONDS)
    until(site.is_clean)


@pytest.mark.parametrize(
    "fault",
    [f"{point}:{moment}:1" for point in ("file.replace", "node-state.write") for moment in MOMENTS],
)
def test_an_agent_that_dies_while_it_takes_commands_over_loses_none(site: Site, fault: str) -> None:
    first, pid = site.up()
    before = os.sched_getaffinity(pid)
    site.start(fault, ready=False)
    assert site.agent is not None
    assert site.agent.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    # Once the agent has the commands, the next one waits for it.
    second = site.begin("--wait=1h", "--", "sh", "-c", f"echo $$; {UP}", cpus="100m")
    site.start()
    other = int(second.stdout.readline())
    until(lambda: site.phases() == ["Running", "Running"])
    assert before == os.sched_getaffinity(pid)
    assert not before & os.sched_getaffinity(other)
    for each in (first, second):
        each.terminate()
        assert each.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    until(site.is_clean)


def test_an_agent_with_another_configuration_says_so_and_leaves_commands_alone(
    site: Site, tmp_path: Path
) -> None:
    child, _ = site.up()
    text = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
    config = tmp_path / "config.yaml"
    config.write_text(text + "cpuManagerPolicy: none\n", encoding="utf-8")
    words = [sys.executable, "-m", "numalet", "agent", "--root", str(site.root)]
    words += ["--ownership", "enforce", "-c", str(config)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 2
    assert f"the processes {child.pid} of 'numalet run' got their CPUs" in done.stderr
    assert "rebase" not in done.stderr
    assert site.run("--", "true", cpus="100m").returncode == 0
    child.terminate()
    child.wait(PATIENCE_SECONDS)


@pytest.mark.slow
def test_nothing_leaks_or_doubles_however_commands_and_agents_are_killed(site: Site) -> None:
    chance = random.Random(SEED)
    site.start()
    ends: list[int] = []
    for _ in range(5):
        children = [
            site.begin("--wait=1h", "--", "sh", "-c", f"sleep {span}; exit 6", cpus=cpus)
            for cpus in ("1", "100m", "100m")
            for span in (chance.choice((0.0, 0.1, 1.0)),)
        ]
        time.sleep(chance.random())
        site.kill()
        chance.choice(children).kill()
        site.start(ready=False)
        ends += [each.wait(PATIENCE_SECONDS) for each in children]
        # Commands that found no agent may have been quicker than it.
        until(site.is_up)
    until(site.is_clean)
    assert {*ends} <= {6, -signal.SIGKILL}, f"NUMALET_CRASH_SEED={SEED}"
    assert 6 in ends


IMPATIENT = (
    "import sys; from numalet.agent.run import beside_agent;"
    "beside_agent.PATIENCE_SECONDS = 1.0;"
    "from numalet.cli.main import run; sys.exit(run(sys.argv[1:]))"
)
"""The program with less patience for an agent that is gone."""


def test_a_command_that_waits_goes_on_waiting_for_an_agent_that_is_gone(
    site: Site, tmp_path: Path
) -> None:
    site.start()
    served = tmp_path / "served"
    controller = {
        "name": "controller",
        "command": ["sleep", "1000"],
        "resources": {"limits": {"cpu": MOST, "memory": "64Mi"}},
    }
    pod = {"metadata": {"name": "controller"}, "spec": {"containers": [controller]}}
    with AgentClient(site.root / "agent.sock") as client:
        client.post("/api/v1/namespaces/default/pods", {**pod, "apiVersion": "v1", "kind": "Pod"})
    until(lambda: site.phases() == ["Running"])

    def waiting(name: str, wait: str = "--wait") -> subprocess.Popen[str]:
        words = site.words(wait, "--", "sh", "-c", f"echo {name} >> {served}", cpus=MOST)
        with (tmp_path / f"{name}.err").open("w") as errors:
            child = subprocess.Popen(
                [sys.executable, "-c", IMPATIENT, *words[3:]], stderr=errors, text=True
            )
        site.begun.append(child)
        return child

    first = waiting("first")
    until(lambda: len(site.tickets()) == 1)
    second = waiting("second")
    until(lambda: len(site.tickets()) == 2)
    tickets = site.tickets()
    site.kill()

    def goes_on_waiting() -> bool:
        said = (tmp_path / "first.err").read_text(encoding="utf-8")
        assert first.poll() is None, said
        return "waiting for the agent to return" in said

    until(goes_on_waiting)
    # Who comes now waits too, and its time may be over before.
    late = waiting("late", "--wait=10ms")
    assert late.wait(PATIENCE_SECONDS) == 125
    assert tickets == site.tickets()
    site.start()
    assert not served.exists()
    with AgentClient(site.root / "agent.sock") as client:
        client.delete("/api/v1/namespaces/default/pods/controller", {"gracePeriodSeconds": 0})
    assert [each.wait(PATIENCE_SECONDS) for each in (first, second)] == [0, 0]
    assert served.read_text(encoding="utf-8").split() == ["first", "second"]
    until(site.is_clean)


@pytest.mark.slow
def test_commands_that_wait_go_on_without_an_agent_that_does_not_come_back(site: Site) -> None:
    site.start()
    first, _ = site.up(cpus=MOST)
    second = site.begin("--wait", "--", "sh", "-c", "exit 6", cpus=MOST)
    until(lambda: bool(site.tickets()))
    site.kill()
    first.terminate()
    first.wait(PATIENCE_SECONDS)
    assert second.wait(PATIENCE_SECONDS) == 6
    site.start()
    until(site.is_clean)


def test_the_terminal_is_the_commands_and_an_interrupt_reaches_it_once(site: Site) -> None:
    site.start()
    code = (
        "import os, signal, sys\n"
        "seen = []\n"
        "signal.signal(signal.SIGINT, lambda *_: seen.append(1))\n"
        "print('up', os.isatty(0), flush=True)\n"
        "sys.stdin.readline()\n"
        "print('seen', len(seen), flush=True)\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        line = site.words("-q", "--", sys.executable, "-c", code)
        os.execv(line[0], line)
    shown = shown_until(terminal, b"up True")
    os.write(terminal, b"\x03")
    os.write(terminal, b"\n")
    shown += shown_until(terminal, b"seen 1")
    assert b"seen 1" in shown
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    os.close(terminal)
    until(site.is_clean)
