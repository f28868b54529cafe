"""The grammar of --reserved-memory, with the kubelet's texts."""

from __future__ import annotations

import pytest

from numalet.core.config import memory_policy
from numalet.core.config.memory_policy import ReservedMemoryError


def shown(*values: str) -> list[tuple[int, dict[str, str]]]:
    return [
        (entry.numa_node, {name: str(amount) for name, amount in entry.limits.items()})
        for entry in memory_policy.parse_reserved_memory(values)
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("0:memory=1Gi,hugepages-1Gi=2Gi",), [(0, {"memory": "1Gi", "hugepages-1Gi": "2Gi"})]),
        (("0:memory=1Gi", "1:memory=2Gi"), [(0, {"memory": "1Gi"}), (1, {"memory": "2Gi"})]),
        (("0:memory=1Gi;1:memory=2Gi",), [(0, {"memory": "1Gi"}), (1, {"memory": "2Gi"})]),
        (("0:memory=1Gi,memory=2Gi",), [(0, {"memory": "2Gi"})]),
        (("0:memory=1Gi;0:memory=2Gi",), [(0, {"memory": "1Gi"}), (0, {"memory": "2Gi"})]),
        (("-1:memory=1Gi",), [(-1, {"memory": "1Gi"})]),
        (("+1:memory=0",), [(1, {"memory": "0"})]),
        (("0:memory=-1Gi",), [(0, {"memory": "-1Gi"})]),
        (("0:hugepages-foo=1Gi",), [(0, {"hugepages-foo": "1Gi"})]),
        (("4294967297:memory=1Gi",), [(1, {"memory": "1Gi"})]),
        (("2147483648:memory=1Gi",), [(-2147483648, {"memory": "1Gi"})]),
        (("",), []),
        ((), []),
    ],
)
def test_legal_values_are_read(
    values: tuple[str, ...], expected: list[tuple[int, dict[str, str]]]
) -> None:
    assert expected == shown(*values)


FORMAT = (
    "the reserved memory has incorrect format, expected "
    "numaNodeID:type=quantity[,type=quantity...], got "
)
LIMIT = "the reserved limit has incorrect value, expected type=quantatity, got "
QUANTITY = "failed to parse the quantatity, expected quantatity, got "


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("0",), FORMAT + "0"),
        (("0:memory=1Gi;",), FORMAT),
        (("0:1:memory=1Gi",), FORMAT + "0:1:memory=1Gi"),
        (
            ("{numa-node=0,type=memory,limit=1Gi}",),
            FORMAT + "{numa-node=0,type=memory,limit=1Gi}",
        ),
        (("a:memory=1Gi",), "failed to convert the NUMA node ID, exptected integer, got a"),
        ((" 0:memory=1Gi",), "failed to convert the NUMA node ID, exptected integer, got  0"),
        (("0:memory",), LIMIT + "memory"),
        (("0:memory=1Gi,",), LIMIT),
        (("0:memory=1=2",), LIMIT + "memory=1=2"),
        (("0:cpu=1",), 'memory type conversion error, unknown type: "cpu"'),
        (("0: memory=1Gi",), 'memory type conversion error, unknown type: " memory"'),
        (("0:memory=1.5.Gi",), QUANTITY + "1.5.Gi"),
        (("0:memory=1e400",), QUANTITY + "1e400"),
        (("", "0:memory=1Gi"), "no target (nil pointer to *[]MemoryReservation"),
    ],
)
def test_illegal_values_are_refused_with_the_kubelets_text(
    values: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(ReservedMemoryError) as caught:
        memory_policy.parse_reserved_memory(values)

    assert expected == caught.value.go_text


def test_the_value_prints_with_types_and_groups_sorted() -> None:
    entries = memory_policy.parse_flag_value("1:memory=1Gi,hugepages-2Mi=2Mi;0:memory=01Gi")

    assert memory_policy.flag_text(entries) == "0:memory=01Gi,1:hugepages-2Mi=2Mi,memory=1Gi"
