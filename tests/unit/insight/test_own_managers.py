"""A manager that the kubelet does not have works as its own do: in decisions and in documents."""

from __future__ import annotations

import json
import pickle
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass

import msgspec
import pytest

import numalet
from numalet.insight.explain import cases as cases
from numalet.insight.explain import story
from numalet.insight.output import explanation_document, json_schema
from numalet.insight.simulate import simulation_document
from numalet.insight.simulate.session import Session
from numalet.insight.simulate.simulation_document import DecisionDocument

TILES = "example.com/tile"
Ledger = Mapping[numalet.ContainerKey, int]


@dataclass(frozen=True)
class TooFew:
    """A reason that brings its sentence along."""

    code = "tile/too-few"
    sentence = "{asked} tiles are asked for, {free} are free"
    asked: int
    free: int


@dataclass(frozen=True)
class Odd:
    """A reason without a sentence."""

    code = "tile/odd"
    asked: int


@dataclass(frozen=True)
class Tiles:
    """So many tiles, all on NUMA node 1; an odd number of them is not given out."""

    count: int

    def container_hints(
        self, ledger: Ledger, pod: numalet.Pod, container: numalet.Container
    ) -> dict[str, numalet.Impossible | numalet.HintFamily | numalet.NoPreference]:
        asked = self._asked(container)
        if not asked:
            return {}
        if asked > self._free(ledger):
            return {TILES: numalet.Impossible(TooFew(asked, self._free(ledger)))}
        return {TILES: numalet.Candidates((numalet.Hint(0b10, True), numalet.Hint(0b11, False)))}

    def pod_hints(
        self, ledger: Ledger, pod: numalet.Pod
    ) -> dict[str, numalet.Impossible | numalet.HintFamily | numalet.NoPreference]:
        return {}

    def allocate(
        self,
        ledger: Ledger,
        pod: numalet.Pod,
        container: numalet.Container,
        affinity: numalet.Hint,
    ) -> Ledger | numalet.Refused:
        asked = self._asked(container)
        if asked > self._free(ledger):
            return numalet.Refused(TooFew(asked, self._free(ledger)))
        if asked % 2:
            return numalet.Refused(Odd(asked))
        key = numalet.ContainerKey(pod.uid, container.name)
        return {**ledger, key: asked} if asked else ledger

    def forget_stale(self, ledger: Ledger, active: Set[numalet.ContainerKey]) -> Ledger:
        return {key: count for key, count in ledger.items() if key in active}

    def holders(
        self, ledger: Ledger, pod_uid: str | None = None
    ) -> Collection[numalet.ContainerKey]:
        return [key for key in ledger if pod_uid in (None, key.pod_uid)]

    def container_started(
        self, ledger: Ledger, pod: numalet.Pod, container: numalet.Container
    ) -> Ledger:
        return ledger

    def _free(self, ledger: Ledger) -> int:
        return self.count - sum(ledger.values())

    def _asked(self, container: numalet.Container) -> int:
        asked = container.limits.get(TILES)
        return 0 if asked is None else int(asked.value)


NO_TILES: Ledger = {}
MANAGER = numalet.ExtraManager("tile", Tiles(4), NO_TILES)
CONFIG = {
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
}


def started(policy: str) -> numalet.Node:
    config = numalet.decode_config({**CONFIG, "topologyManagerPolicy": policy}, "example")
    node = numalet.start_node(config, "2n4c2t", managers=[MANAGER])
    assert isinstance(node, numalet.Node)
    return node


def asking(tiles: int, name: str = "p") -> numalet.Pod:
    limits = f'{{cpu: "1", memory: 1Gi, {TILES}: "{tiles}"}}'
    (pod,) = numalet.read_pods(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}},"
        f" spec: {{containers: [{{name: c, resources: {{limits: {limits}}}}}]}}}}",
        "example",
    ).pods
    return pod


def test_its_hints_count_in_the_merge() -> None:
    node, decision = started("restricted").admit(asking(2))
    assert decision.admitted
    assert decision.placements["c"].memory_nodes == (1,)
    assert not node.fits(asking(4, "q"))
    assert node.fits(asking(2, "q"))
    assert node.remove(asking(2).uid).fits(asking(4, "q"))


def test_its_hints_and_reasons_are_in_documents() -> None:
    config = numalet.decode_config({**CONFIG, "topologyManagerPolicy": "restricted"}, "example")
    begun = started("restricted")
    steps = [asking(2), asking(4, "q")]
    session, records = Session(config, begun.rules.machine, begun).through(steps)
    shown = json_schema.plain(simulation_document.simulation(session, records))
    admitted, rejected = (step["admit"] for step in shown["steps"])
    for each in (admitted, rejected):
        assert msgspec.convert(each, type=DecisionDocument).uid == each["uid"]
    assert admitted["hints"]["c"]["tile"][TILES][0] == {"nodes": [1], "preferred": True}
    assert rejected["hints"]["c"]["tile"][TILES] == []
    asked = cases.build(session, (), asking(4, "q"))
    told = explanation_document.explanation(asked, story.trace(asked), ())
    assert "4 tiles are asked for, 2 are free" in json.dumps(json_schema.plain(told))


@pytest.mark.parametrize(
    ("tiles", "words"),
    [(8, "8 tiles are asked for, 4 are free"), (3, "tile/odd (asked: 3)")],
)
def test_a_refusal_is_worded_with_or_without_a_sentence(tiles: int, words: str) -> None:
    _, decision = started("none").admit(asking(tiles))
    assert decision.rejection is not None
    status = numalet.rejection_status(decision.rejection)
    assert status["reason"] == "UnexpectedAdmissionError"
    assert words in status["message"]
    assert words in numalet.sentence(decision.rejection)


def test_it_stays_over_a_restart_with_its_first_ledger() -> None:
    node, _ = started("none").admit(asking(4))
    assert not node.fits(asking(2, "q"))
    config = numalet.decode_config(CONFIG, "example")
    again = numalet.restart_node(node, config, "2n4c2t")
    assert isinstance(again, numalet.Node)
    assert again.fits(asking(4, "q"))
    assert not again.fits(asking(6, "q"))


def test_a_node_with_it_travels() -> None:
    node, _ = started("restricted").admit(asking(2))
    copied = pickle.loads(pickle.dumps(node))
    assert copied == node
    assert not copied.fits(asking(4, "q"))


def test_every_manager_has_its_own_name() -> None:
    config = numalet.decode_config(CONFIG, "example")
    same = numalet.ExtraManager("memory", Tiles(1), NO_TILES)
    with pytest.raises(ValueError, match="device, cpu, memory, memory"):
        numalet.start_node(config, "1n1c", managers=[same])
