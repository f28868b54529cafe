"""What notebooks draw of a cluster, computed when it is drawn."""

from __future__ import annotations

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import pod_demand, resources
from numalet.core.model.value import Value
from numalet.insight.fleet import traps as trapping
from numalet.insight.fleet.heat import MOST_CELLS, FleetMap, FleetMapper


class FleetPicture(Value):
    """The nodes of a cluster, those marked where the pod in question fits; traps are for ``pods``.

    Without ``pods`` they are for all pods of the cluster.
    """

    cluster: Cluster
    pods: tuple[ClusterPod, ...] | None = None
    fitting: frozenset[str] = frozenset()

    def map(self) -> FleetMap:
        trapped = trapping.traps(self.cluster, self.pods)
        asked = [name for each in self.pods or () for name in pod_demand.amounts(each.pod)]
        devices = (name for name in asked if resources.is_device(name))
        resource = next(devices, resources.CPU if asked else None)
        fleet = FleetMapper().map(self.cluster, trapped, resource, self.fitting)
        return fleet if len(self.cluster.nodes) <= MOST_CELLS else fleet.folded()
