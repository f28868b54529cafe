"""A recorded scenario, played by agents that are processes and are spoken to from outside alone.

What goes in is what a user gives: a machine file, a device file, a configuration file, the words
of a command line, manifests that are posted and deleted, signals. What comes out is what a user
gets: answers of the API, lines of the log, state files, the last words of an agent that does not
start. Four things of a recording are not an agent's business and are arranged here: every
container has a command; pods are named by their uids, as recordings use names twice; pods that
are gone after a restart are deleted before it; and while no agent runs, the files of the runtime
without processes are made to say that init containers too still run, and in which order pods ask
again.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from numalet.insight.simulate import outcome
from numalet.io.agent_client.client import AgentClient
from numalet.io.agent_client.places import SOCKET_NAME
from numalet.io.files import state_directory
from running import agent_log
from running.agent_log import Plain
from running.agent_processes import AgentProcess, Starter

LIFE_SECONDS: Final = 100.0
"""So long an agent is listened to; many times what any of them lives."""
_KUBELET: Final = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
_OWN: Final = {
    "apiVersion": "numalet.dev/v1alpha1",
    "kind": "NumaletConfiguration",
    # The release of recordings that name none.
    "release": "1.32",
    # Recordings are of the managers alone; what the kubelet asks after them was not part of it.
    "generalPredicates": False,
}
_KUBELET_ROOT: Final = "/var/lib/kubelet"
"""Where the kubelet that was recorded had its state files, as it says in its complaints."""
_COMPLAINT: Final = re.compile("start (cpu|memory) manager error: .*")
_PLACEMENTS: Final = "/apis/numalet.dev/v1alpha1/podplacements"
_AT_ONCE: Final = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
_WATCH: Final = {
    "watch": True,
    "sendInitialEvents": True,
    "allowWatchBookmarks": True,
    "timeoutSeconds": int(LIFE_SECONDS),
}


class NotStarted(Exception):  # noqa: N818 - it is what was recorded
    """The agent said why it does not start, and ended."""


class World:
    """The files of a scenario: what a user writes, what a kubelet keeps, what the machine has."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.root = folder / "root"
        self.devices: Sequence[Plain] = ()
        self._own = _OWN

    def words(self) -> list[str]:
        """The command line of an agent."""
        files = {"-c": "kubelet.yaml", "-m": "machine.json", "--devices": "devices.json"}
        options = [word for name, file in files.items() for word in (name, self._path(file))]
        told = ["--log-format", "json", "--root", str(self.root)]
        return ["agent", "--exact", "--runtime", "fake", *options, *told]

    def write(self, given: Plain) -> None:
        """Write what is given of a configuration, a release, a machine and devices."""
        if "release" in given:
            self._own = {**_OWN, "release": given["release"]}
        if "kubelet_config" in given:
            documents = [{**_KUBELET, **given["kubelet_config"]}, self._own]
            Path(self._path("kubelet.yaml")).write_text("\n---\n".join(map(json.dumps, documents)))
        for name in ("machine", "devices"):
            if name in given:
                Path(self._path(f"{name}.json")).write_text(json.dumps(given[name]))
        self.devices = given.get("devices", self.devices)

    def let_run(self, uids: Sequence[str]) -> None:
        """Let every container run that ever started, and these pods ask again in this order."""
        runs = self.root / "runs"
        runs.mkdir(exist_ok=True)
        for path in runs.glob("*/*.json"):
            run = json.loads(path.read_text())
            path.write_text(json.dumps({**run, "ends_at": None, "exit": None}))
        (runs / "order.json").write_text(json.dumps(uids))

    def states(self) -> Mapping[str, str]:
        """The texts of the state files."""
        return state_directory.read(self.root).files

    def _path(self, name: str) -> str:
        return str(self._folder / name)


