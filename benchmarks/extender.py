"""What one filter call of a scheduler costs the extender in processor time, with 5,000 nodes.

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
from dataclasses import dataclass
from typing import Any, Final

from benchmarks import busy_nodes, fleet, page

from numalet.cluster.extender import wire
from numalet.core.cluster.cluster import ClusterNode
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import NodeFilter
from numalet.io.documents.cluster_pods import PodReader

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


class Answering:
    """An extender without its server and its watch."""

    def __init__(self, nodes: list[ClusterNode]) -> None:
        self.nodes = ExpectedNodes()
        for each in nodes:
            self.nodes.put(each.name, each)
        self.filter = NodeFilter(self.nodes)
        self._pods = PodReader()

    def answer(self, body: bytes) -> bytes:
        """What the scheduler is answered."""
        asked = wire.arguments(body)
        named = asked.named()
        given = self.filter.filtered(wire.pod(asked.pod, self._pods), [*named])
        return wire.filter_answer(given, named)

    def change(self, names: list[str]) -> None:
        """Another pod on each of these nodes, as they publish it."""
        small = fleet.pod("new", 1, 1)
        for name in names:
            there = self.nodes.nodes[name]
            self.nodes.put(name, _with_node(there, there.node.admit(small)[0]))


def _with_node(on: ClusterNode, node: Any) -> ClusterNode:
    from dataclasses import replace

    return replace(on, node=node)


def body(case: Case, names: list[str]) -> bytes:
    """What the scheduler sends."""
    return json.dumps({"Pod": case.document(), "Nodes": None, "NodeNames": names}).encode()


def row(case: Case, nodes: list[ClusterNode], rng: random.Random) -> list[str]:
    """Milliseconds for one shape."""
    names = [each.name for each in nodes]
    rng.shuffle(names)
    answering, few = Answering(nodes), Answering(nodes)
    whole = body(case, names)
    first = fleet.spent(lambda: answering.answer(whole))
    again = min(fleet.spent(lambda: answering.answer(whole)) for _ in range(5))
    answering.change(names[:5])
    after = fleet.spent(lambda: answering.answer(whole))
    some, others = body(case, names[:500]), body(case, names[500:1000])
    first_500 = fleet.spent(lambda: few.answer(some))
    next_500 = fleet.spent(lambda: few.answer(others))
    again_500 = min(fleet.spent(lambda: few.answer(some)) for _ in range(5))
    figures = (first, again, after, first_500, next_500, again_500)
    return [case.name, *[f"{each:.1f}" for each in figures]]


HEADS: Final = [
    "shape",
    "5,000 names, new shape, ms",
    "again",
    "5 nodes changed",
    "500 names, new shape",
    "the next 500",
    "again",
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
    rng = random.Random(7)
    rows = [row(each, nodes, rng) for each in CASES]
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return "\n\n".join(
        [
            f"{page.machine()}. Load at the beginning {load} (last minute, last five), at the end "
            f"{page.load()}.",
            page.table(HEADS, rows),
            f"The process had {megabytes:.0f} MiB at most, tables of all these shapes included.",
        ]
    )


if __name__ == "__main__":
    page.command("extender", __doc__, told)
