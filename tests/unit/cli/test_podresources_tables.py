"""Tables of what the PodResources API answers."""

from __future__ import annotations

import io

from numalet.cli import output, podresources_tables


def test_what_a_pod_got_as_a_whole_comes_before_its_containers() -> None:
    containers = [{"name": "a", "cpuIds": ["1"]}, {"name": "b"}]
    whole = {"name": "p", "namespace": "n", "containers": containers, "cpuIds": ["1", "2"]}
    (table,) = podresources_tables.of_pods([whole, {"name": "q", "containers": [{"name": "c"}]}])
    screen = output.literal_console(file=io.StringIO(), width=80)
    screen.print(table)
    assert isinstance(screen.file, io.StringIO)
    lines = [line.rstrip() for line in screen.file.getvalue().splitlines()]
    assert lines == [
        "pod  container    CPUs  memory  devices",
        "n/p  (whole pod)  1-2   -       -",
        "     a            1     -       -",
        "     b            -     -       -",
        "/q   c            -     -       -",
    ]