class Life:
    """One agent, from its readiness to a signal. ``readmitted`` is what it decided at its start.

    Raises:
        NotStarted: it ends instead.
    """

    def __init__(self, starter: Starter, world: World) -> None:
        self._world = world
        self._process = AgentProcess(starter, world.words())
        self.readmitted = self._decisions("Agent is ready")
        if self._process.is_over:
            assert self._process.end() == 2, self._process.said
            raise NotStarted("\n".join(self._process.said))
        self._changes = self._client().stream("/api/v1/pods", _WATCH)
        self._await(lambda change: change["type"] == "BOOKMARK")

    def end(self, number: signal.Signals) -> None:
        """SIGTERM stops it, SIGKILL is a crash."""
        self._changes.close()
        status = self._process.end(number)
        assert (0 if number is signal.SIGTERM else -number) == status, self._process.said

    def admit(self, manifest: Plain) -> Plain:
        """What became of a pod; if it was admitted, all its containers have started."""
        namespace, uid = _namespace(manifest), manifest["metadata"]["uid"]
        with self._client() as client:
            answer = client.post(f"/api/v1/namespaces/{namespace}/pods", manifest)
        (decision,) = self._decisions(*agent_log.VERDICTS)
        assert uid == decision["uid"]
        assert _told(decision) == _told_by(answer["status"])
        if decision["admitted"]:
            self._await(lambda change: _uid(change) == uid and _have_begun(change["object"]))
        return decision

    def delete(self, manifest: Plain) -> None:
        """Let a pod end, and be gone."""
        namespace, uid = _namespace(manifest), manifest["metadata"]["uid"]
        with self._client() as client:
            client.delete(f"/api/v1/namespaces/{namespace}/pods/{uid}", _AT_ONCE)
        self._await(lambda change: _uid(change) == uid and change["type"] == "DELETED")

    def placements(self) -> dict[str, list[Plain]]:
        """What the containers of all pods hold, by the uid of the pod."""
        with self._client() as client:
            items = client.get(_PLACEMENTS)["items"]
        return {each["metadata"]["uid"]: each["containers"] for each in items}

    def _client(self) -> AgentClient:
        """One for a moment: a connection that is kept is closed by the agent some time."""
        return AgentClient(self._world.root / SOCKET_NAME)

    def _decisions(self, *until: str) -> list[Plain]:
        """Those of which the log tells next, up to one of these messages."""
        lines = self._process.heard(lambda line: line["msg"] in until)
        return list(agent_log.decisions(lines, self._world.devices))

    def _await(self, condition: Callable[[Plain], bool]) -> None:
        """Wait for such a change of a pod."""
        for line in self._changes:
            if condition(json.loads(line)):
                return
        raise AssertionError("what was awaited did not happen")


