"""Who holds what in a drawing: a colour, a letter and a line of the legend for each holder.

A holder is a pod, or all pods of a namespace or of a QoS class.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Final

from numalet.core.model.value import Value
from numalet.drawing import tokens
from numalet.insight.maps import finding, node_map
from numalet.insight.maps.node_map import ColoursBy, MapPod, NodeMap
from numalet.wording import numbers


class Holder(Value):
    """Pods with one colour and one letter. Colours repeat after the last one, letters do not."""

    name: str
    css_class: str
    letter: str
    pods: tuple[MapPod, ...]

    @property
    def label(self) -> str:
        """The letter and the name, for marks that have room for both."""
        name = self.pods[0].name if len(self.pods) == 1 else self.name
        return f"{self.letter} {name}".rstrip()


UNKNOWN: Final = Holder("", "holder", "", ())


def by_uid(chart: NodeMap) -> Mapping[str, Holder]:
    """Return the holders of a drawing by the uids of their pods, in the order of the legend."""
    of_name: dict[str, list[str]] = {}
    for pod in chart.lettered or node_map.in_letter_order(chart.pods):
        of_name.setdefault(_key(pod, chart.colours_by), []).append(pod.uid)
    here = {pod.uid: pod for pod in chart.pods}
    return {
        pod.uid: holder
        for at, uids in enumerate(of_name.values())
        if (pods := tuple(here[uid] for uid in uids if uid in here))
        for holder in [_holder(at, pods, chart.colours_by)]
        for pod in pods
    }


def words(chart: NodeMap, holder: Holder) -> str:
    """Return the line of the legend: the name, and all CPUs, memory and devices of its pods."""
    count = "" if len(holder.pods) == 1 else numbers.counted(len(holder.pods), "pod")
    held = "; ".join(filter(None, (count, finding.holdings(chart, holder.pods))))
    return f"{holder.name}: {held}" if held else holder.name


def _key(pod: MapPod, colours_by: ColoursBy) -> str:
    if colours_by is ColoursBy.POD:
        return pod.uid
    if colours_by is ColoursBy.NAMESPACE:
        return pod.namespace or "namespace not known"
    return "QoS class not known" if pod.qos_class is None else pod.qos_class.value


def _holder(at: int, pods: tuple[MapPod, ...], colours_by: ColoursBy) -> Holder:
    name = pods[0].title if colours_by is ColoursBy.POD else _key(pods[0], colours_by)
    return Holder(name, f"hue-{at % tokens.HUES + 1}", _letter(at), pods)


def _letter(at: int) -> str:
    """Return ``A`` to ``Z``, then ``AA``, ``AB``."""
    rest, last = divmod(at, len(ascii_uppercase))
    return (_letter(rest - 1) if rest else "") + ascii_uppercase[last]
