"""Place 3,000 pods on 300 machines, in several processes, each pod where it first fits.

python examples/place_many.py [MACHINES] [PODS] [PROCESSES]
"""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numalet

SHAPES = ("2n8c2t", "4n4c2t", "1n16c2t")
SIZES = ((1, 2), (2, 4), (4, 16), (8, 30))
CONFIG = {
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0",
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
    "topologyManagerPolicy": "restricted",
}
POD = """
{{apiVersion: v1, kind: Pod, metadata: {{name: pod-{}}}, spec: {{containers: [
  {{name: main, resources: {{limits: {{cpu: "{}", memory: {}Gi}}}}}}]}}}}
"""


def place(share: tuple[list[numalet.Node], list[numalet.Pod]]) -> list[dict[str, Any]]:
    """A row for each pod: the last decision on it, and what it got on the node that admits it."""
    nodes, pods = share
    decisions = []
    # Nodes only fill up: where a pod of this size did not fit, the next one does not fit either.
    first: dict[tuple[str, ...], int] = {}
    for pod in pods:
        size = tuple(map(str, pod.app_containers[0].limits.values()))
        for at in range(first.get(size, 0), len(nodes)):
            first[size] = at
            after, decision = nodes[at].admit(pod)
            if decision.admitted:
                nodes[at] = after
                break
        decisions.append(decision)
    return numalet.decision_rows(decisions)


def main(machine_count: int = 300, pod_count: int = 3000, processes: int = 4) -> None:
    """Share machines and pods out, place them, and print how many pods came to which end."""
    config = numalet.decode_config(CONFIG, "example")
    kinds = [numalet.start_node(config, shape) for shape in SHAPES]
    nodes = [kinds[at % len(kinds)] for at in range(machine_count)]
    texts = [POD.format(at, *SIZES[at % len(SIZES)]) for at in range(pod_count)]
    pods = numalet.read_pods("---".join(texts), "example").pods
    shares = [(nodes[at::processes], pods[at::processes]) for at in range(processes)]
    with ProcessPoolExecutor(processes) as pool:
        rows = [row for part in pool.map(place, shares) for row in part]
    for end, count in Counter(row["reason"] or "admitted" for row in rows).most_common():
        sys.stdout.write(f"{count:6} {end}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
