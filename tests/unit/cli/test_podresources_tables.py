"""Tables of what the PodResources API answers."""

from __future__ import annotations

from rich.table import Table

from numalet.cli import podresources_tables


def test_what_a_pod_got_as_a_whole_comes_before_its_containers() -> None:
    containers = [{"name": "a", "cpuIds": ["1"]}, {"name": "b"}]
    whole = {"name": "p", "namespace": "n", "containers": containers, "cpuIds": ["1", "2"]}
    (table,) = podresources_tables.of_pods([whole, {"name": "q", "containers": [{"name": "c"}]}])
    assert isinstance(table, Table)
    pods, names, cpus, *_ = ([str(cell) for cell in each.cells] for each in table.columns)
    assert pods == ["n/p", "", "", "/q"]
    assert names == ["(whole pod)", "a", "b", "c"]
    assert cpus == ["1-2", "1", "-", "-"]
