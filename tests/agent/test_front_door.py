"""Recorded decisions of a kubelet come out of the agent's API, books on the disk included.

The agent runs in exact mode on the fake runtime, and is asked over its Unix socket: the recorded
manifests are posted, and deleted, as ``kubectl`` would. Four things of a recording are not an
agent's business and are arranged here: every container has a command and, of an admitted pod,
starts at once; pods that are deleted have ended when the next step comes; a restarted kubelet hears
of the recorded pods alone, in the recorded order; and pods are named by their uids, as recordings
use names twice.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

import agents
from numalet.adapters.agent_client.client import AgentClient
from numalet.adapters.agent_client.places import SOCKET_NAME
from numalet.adapters.documents import pod_record, scenario_file
from numalet.adapters.files import state_directory
from numalet.adapters.runtime.fake import FakeRuntime
from numalet.adapters.runtime.port import Observed
from numalet.agent import record_file, wiring
from numalet.agent.decisions import Heard
from numalet.agent.recovery import Premises
from numalet.agent.settings import AgentSettings, RuntimeKind
from numalet.agent.wiring import RUNS, Hooks
from numalet.config.behaviour import EXACT
from numalet.model.findings import BadInput
from numalet.simulate import comparison, outcome
from numalet.simulate.scenario import AdmitStep, RemoveStep, RestartStep, Scenario
from numalet.wording import kubelet
from numalet.workload.record import PodRecord

Posted: TypeAlias = dict[str, Any]
"""A manifest."""

DATA: Final = Path(__file__).parents[1] / "conformance" / "data"
CHUNK: Final = 60
FIRST: Final = datetime(2026, 1, 1, tzinfo=UTC)
AS_RECORDED: Final = replace(EXACT, predicates_are_asked=False)
"""Recordings are of the managers alone; what the kubelet asks after them was not part of it."""
COUNTS: Final = {"mixed": 361, "restart": 368}
CHUNKS: Final = [
    (name, start) for name, count in COUNTS.items() for start in range(0, count, CHUNK)
]


class EveryContainerRuns(FakeRuntime):
    """Init containers too count as running when the agent starts, as in the recordings."""

    async def open(self) -> Sequence[Observed]:
        """Every container, as running."""
        return [replace(each, exit=None) for each in await super().open()]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), CHUNKS)
def test_recorded_decisions_come_out_of_the_whole_agent(
    name: str, start: int, short_path: Path
) -> None:
    found = {}
    for at, (scenario, posted) in enumerate(scenarios(name, start)):
        assert scenario.expect is not None
        root = short_path / str(at)
        actual = asyncio.run(Played(scenario, posted, root).outcome())
        difference = comparison.first_difference(scenario.expect, actual)
        if difference is not None:
            found[scenario.name] = difference
    assert {} == found


def test_all_recordings_are_played() -> None:
    for name, count in COUNTS.items():
        assert count == sum(1 for _ in scenario_file.read_scenarios(path_of(name)))


def scenarios(name: str, start: int) -> Iterator[tuple[Scenario, dict[str, Posted]]]:
    """The scenarios of one chunk, and what is to be posted for each pod by its uid."""
    with gzip.open(path_of(name)) as lines:
        recorded = zip(scenario_file.read_scenarios(path_of(name)), lines, strict=True)
        for at, (raw, line) in enumerate(recorded):
            if start <= at < start + CHUNK:
                steps = json.loads(line)["steps"]
                admitted = (step["admit"] for step in steps if "admit" in step)
                yield raw.decode(), {each["metadata"]["uid"]: posted(each) for each in admitted}


def posted(manifest: Posted) -> Posted:
    """The manifest with a command for each container, under its uid."""
    spec = manifest["spec"]
    lists = {
        name: [{"command": ["serve"], **each} for each in spec[name]]
        for name in ("initContainers", "containers")
        if spec.get(name)
    }
    metadata = {**manifest["metadata"], "name": manifest["metadata"]["uid"]}
    return {**manifest, "metadata": metadata, "spec": {**spec, **lists}}


def path_of(name: str) -> str:
    """The file of recordings of this name."""
    return str(DATA / f"vectors-{name}.jsonl.gz")


class Played:
    """One scenario, played by agents one after the other below one root folder."""

    def __init__(self, scenario: Scenario, posted: Mapping[str, Posted], root: Path) -> None:
        self._scenario = scenario
        self._posted = posted
        self._root = root
        self._premises = Premises(
            config=scenario.config,
            machine=scenario.machine,
            behaviour=AS_RECORDED,
            devices=scenario.devices,
            root="/var/lib/kubelet",
        )
        self._heard: list[Heard] = []

    async def outcome(self) -> dict[str, Any]:
        """What comes out, in the format of recordings."""
        root = self._root
        root.mkdir()
        (root / state_directory.DEVICE_PLUGINS).mkdir()
        state_directory.read(root).write(self._scenario.state_files)
        found: dict[str, Any] = {}
        steps: list[dict[str, Any]] = []
        pending = list(self._scenario.steps)
        restart: RestartStep | None = None
        while True:
            try:
                given = self._settings()
                async with (
                    agents.running(given, self._runtime(), self._hooks()) as agent,
                    wiring.served(agent.keeper, given),
                ):
                    if restart is None:
                        found = {"start_error": None, **self._states("initial_")}
                    else:
                        steps.append(self._restarted())
                    restart = None
                    while pending and not isinstance(first := pending[0], RestartStep):
                        pending.pop(0)
                        with AgentClient(self._root / SOCKET_NAME) as client:
                            steps.append(await self._step(agent, client, first))
            except BadInput as bad:
                error = {
                    "start_error": bad.findings[0].fields["text"],
                    "start_error_stage": bad.findings[0].fields["stage"],
                }
                return (
                    {**error, "steps": []}
                    if restart is None
                    else {**found, "steps": [*steps, error]}
                )
            if not pending:
                return {**found, "steps": steps}
            first = pending.pop(0)
            assert isinstance(first, RestartStep)
            restart = first
            self._between(restart)

    async def _step(
        self, agent: agents.Agent, client: AgentClient, step: AdmitStep | RemoveStep
    ) -> dict[str, Any]:
        self._heard.clear()
        found: dict[str, Any] = {}
        match step:
            case AdmitStep(pod):
                path = f"/api/v1/namespaces/{pod.namespace}/pods"
                answer = await asyncio.to_thread(client.post, path, self._posted[pod.uid])
                await agent.until(lambda: has_begun(agent.record(pod.uid)))
                await agent.keeper.settled()
                (heard,) = self._heard
                found = verdict(heard)
                assert told(heard) == told_by(answer["status"])
            case RemoveStep(pod_uid):
                namespace = self._posted[pod_uid]["metadata"].get("namespace", "default")
                path = f"/api/v1/namespaces/{namespace}/pods/{pod_uid}"
                options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
                await asyncio.to_thread(client.delete, path, options)
                await agent.keeper.settled()
        return found | self._states()

    def _restarted(self) -> dict[str, Any]:
        readmitted = [{"uid": each.decision.pod.uid} | verdict(each) for each in self._heard]
        return {"start_error": None, "readmitted": readmitted, **self._states()}

    def _between(self, step: RestartStep) -> None:
        """What the world does while no agent runs."""
        self._heard.clear()
        self._premises = replace(
            self._premises,
            config=step.config or self._premises.config,
            machine=step.machine or self._premises.machine,
        )
        for name, text in (step.state_files or {}).items():
            path = state_directory.read(self._root).path_of(name)
            if text:
                path.write_text(text)
            else:
                path.unlink(missing_ok=True)
        texts = record_file.read(self._root)
        by_uid = {uid: pod_record.decode(text, uid) for uid, text in texts.items()}
        kept: dict[str, bytes] = {}
        for at, uid in enumerate(step.order):
            record = by_uid.get(uid)
            if record is None:
                continue
            # Without a verdict a rejected pod too asks again, as a kubelet's static pods do.
            accepted_at = FIRST + timedelta(seconds=at)
            run = replace(record.run, accepted_at=accepted_at, verdict=None)
            kept[uid] = pod_record.encode(replace(record, run=run))
        (self._root / record_file.FILE_NAME).write_bytes(record_file.line(kept, ()))

    def _states(self, prefix: str = "") -> dict[str, Any]:
        files = state_directory.read(self._root).files
        found = outcome.states(files, prefix)
        return found | outcome.raw_states(files, prefix) if self._scenario.record_raw else found

    def _settings(self) -> AgentSettings:
        return AgentSettings(
            premises=self._premises,
            root=self._root,
            manifests=None,
            runtime=RuntimeKind.FAKE,
            node_name="node-a",
        )

    def _runtime(self) -> FakeRuntime:
        return EveryContainerRuns(self._root / RUNS)

    def _hooks(self) -> Hooks:
        return Hooks(heard=self._heard.append, look_every_seconds=3600)


def has_begun(record: PodRecord) -> bool:
    """Whether every container was started, or the pod was rejected."""
    assert record.run.verdict is not None
    names = [each.name for each in record.workload.containers]
    return not record.run.verdict.admitted or all(record.run.of(name).attempt for name in names)


def verdict(heard: Heard) -> dict[str, Any]:
    """One decision in the format of recordings."""
    decision = heard.decision
    reason, message = kubelet.reason(decision.rejection), kubelet.message(decision.rejection)
    return outcome.verdict(decision, reason, message)


def told(heard: Heard) -> tuple[bool, str, str]:
    """Whether the pod was admitted, and the reason and message in its status if not."""
    rejection = heard.decision.rejection
    if rejection is None:
        return True, "", ""
    said = kubelet.status(rejection)
    return False, said["reason"], said["message"]


def told_by(status: Mapping[str, Any]) -> tuple[bool, str, str]:
    """The same from the status in the API's answer."""
    return status["phase"] != "Failed", status.get("reason", ""), status.get("message", "")
