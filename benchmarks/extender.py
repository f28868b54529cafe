"""What the calls of a scheduler cost the extender in processor time, with 5,000 nodes.

The nodes of ``benchmarks.fleet``: one hardware and configuration, 1,500 states. A call is a body
with a pod and names, decoded, answered by the engine, and encoded; HTTP comes on top, less than a
millisecond for 500 names. A new shape is one that was never asked about, with every node unknown;
"seen waiting" is one that was prewarmed; after that 5 nodes have changed.

    python -m benchmarks.extender            prints the figures
    python -m benchmarks.extender --write    writes them into docs/benchmarks.md too
"""

from __future__ import annotations

import gc
import json
import random
import resource
from dataclasses import dataclass, replace
from typing import Any, Final

from benchmarks import busy_nodes, fleet, page

from numalet.cluster.extender import wire
from numalet.core.cluster.cluster import ClusterNode
from numalet.insight.fleet.preference import Preference
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import NodeFilter
from numalet.insight.scheduling.scoring import NodeScorer
from numalet.io.documents.cluster.cluster_pods import PodReader

_NAME: Final = "ip-10-0-{:05}.eu-central-1.compute.internal"
"""As long as names of nodes are in clouds."""


@dataclass(frozen=True, slots=True)
class Case:
    """A shape: CPUs, GiB and GPUs of each container, and how many there are."""

    name: str
    cpus: int
    gib: int
    gpus: int = 0
    containers: int = 1

    def document(self) -> dict[str, Any]:
        """The pod as an API server has it."""
        amounts = {"cpu": str(self.cpus), "memory": f"{self.gib}Gi"}
        if self.gpus:
            amounts[busy_nodes.GPU] = str(self.gpus)
        both = {"requests": amounts, "limits": amounts}
        return {
            "metadata": {"name": "job-7d4f9-x2x5z", "namespace": "team", "uid": f"u-{self.name}"},
            "spec": {
                "schedulerName": "default-scheduler",
                "containers": [
                    {"name": f"c{at}", "image": "app:1", "resources": both}
                    for at in range(self.containers)
                ],
                "tolerations": [
                    {
                        "key": f"node.kubernetes.io/{key}",
                        "operator": "Exists",
                        "effect": "NoExecute",
                    }
                    for key in ("not-ready", "unreachable")
                ],
            },
            "status": {"phase": "Pending", "qosClass": "Guaranteed"},
        }


CASES: Final = (
    Case("4 CPUs 8Gi", 4, 8),
    Case("3 times 4 CPUs 8Gi", 4, 8, containers=3),
    Case("24 CPUs 40Gi", 24, 40),
    Case("2 times 6 CPUs 12Gi", 6, 12, containers=2),
    Case("8 CPUs 16Gi 1 GPU", 8, 16, 1),
    Case("16 CPUs 32Gi 4 GPUs", 16, 32, 4),
)
SMALL, THREE, LARGE = CASES[:3]


def always() -> bool:
    """There is time."""
    return True


class Answering:
    """An extender without its server and its watch; what can be read of nodes has been read."""

    def __init__(self, nodes: list[ClusterNode]) -> None:
        self.nodes = ExpectedNodes()
        for each in nodes:
            self.nodes.put(each.name, each)
        self.filter = NodeFilter(self.nodes)
        self.scorer = NodeScorer(self.nodes, self.filter.memory, Preference.PACK)
        self.filter.memory.prepare(always)
        self._pods = PodReader()

    def answer(self, body: bytes) -> bytes:
        """What the scheduler is answered."""
        asked = wire.arguments(body)
        named = asked.named()
        given = self.filter.filtered(wire.pod(asked.pod, self._pods), [*named])
        return wire.filter_answer(given, asked, named)

    def best(self, body: bytes) -> bytes:
        """What the scheduler is answered that asks which of these nodes is best."""
        asked = wire.arguments(body)
        pod = wire.pod(asked.pod, self._pods)
        return wire.scores_answer(self.scorer.scored(pod, [*asked.named()]).points)

    def see_waiting(self, body: bytes) -> None:
        """Decide on the pod before anybody asks, as ``Prewarming`` does."""
        self.filter.decide_ahead(wire.pod(wire.arguments(body).pod, self._pods), always)

    def change(self, names: list[str]) -> None:
        """Another pod on each of these nodes, as they publish it."""
        small = fleet.pod("new", 1, 1)
        for name in names:
            there = self.nodes.nodes[name]
            self.nodes.put(name, replace(there, node=there.node.admit(small)[0]))


