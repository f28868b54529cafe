"""The state of a node as its users see it: the kubelet's, and that of an agent with the same pods.

Both are values that can be compared: state files, PodResources, statuses of pods, and metrics of
the managers. A series that is zero is left out, as the kubelet does not show all of them; so are
durations.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from machines.guests import FIGURES
from numalet.core.model import cpu_set
from numalet.core.model.findings import BadInput
from numalet.io.agent_client.client import AgentClient
from numalet.io.agent_client.places import SOCKET_NAME
from numalet.io.pod_resources_client import CallRefused, JsonAnswer, PodResourcesClient
from running.real_kubelet import NODE, RealKubelet
from running.server_programs import PATIENCE_SECONDS, ServerProgram

_FILES: Final = ("cpu_manager_state", "memory_manager_state")
_SOCKET: Final = Path("pod-resources", "kubelet.sock")
_SERIES: Final = re.compile(
    r"^(kubelet_(?:cpu_manager|memory_manager|topology_manager_admission_\w+_total"
    r"|container_aligned|admission_rejections|resource_manager)\S*) (\S+)$",
    re.MULTILINE,
)
View: TypeAlias = Mapping[str, Any]


class Agent:
    """A numalet agent that decides on the same pods as a kubelet, without containers."""

    def __init__(self, folder: Path, machine: Path, kubelet: RealKubelet) -> None:
        self.root = folder / "agent"
        self.server = ServerProgram(
            "agent",
            [
                *(sys.executable, "-m", "numalet", "agent", "--exact", "--runtime=fake"),
                *(f"--root={self.root}", f"--config={kubelet.config}", f"--machine={machine}"),
                *(f"--manifests={kubelet.manifests}", f"--node-name={NODE}"),
            ],
            folder / "agent.log",
            self._is_ready,
        )

    def asked(self, question: Callable[[AgentClient], Any]) -> Any:
        """The agent's answer."""
        with AgentClient(self.root / SOCKET_NAME) as client:
            return question(client)

    def pods(self) -> list[dict[str, Any]]:
        """The pods that it knows, with their status."""
        return list(self.asked(lambda client: client.get("/api/v1/pods"))["items"])

    def metrics(self) -> str:
        """Its page of metrics."""
        return str(self.asked(lambda client: client.text("/metrics")))

    def _is_ready(self) -> bool:
        with suppress(BadInput):
            self.pods()
            return True
        return False


@contextmanager
def agent(folder: Path, machine: Path, kubelet: RealKubelet) -> Iterator[Agent]:
    """An agent beside the kubelet, which has ended after the block."""
    made = Agent(folder, machine, kubelet)
    try:
        made.server.start()
        yield made
    except BaseException as failed:
        failed.add_note(f"--- agent\n{made.server.last_lines()}")
        raise
    finally:
        made.server.kill()


@dataclass
class Pair:
    """A kubelet and an agent with the same pods, and what became of the pods."""

    kubelet: RealKubelet
    agent: Agent
    phases: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """Of all pods that ever were, by the uids that each of both gave them, if they differ."""

    def restart(self) -> None:
        """Kill both, start both again, and compare."""
        self.agent.server.kill()
        self.kubelet.kubelet.restart()
        self.agent.server.start()
        self.agree()

    def agree(self) -> None:
        """Wait until both have decided on all pods; then all that they show is the same."""
        for pods in (self.pods, self.agent.pods):
            wait_for(partial(_phases, pods), self.phases)
        wait_for(self.differences, [])

    def pods(self) -> list[dict[str, Any]]:
        """The pods of the kubelet, with their status."""
        return self.kubelet.pods()

    def differences(self) -> list[str]:
        """Where the two differ now, one line each."""
        found = differences(statuses(self.pods()), statuses(self.agent.pods()))
        return found + differences(of(self.kubelet, self.names), of(self.agent, self.names))


def _phases(pods: Callable[[], list[dict[str, Any]]]) -> dict[str, str]:
    return {each["metadata"]["name"]: each["status"]["phase"] for each in pods()}


