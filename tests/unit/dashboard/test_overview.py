"""The strip of the first page: figures, their words, bars and links."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.pod import ContainerKey
from numalet.core.node.node import Node
from numalet.dashboard import overview
from numalet.dashboard.overview import StripTile
from numalet.dashboard.sources import Level, NodeView, SourceKind
from running import dashboards
from values import node_charts, shown_nodes
from values.shown_nodes import GIB, guaranteed


def _view() -> NodeView:
    config, node = shown_nodes.started()
    pods = [guaranteed("web", 12, 8 * GIB), guaranteed("db", 6, GIB), guaranteed("big", 12, GIB)]
    return shown_nodes.view_of(config, node, pods)


def _strip(view: NodeView, notes: int = 0) -> dict[str, StripTile]:
    troubled = overview.troubled_rows(view)
    return {tile.name: tile for tile in overview.strip(view, Level.WARNING, notes, troubled)}


def test_the_strip_has_health_room_rejected_and_crashing_in_this_order() -> None:
    view = _view()
    crashing = replace(view.rows[0], status="CrashLoopBackOff")
    rows = (crashing, replace(view.rows[1], status="Pending"), view.rows[2])
    strip = _strip(replace(view, rows=rows), notes=2)
    assert [*strip] == ["Health", "CPUs", "Memory", "Rejected", "Crashing"]
    said = {name: f"{tile.figure} {tile.words}" for name, tile in strip.items()}
    assert said == {
        "Health": "5 need attention",
        "CPUs": "13 of 31 free",
        "Memory": "54Gi of 63Gi free",
        "Rejected": "1 pod",
        "Crashing": "1 crashed or failed, 1 waiting",
    }
    assert strip["CPUs"].parts == (1, 18, 13)
    assert [strip[name].level for name in ("Health", "CPUs", "Rejected", "Crashing")] == [
        Level.WARNING, None, Level.BAD, Level.BAD,
    ]  # fmt: skip
    assert [tile.href for tile in strip.values()] == [
        "#healthy", "/node", "/node", "/pods?status=Rejected", "/pods?sort=trouble",
    ]  # fmt: skip


def test_what_is_right_has_no_colour_of_trouble() -> None:
    view = _view()
    strip = _strip(replace(view, rows=view.rows[:2]))
    assert (strip["Rejected"].figure, strip["Rejected"].href) == ("0", "#rejected")
    assert strip["Rejected"].words == "pods"
    assert (strip["Rejected"].level, strip["Crashing"].level) == (None, None)
    assert strip["Crashing"].words == "crashed or failed"
    assert _strip(replace(view, rows=view.rows[:2]), 1)["Health"].words == "needs attention"
    assert _strip(replace(view, rows=(), is_ready=False))["Health"].figure == "1"


def test_beside_a_kubelet_rejections_are_not_known() -> None:
    tile = _strip(replace(_view(), kind=SourceKind.OBSERVING))["Rejected"]
    assert (tile.figure, tile.words) == ("not known", "beside a kubelet")


def test_each_device_is_counted_once() -> None:
    strip = _strip(replace(_view(), chart=node_charts.held()))
    gpu, nic = strip["nvidia.com/gpu"], strip["example.com/nic"]
    assert (gpu.parts, f"{gpu.figure} {gpu.words}") == ((1, 1, 2), "2 of 3 free")
    assert (nic.figure, nic.parts) == ("3", (0, 0, 3))
    assert (nic.name, nic.figure, nic.words) == ("example.com/nic", "3", "of 3 free")


def test_without_static_policies_the_room_is_what_pods_do_not_request() -> None:
    view = dashboards.node_view()
    assert isinstance(view.config, KubeletConfig)
    assert isinstance(view.node, Node)
    strip = _strip(view)
    assert strip["CPUs"].words == "of 16 not requested"
    assert strip["CPUs"].parts == (0, 0, 16000)
    assert strip["Memory"].words.endswith("Gi not requested")
    assumed = replace(view.node.snapshot, assumed=frozenset({ContainerKey("uid", "c")}))
    unknown = replace(view, node=replace(view.node, snapshot=assumed))
    assert [*_strip(unknown)] == ["Health", "Rejected", "Crashing"]
