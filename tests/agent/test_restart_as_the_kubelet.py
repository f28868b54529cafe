"""The agent that starts again decides as the operation of the core that restarts a kubelet."""

from __future__ import annotations

from functools import cache
from itertools import islice

import msgspec
import pytest

from numalet.agent.controller import recovery
from numalet.agent.controller.recovery import Premises
from numalet.agent.controller.store import StoredState
from numalet.core.config.behaviour import EXACT
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import BadInput
from numalet.core.model.pod import Pod
from numalet.core.node import node as nodes
from numalet.core.node import restarting
from numalet.core.node.node import Node
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import PodRun, Verdict
from numalet.core.workload.spec import ContainerSpec, Workload
from numalet.insight.simulate.session import RestartStep, Session
from numalet.insight.usecases import scenario_document
from numalet.io.documents.text.typed import Place
from oracles import recordings
from values.served_node import NOW

MOST = 40


@cache
def _recorded() -> list[bytes]:
    return list(islice(recordings.lines("restart"), MOST))


def _stored(files: dict[str, str], pods: list[Pod]) -> StoredState:
    run = PodRun(accepted_at=NOW, verdict=Verdict(True))
    records = {}
    for pod in pods:
        specs = tuple(
            ContainerSpec(name=each.name, kind=each.kind, command=("x",))
            for each in pod.containers()
        )
        records[pod.uid] = PodRecord(Workload(pod=pod, containers=specs), run)
    return StoredState(files, records)


@pytest.mark.parametrize("number", range(MOST))
def test_the_agent_decides_as_a_kubelet_that_starts_again(number: int) -> None:
    line = msgspec.json.decode(_recorded()[number])
    scenario = scenario_document.decode(line, Place("recorded"))
    node = nodes.start(scenario.config, scenario.machine, scenario.state_files, scenario.devices)
    assert isinstance(node, Node)
    session = Session(scenario.config, scenario.machine, node, scenario.devices)
    for step in scenario.steps:
        before = session
        session, _ = session.after(step)
        if not isinstance(step, RestartStep):
            continue
        files = {**before.node.state_files(), **(step.state_files or {})}
        files = {name: text for name, text in files.items() if text}
        pods = [before.pods[uid] for uid in step.order]
        config, machine = step.config or before.config, step.machine or before.machine
        core = restarting.restart(config, machine, files, pods, running=())
        premises = Premises(config=config, machine=machine, behaviour=EXACT)
        if isinstance(core, StartRefused):
            with pytest.raises(BadInput):
                recovery.recover(premises, _stored(files, pods), [], [], [], NOW, lambda: 0.0)
            return
        agent = recovery.recover(premises, _stored(files, pods), [], [], [], NOW, lambda: 0.0)
        assert [each.decision.rejection for each in agent.traces] == [
            each.decision.rejection for each in core.pods
        ]
        assert agent.state.node.snapshot == core.node.snapshot