def body(case: Case, names: list[str]) -> bytes:
    """What the scheduler sends."""
    return json.dumps({"Pod": case.document(), "Nodes": None, "NodeNames": names}).encode()


def row(case: Case, nodes: list[ClusterNode], names: list[str]) -> list[str]:
    """Milliseconds for one shape."""
    answering, few = Answering(nodes), Answering(nodes)
    whole = body(case, names)
    first = fleet.spent(lambda: answering.answer(whole))
    again = min(fleet.spent(lambda: answering.answer(whole)) for _ in range(5))
    answering.change(names[:5])
    after = fleet.spent(lambda: answering.answer(whole))
    some, others = body(case, names[:500]), body(case, names[500:1000])
    first_500 = fleet.spent(lambda: few.answer(some))
    next_500 = fleet.spent(lambda: few.answer(others))
    passed = json.loads(few.answer(some))["NodeNames"]
    asked = body(case, passed)
    best_first = fleet.spent(lambda: few.best(asked))
    best_again = min(fleet.spent(lambda: few.best(asked)) for _ in range(5))
    figures = (first, again, after, first_500, next_500, best_first, best_again)
    return [case.name, *[f"{each:.1f}" for each in figures]]


HEADS: Final = [
    "shape",
    "5,000 names, new shape, ms",
    "again",
    "5 nodes changed",
    "500 names, new shape",
    "the next 500",
    "which of those passed is best",
    "again",
]


def goals(nodes: list[ClusterNode], names: list[str]) -> list[list[str]]:
    """What was aimed at, one line for each case."""

    def new(case: Case, count: int = len(names)) -> float:
        answering, asked = Answering(nodes), body(case, names[:count])
        return fleet.spent(lambda: answering.answer(asked))

    seen, asked = Answering(nodes), body(LARGE, names)
    seen.see_waiting(asked)
    waited = fleet.spent(lambda: seen.answer(asked))
    known = fleet.spent(lambda: seen.answer(asked))
    cold = fleet.spent(lambda: Answering(nodes).answer(body(SMALL, names)))
    few = body(LARGE, json.loads(seen.answer(body(LARGE, names)))["NodeNames"][:500])
    seen.best(few)
    ranked = fleet.spent(lambda: seen.best(few))
    return [
        ["known shape", f"{known:.1f}", "5"],
        [f"new small shape ({SMALL.name})", f"{new(SMALL):.1f}", "40"],
        [f"new shape of 3 containers ({THREE.name})", f"{new(THREE):.1f}", "150"],
        [f"new large shape ({LARGE.name})", f"{new(LARGE):.1f}", "250"],
        ["large shape whose pod was seen waiting", f"{waited:.1f}", "10"],
        ["500 names, new small shape", f"{new(SMALL, 500):.1f}", "20"],
        ["which of 500 is best, known shape", f"{ranked:.1f}", "2"],
        ["the first question of all, nothing was read in advance", f"{cold:.1f}", ""],
    ]


def told() -> str:
    """The section of the page."""
    load = page.load()
    nodes = [
        ClusterNode(
            name=_NAME.format(at), node=each.node, origin=each.origin, class_name="c", pool="p"
        )
        for at, each in enumerate(fleet.cluster(fleet.states(fleet.STATES)).nodes.values())
    ]
    gc.collect()
    gc.freeze()
    names = [each.name for each in nodes]
    random.Random(7).shuffle(names)
    aimed = page.table(["5,000 names and nodes", "CPU ms", "goal"], goals(nodes, names))
    rows = [row(each, nodes, names) for each in CASES]
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return "\n\n".join(
        [
            f"{page.machine()}. Load at the beginning {load} (last minute, last five), at the end "
            f"{page.load()}.",
            aimed,
            page.table(HEADS, rows),
            f"The process had {megabytes:.0f} MiB at most, tables of all these shapes included.",
        ]
    )


if __name__ == "__main__":
    page.command("extender", __doc__, told)
