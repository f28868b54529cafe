"""The colours of holders: at most twelve hues, the others neutral.

By namespace if pods of several namespaces have allocations, else by QoS class. The order is that of
the pods, so a hue is stable while its namespace keeps its position among those with allocations.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.model.value import Value
from numalet.drawing import tokens
from numalet.insight.maps.node_map import MapPod, NodeMap


class Hues(Value):
    """The colours of one drawing. ``by_name`` are the names of the legend, ``by_uid`` its pods."""

    by_name: Mapping[str, str]
    by_uid: Mapping[str, str]

    def of(self, pod_uid: str) -> str:
        """Return the colour name of this pod's marks: ``hue-1``, or ``holder`` for neutral ones."""
        return self.by_uid.get(pod_uid, "holder")


def hues(chart: NodeMap) -> Hues:
    namespaces = {pod.namespace for pod in chart.pods}
    names = {pod.uid: _name(pod, by_namespace=len(namespaces) > 1) for pod in chart.pods}
    numbered = {name: at + 1 for at, name in enumerate(dict.fromkeys(sorted(names.values())))}
    colours = {
        name: f"hue-{at}" if at <= tokens.HUES else "holder" for name, at in numbered.items()
    }
    return Hues(colours, {uid: colours[name] for uid, name in names.items()})


def _name(pod: MapPod, *, by_namespace: bool) -> str:
    if by_namespace:
        return pod.namespace or "not known"
    return "held by pods" if pod.qos_class is None else pod.qos_class.value
