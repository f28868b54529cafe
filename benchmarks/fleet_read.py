"""CPU time and memory of reading a cluster from a dump of kubectl: 5,000 nodes, 50,000 pods.

    PYTHONPATH=tests python -m benchmarks.fleet_read            prints the figures
    PYTHONPATH=tests python -m benchmarks.fleet_read --write    writes them into the page too

Pods are as an API server has them, of about 10 kB each in kubectl's form. Of one dump every node
has a NumaNode, of the other the nodes are rebuilt from their pods. Each reading is done in a
process of its own, whose peak of memory is told. Times are of the CPU.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final

from benchmarks import page

from numalet.core.admission import node_resources
from numalet.core.cluster import classes, rebuilding
from numalet.core.cluster import published as publishing
from numalet.core.cluster.cluster import ClusterPod, Controller, Toleration
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.insight.usecases.clusters import ClusterSources, open_cluster
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.documents.cluster.numa_node import NumaNodeSpec
from values import gpu_fleet, kube_lists


def objects(nodes: int, pods_per_node: int, *, published: bool) -> Iterator[dict[str, Any]]:
    """All nodes, then all pods: of each ten, four have GPUs and whole CPUs, the rest share."""
    empty = gpu_fleet.empty()
    sizes = node_resources.allocatable(empty.rules, empty.snapshot)
    spec = classes.spec_of(empty, gpu_fleet.kubelet_config())
    for at in range(nodes):
        labels = {
            "kubernetes.io/hostname": f"node-{at:05}",
            "node.kubernetes.io/instance-type": "gpu-8x",
            "topology.kubernetes.io/zone": f"zone-{at % 3}",
        }
        yield kube_lists.node_object(
            ListedNode(
                name=f"node-{at:05}",
                uid=f"node-uid-{at}",
                labels=labels,
                kubelet_version="v1.32.2",
                allocatable=sizes,
                capacity=sizes,
            )
        )
    for number in range(nodes * pods_per_node):
        yield kube_lists.pod_object(_pod(number, pods_per_node))
    if published:
        yield numa_node_class.class_object(spec)
        for at in range(nodes):
            numbers = range(at * pods_per_node, (at + 1) * pods_per_node)
            bound = [_pod(number, pods_per_node) for number in numbers]
            node = rebuilding.rebuilt(empty, bound).node
            state = numa_node.document(publishing.of_node(node))
            yield numa_node.published_object(
                f"node-{at:05}",
                NumaNodeSpec(
                    class_name=classes.class_name(spec),
                    published="2026-01-31T12:00:00Z",
                    state=state,
                ),
            )


def write_class_file(path: Path) -> None:
    """The machine and configuration of all nodes, for those who publish nothing."""
    configuration = {
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static",
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerScope": "pod",
        "kubeReserved": {"cpu": "2", "memory": "924Mi"},
        "evictionHard": {"memory.available": "100Mi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    }
    pool = {
        "name": "gpu",
        "machine": "2n16c2t",
        "memory_per_node": "256Gi",
        "configuration": configuration,
        "devices": [f"{gpu_fleet.GPU}=" + ",".join(f"gpu{at}@{at // 4}" for at in range(8))],
    }
    path.write_text(json.dumps({"pools": [pool]}))


def _pod(number: int, pods_per_node: int) -> ClusterPod:
    node, place = divmod(number, pods_per_node)
    job = number % 400
    is_training = place % 10 < 4
    asked = {"cpu": Quantity.from_int(8), "memory": Quantity.from_bytes(64 * gpu_fleet.GIB)}
    if is_training:
        asked[gpu_fleet.GPU] = Quantity.from_int(1 + (place % 10 == 0))
    shared = {"cpu": Quantity.parse("250m"), "memory": Quantity.from_bytes(gpu_fleet.GIB)}
    container = Container(
        f"job-{job}",
        requests=asked if is_training else shared,
        limits=asked if is_training else {"memory": shared["memory"]},
    )
    pod = Pod(
        uid=f"{number:08x}-4a5b-4c6d-8e7f-001122334455",
        name=f"job-{job}-{number}",
        namespace=f"team-{job % 20}",
        app_containers=(container,),
        qos_class=QosClass.GUARANTEED if is_training else QosClass.BURSTABLE,
        phase="Running",
        node_name=f"node-{node:05}",
        labels={"app": f"job-{job}", "job-name": f"job-{job}", "pod-template-hash": f"{job:010}"},
        priority=1000 * is_training,
    )
    began = kube_lists.BEGIN_SECONDS + number * 7919 % 86_400
    return ClusterPod(
        pod=pod,
        controller=Controller("Job", f"job-{job}", f"uid-of-job-{job}"),
        tolerations=(Toleration("node.kubernetes.io/not-ready", exists=True),),
        created_at_seconds=began,
        started_at_seconds=began + 2,
    )


def read(paths: list[str], class_file: str | None) -> dict[str, object]:
    """Open the cluster in this process: CPU seconds, and the peak of memory in MiB."""
    begin = process_time()
    cluster = open_cluster(ClusterSources(paths=paths, class_file=class_file))
    seconds = process_time() - begin
    return {
        "nodes": len(cluster.nodes),
        "pods": len(cluster.pods),
        "origins": {each.value: count for each, count in cluster.origins().items()},
        "cpu_seconds": round(seconds, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def read_apart(path: Path, class_file: Path | None) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.fleet_read", "--read", str(path)]
    if class_file is not None:
        command += ["--class", str(class_file)]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def row(options: argparse.Namespace, folder: Path, *, published: bool) -> list[str]:
    """The figures of one dump, which is made if it is not there."""
    path = folder / ("published.json" if published else "rebuilt.json")
    if not path.exists():
        listed = objects(options.nodes, options.pods_per_node, published=published)
        kube_lists.write_kubectl_json(path, listed)
    class_file = None if published else folder / "classes.json"
    if class_file is not None:
        write_class_file(class_file)
    runs = [read_apart(path, class_file) for _ in range(options.runs)]
    seconds = [each["cpu_seconds"] for each in runs]
    origin = "published" if published else "rebuilt"
    assert runs[0]["origins"] == {origin: options.nodes}
    return [
        "every node has a NumaNode" if published else "nodes are rebuilt from their pods",
        f"{path.stat().st_size / 1e6:.0f} MB",
        f"{median(seconds):.1f} s ({min(seconds):.1f})",
        "10 s" if published else "60 s",
        f"{max(each['peak_mib'] for each in runs)} MiB",
        "1.5 GB",
    ]


HEADS: Final = ["dump", "size", "CPU time", "goal", "most memory", "goal"]


def main() -> None:
    """Make two dumps, and read each a few times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods-per-node", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3, help="median of so many")
    parser.add_argument("--keep", type=Path, help="folder where the dumps are, or are kept")
    parser.add_argument("--write", action="store_true", help="write it into docs/benchmarks.md")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    parser.add_argument("--class", dest="class_file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read([options.read], options.class_file)))
        return
    load = page.load()
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        rows = [row(options, folder, published=published) for published in (True, False)]
    text = (
        f"{options.nodes:,} nodes and {options.nodes * options.pods_per_node:,} pods. "
        f"{page.machine()}. Load at the beginning {load} (last minute, last five), at the end "
        f"{page.load()}. Median of {options.runs}, the fastest in brackets.\n\n"
        f"{page.table(HEADS, rows)}"
    )
    print(text)
    if options.write:
        page.write_section("fleet-read", text)


if __name__ == "__main__":
    main()
