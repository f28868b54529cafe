"""What questions to 5,000 nodes cost in processor time, beside asking each node by itself.

Nodes of one hardware and configuration (2 NUMA nodes of 16 cores with 2 threads and 4 GPUs each)
in 1,500 states that came of pods that came and went at random; no two of these states need be
equal. Each question is asked three times: for the first time, again, and after five nodes have
changed. The ratio is to admitting the pod on every node. Then what must go for a pod.

    python -m benchmarks.fleet            prints the figures
    python -m benchmarks.fleet --write    writes them into docs/benchmarks.md too
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import Final

from benchmarks import busy_nodes, page

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Controller, Origin
from numalet.core.model.node_constraints import UNCONSTRAINED, NodeIdentity
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.insight.fleet import evicting, fit
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.fleet.traps import TrapFinder

NODES: Final = 5000
STATES: Final = 1500
_SEED: Final = 20261123


def pod(uid: str, cpus: int, gib: int, gpus: int = 0, containers: int = 1) -> Pod:
    """A Guaranteed pod of equal containers."""
    asked = {"cpu": Quantity.from_int(cpus), "memory": Quantity.from_bytes(gib << 30)}
    if gpus:
        asked[busy_nodes.GPU] = Quantity.from_int(gpus)
    every = tuple(Container(f"c{at}", requests=asked, limits=asked) for at in range(containers))
    return Pod(
        uid, uid, app_containers=every, qos_class=QosClass.GUARANTEED, constraints=UNCONSTRAINED
    )


SHAPES: Final = {
    "4 CPUs 8Gi": pod("s", 4, 8),
    "3 times 4 CPUs 8Gi": pod("s", 4, 8, containers=3),
    "24 CPUs 40Gi": pod("s", 24, 40),
    "8 CPUs 16Gi 1 GPU": pod("s", 8, 16, 1),
    "16 CPUs 32Gi 4 GPUs": pod("s", 16, 32, 4),
}


def states(count: int, policy: str = "single-numa-node") -> list[Node]:
    """Nodes in the middle of their life."""
    rng = random.Random(_SEED)
    empty, made = busy_nodes.empty(2, 16, policy), []
    for number in range(count):
        node = empty
        for step in range(rng.randint(2, 14)):
            running = sorted(node.snapshot.pods)
            if running and rng.random() < 0.3:
                node = node.remove(rng.choice(running))
                continue
            asked = pod(
                f"{number}-{step}", rng.randint(1, 12), rng.randint(1, 20), rng.choice((0, 0, 1, 2))
            )
            node, decision = node.admit(asked)
            if decision.admitted:
                node = node.pod_started(asked.uid)
        made.append(node.release_stale())
    return made


def cluster(of: list[Node], count: int = NODES) -> Cluster:
    """A cluster of nodes in these states, each with a name of its own."""
    nodes = {}
    for at in range(count):
        node, name = of[at * 7 % len(of)], f"node-{at:05}"
        rules = replace(node.rules, identity=NodeIdentity(name=name))
        mine = replace(node, roster=replace(node.roster, rules=rules))
        nodes[name] = ClusterNode(
            name=name, node=mine, origin=Origin.DESCRIBED, class_name="c", pool="p"
        )
    return Cluster(nodes=nodes)


def with_pods(of: Cluster) -> Cluster:
    """The cluster with the pods of its nodes, which are called the same on nodes in one state."""
    pods = {
        uid: ClusterPod(pod=replace(each, node_name=name), controller=Controller("ReplicaSet", "r"))
        for name, on in of.nodes.items()
        for uid, each in on.node.snapshot.pods.items()
    }
    return replace(of, pods=pods)


def changed(before: Cluster, count: int = 5) -> Cluster:
    """The cluster after pods came to so many of its nodes."""
    names = list(before.nodes)[:: len(before.nodes) // count][:count]
    small = pod("new", 1, 1)
    return before.with_nodes(
        replace(before.nodes[name], node=before.nodes[name].node.admit(small)[0]) for name in names
    )


def spent(question: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    begin = process_time()
    question()
    return 1000 * (process_time() - begin)


def row(name: str, shape: Pod, of: Cluster, other: Cluster) -> list[str]:
    """Milliseconds of one shape, and how often the first answer fits into asking each node."""
    asked, assessor = ClusterPod(pod=shapes.shape_of(shape)), Assessor()
    naive = spent(lambda: [each.node.fits(asked.pod) for each in of.nodes.values()])
    first = spent(lambda: fit.fit(of, asked, 1, assessor))
    admissions = assessor.verdicts.table(asked.pod).admissions
    again = min(spent(lambda: fit.fit(of, asked, 1, assessor)) for _ in range(3))
    after = spent(lambda: fit.fit(other, asked, 1, assessor))
    every = spent(lambda: fit.capacity(of, asked, assessor))
    figures = [f"{each:.0f}" for each in (naive, first, again, after, every)]
    return [name, *figures, str(admissions), f"{naive / first:.0f}"]


HEADS: Final = [
    "shape",
    "admit on every node, ms",
    "fit, first time",
    "again",
    "5 nodes changed",
    "copies on each node",
    "admissions",
    "ratio",
]


FREE_SHAPES: Final = {
    "1 GPU more than a NUMA node has": pod("s", 8, 16, 5),
    "all 8 GPUs": pod("s", 8, 16, 8),
    "16 CPUs 32Gi 4 GPUs": pod("s", 16, 32, 4),
    "24 CPUs 40Gi": pod("s", 24, 40),
}
FREE_HEADS: Final = ["what must go for", "ms", "sets tried", "answer"]


def free_row(name: str, shape: Pod, of: Cluster) -> list[str]:
    """What must go for a pod of this shape, over all nodes."""
    begin = process_time()
    answer = evicting.free(of, ClusterPod(pod=shape))
    spent_ms = 1000 * (process_time() - begin)
    best = "nothing that may go makes room" if answer.best is None else f"{len(answer.best.going)}"
    proved = "proved" if answer.is_proved else "not proved"
    return [name, f"{spent_ms:.0f}", str(answer.sets_tried), f"{best}, {proved}"]


def told() -> str:
    """The section of the page."""
    load = page.load()
    of = with_pods(cluster(states(STATES)))
    gc.collect()
    gc.freeze()  # As the command does once it has read a cluster.
    other = changed(of)
    fits = page.table(HEADS, [row(name, shape, of, other) for name, shape in SHAPES.items()])
    finder = TrapFinder()
    asked = [ClusterPod(pod=each) for each in SHAPES.values()]
    first = spent(lambda: finder.find(of, asked))
    again = spent(lambda: finder.find(of, asked))
    after = spent(lambda: finder.find(other, asked))
    return "\n\n".join(
        [
            f"{page.machine()}. Load at the beginning {load} (last minute, last five), at the end "
            f"{page.load()}.",
            fits,
            f"`fleet traps` of these {len(asked)} shapes: {first:.0f} ms, asked again {again:.0f}"
            f" ms, after 5 nodes changed {after:.0f} ms.",
            page.table(
                FREE_HEADS, [free_row(name, each, of) for name, each in FREE_SHAPES.items()]
            ),
        ]
    )


if __name__ == "__main__":
    page.command("fleet", __doc__, told)