def of(node: RealKubelet | Agent, names: Mapping[str, str] | None = None) -> View:
    """What the node shows now, except the statuses of pods.

    ``names`` are those of pods by the uids that an API server gave them: then state files are
    compared as values with names instead of uids.
    """
    client = PodResourcesClient(node.root / _SOCKET)
    files = {name: (node.root / name).read_text() for name in _FILES}
    return {
        "files": {name: _named(text, names) if names else text for name, text in files.items()},
        "pod resources": _sorted(_answer(client.list_pods())),
        "allocatable": _sorted(_answer(client.allocatable())),
        "metrics": {name: float(v) for name, v in _SERIES.findall(node.metrics()) if float(v)},
    }


def device_count(node: RealKubelet | Agent) -> int:
    """How many healthy devices it has."""
    found = _answer(PodResourcesClient(node.root / _SOCKET).allocatable()).get("devices", ())
    return sum(len(each["deviceIds"]) for each in found)


def available(node: RealKubelet, machine: str) -> dict[str, dict[str, int]]:
    """What is free on each NUMA node of this capture, computed from PodResources alone."""
    client = PodResourcesClient(node.root / _SOCKET)
    of_node = FIGURES[machine]["nodes"]
    free: dict[str, Counter[str]] = {f"node-{each['id']}": Counter() for each in of_node}
    place_of = {cpu: f"node-{e['id']}" for e in of_node for cpu in cpu_set.parse(e["cpus"])}
    pods = _answer(client.list_pods()).get("podResources", ())
    held = [each for pod in pods for each in pod["containers"]]
    for sign, resources in [(1, _answer(client.allocatable())), *((-1, each) for each in held)]:
        for cpu in resources.get("cpuIds", ()):
            free[place_of[int(cpu)]]["cpu"] += sign
        for block in resources.get("memory", ()):
            free[_place(block)][block["memoryType"]] += sign * int(block["size"])
        for devices in resources.get("devices", ()):
            free[_place(devices)][devices["resourceName"]] += sign * len(devices["deviceIds"])
    return {place: dict(amounts) for place, amounts in free.items()}


def _place(block: Mapping[str, Any]) -> str:
    """The only NUMA node of memory or devices; the answer leaves out an id that is 0."""
    (node,) = block["topology"]["nodes"]
    return f"node-{node.get('ID', 0)}"


def differences(one: View, other: View, place: str = "") -> list[str]:
    """Where two views differ, one line each."""
    found = []
    for name in sorted(one.keys() | other.keys()):
        ours, theirs = one.get(name), other.get(name)
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            found += differences(ours, theirs, f"{place}{name}: ")
        elif ours != theirs:
            found.append(f"{place}{name}: {ours!r} is not {theirs!r}")
    return found


def wait_for(seen: Callable[[], Any], wanted: Any) -> None:
    """Wait until this is seen; fail with what is seen instead after a long time."""
    last = time.monotonic() + PATIENCE_SECONDS
    while (now := seen()) != wanted:
        assert time.monotonic() < last, now
        time.sleep(0.05)


def statuses(pods: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str, str]]:
    """Phase, reason and message of each pod."""
    by_name = {each["metadata"]["name"]: each["status"] for each in pods}
    return {
        name: (each["phase"], each.get("reason", ""), each.get("message", ""))
        for name, each in by_name.items()
    }


def _answer(answer: JsonAnswer | CallRefused) -> Mapping[str, Any]:
    assert isinstance(answer, JsonAnswer), answer
    return answer.document


def _sorted(value: Any) -> Any:
    """The value with its lists sorted: the kubelet answers in the order of Go's maps."""
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return sorted(map(_sorted, value), key=repr) if isinstance(value, list) else value


def _named(text: str, names: Mapping[str, str]) -> Any:
    for uid, name in names.items():
        text = text.replace(uid, name)
    value = json.loads(text)
    # Checksums are those of the texts, in which pods are sorted by their uids.
    del value["checksum"], value["dataChecksum"]
    return {**value, "data": json.loads(value["data"])}
