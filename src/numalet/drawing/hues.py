"""Which colour a holder has: at most twelve hues, all others neutral.

By namespace where pods of several hold something, else by QoS class: so the colour answers "whose
is it" in the way that divides best. The order is that of the pods, so a hue stays as long as its
namespace has the same place among those that hold something.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.model.value import Value
from numalet.drawing import tokens
from numalet.insight.maps.node_map import MapPod, NodeMap


class Hues(Value):
    """The colours of one drawing. ``by_name`` has the names of the legend, ``by_uid`` its pods."""

    by_name: Mapping[str, str]
    by_uid: Mapping[str, str]

    def of(self, pod_uid: str) -> str:
        """The name of the colour of this pod's marks: ``hue-1``, or ``holder`` for neutral ones."""
        return self.by_uid.get(pod_uid, "holder")


def hues(chart: NodeMap) -> Hues:
    """The colours for the pods of a map."""
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