class Played:
    """One scenario, played by agents one after the other below one root folder."""

    def __init__(self, scenario: Plain, starter: Starter, folder: Path) -> None:
        self._scenario = scenario
        self._starter = starter
        self._world = World(folder)
        self._posted: dict[str, Plain] = {}
        self._held: dict[str, Plain] = {}
        self._lives = 0

    def outcome(self) -> Plain:
        """What comes out, in the format of recordings."""
        self._world.write(self._scenario)
        try:
            life = self._begun()
        except NotStarted as refused:
            return {**self._complaint(refused), "steps": []}
        found = {"start_error": None, **self._states("initial_")}
        steps: list[Plain] = []
        for step in self._scenario["steps"]:
            if "restart" not in step:
                steps.append(self._step(life, step))
                continue
            self._end(life, step["restart"])
            try:
                life = self._begun()
            except NotStarted as refused:
                return {**found, "steps": [*steps, self._complaint(refused)]}
            steps.append({"start_error": None, **self._readmitted(life), **self._states()})
        self._compare(life)
        # To stop in order takes some tenths of a second, and nothing is asked for afterwards.
        life.end(signal.SIGTERM if len(steps) == 1 else signal.SIGKILL)
        return {**found, "steps": steps}

    def _begun(self) -> Life:
        self._lives += 1
        return Life(self._starter, self._world)

    def _end(self, life: Life, restart: Plain) -> None:
        """End a life, by a crash and in order in turns, and let the world become different."""
        self._compare(life)
        for uid in self._held.keys() - set(restart["order"]):
            self._delete(life, uid)
        life.end(signal.SIGKILL if self._lives % 2 else signal.SIGTERM)
        self._world.write(restart)
        self._world.let_run(restart["order"])

    def _step(self, life: Life, step: Plain) -> Plain:
        if "remove" in step:
            self._delete(life, step["remove"])
            return self._states()
        manifest = posted(step["admit"])
        decision = life.admit(manifest)
        uid = decision.pop("uid")
        self._posted[uid] = manifest
        if decision["admitted"]:
            self._held[uid] = decision
        return decision | self._states()

    def _readmitted(self, life: Life) -> Plain:
        decided = {each["uid"]: each for each in life.readmitted}
        self._held = {uid: each for uid, each in decided.items() if each["admitted"]}
        return {"readmitted": life.readmitted}

    def _delete(self, life: Life, uid: str) -> None:
        self._held.pop(uid, None)
        life.delete(self._posted.pop(uid))

    def _compare(self, life: Life) -> None:
        """The API says of all that goes on running that it holds what was decided."""
        placements = life.placements()
        for uid, decision in self._held.items():
            spec = self._posted[uid]["spec"]
            first = spec.get("initContainers", ())
            ended = {each["name"] for each in first if each.get("restartPolicy") != "Always"}
            for shown in placements[uid]:
                if (name := shown["name"]) not in ended:
                    decided = [decision[kind].get(name) for kind in ("cpuset", "devices")]
                    assert decided == [shown["cpus"] or None, shown["devices"] or None]
                    memory = decision["memory"].get(name, ())
                    assert [each["size"] for each in memory] == [
                        each["sizeBytes"] for each in shown["memory"]
                    ]

    def _states(self, prefix: str = "") -> Plain:
        files = self._world.states()
        found = outcome.states(files, prefix)
        if self._scenario.get("record_raw"):
            found |= outcome.raw_states(files, prefix)
        return found

    def _complaint(self, refused: NotStarted) -> Plain:
        said = _COMPLAINT.search(str(refused))
        assert said is not None, refused
        text = said[0].replace(str(self._world.root), _KUBELET_ROOT)
        return {"start_error": text, "start_error_stage": f"{said[1]}-manager-start"}


def posted(manifest: Plain) -> Plain:
    """The manifest with a command for each container, under its uid."""
    spec = manifest["spec"]
    lists = {
        name: [{"command": ["serve"], **each} for each in spec[name]]
        for name in ("initContainers", "containers")
        if spec.get(name)
    }
    metadata = {**manifest["metadata"], "name": manifest["metadata"]["uid"]}
    return {**manifest, "metadata": metadata, "spec": {**spec, **lists}}


def _told(decision: Plain) -> tuple[bool, str, str]:
    """Whether the pod was admitted, and what its status is to say if not."""
    if decision["admitted"]:
        return True, "", ""
    return False, decision["reason"], f"Pod was rejected: {decision['message']}"


def _told_by(status: Plain) -> tuple[bool, str, str]:
    return status["phase"] != "Failed", status.get("reason", ""), status.get("message", "")


def _have_begun(pod: Plain) -> bool:
    """Whether every container of a pod has started."""
    spec, status = pod["spec"], pod["status"]
    return all(
        len(spec.get(f"{kind}s", ())) == sum("waiting" not in each["state"] for each in told)
        for kind in ("initContainer", "container")
        for told in [status.get(f"{kind}Statuses", ())]
    )


def _uid(change: Plain) -> Any:
    return change["object"]["metadata"].get("uid")


def _namespace(manifest: Plain) -> Any:
    return manifest["metadata"].get("namespace", "default")
