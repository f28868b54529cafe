"""Whether the kubelet of a node would admit a pod, asked again and again while nodes change."""

from __future__ import annotations

from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.cluster.shapes import PodKey
from numalet.core.cluster.verdicts import Verdicts, VerdictTable


class Judge:
    """Verdicts by shape, each distinct state of a node decided once."""

    def __init__(self) -> None:
        self._verdicts = Verdicts()
        self._tables: dict[PodKey, VerdictTable] = {}

    def admits(self, on: ClusterNode, pod: ClusterPod, shape: PodKey) -> bool:
        """Whether the node, as it is, admits a new pod of this shape."""
        table = self._tables.get(shape)
        if table is None:
            table = self._tables[shape] = self._verdicts.table(pod.pod)
        return table.verdict(self._verdicts.reader.facts(on.name, on.node)).admitted
