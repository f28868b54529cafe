from __future__ import annotations

from numalet.core.model import numa_mask


def test_a_mask_has_a_bit_for_every_node() -> None:
    assert numa_mask.of([0, 2, 70]) == 1 | 4 | 1 << 70
    assert numa_mask.ids(1 | 4 | 1 << 70) == (0, 2, 70)
    assert numa_mask.ids(numa_mask.EMPTY) == ()


def test_sets_come_by_size_and_then_in_the_order_of_their_ids() -> None:
    assert [numa_mask.ids(m) for m in numa_mask.by_size((3, 0, 1))] == [
        (0,),
        (1,),
        (3,),
        (0, 1),
        (0, 3),
        (1, 3),
        (0, 1, 3),
    ]


def test_containing_means_every_node() -> None:
    assert numa_mask.contains(0b111, 0b101)
    assert not numa_mask.contains(0b110, 0b101)


def test_a_mask_is_written_as_a_set() -> None:
    assert numa_mask.text(0b1001) == "{0,3}"


def test_many_nodes_are_written_as_ranges() -> None:
    assert numa_mask.text(0xFF) == "{0,1,2,3,4,5,6,7}"
    assert numa_mask.text(0x5FF) == "{0-8,10}"
