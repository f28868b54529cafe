"""The hints of a decision drawn: a shape and a word for each cell, the reason as a title."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from numalet.drawing import hint_matrix
from numalet.insight.explain.hint_maps import HintCell, HintColumn, HintMap, HintSet, HintStatus

_ALL = HintMap(
    subject="app",
    columns=(HintColumn("cpu manager"), HintColumn("memory manager", "no set fits")),
    sets=(
        HintSet(
            nodes=(0, 1),
            cells=(HintCell(HintStatus.PREFERRED), HintCell(HintStatus.NOT_PREFERRED)),
            rank=1,
            is_chosen=True,
        ),
        HintSet(
            nodes=(0,),
            cells=(
                HintCell(HintStatus.OFFERED),
                HintCell(HintStatus.NOT_OFFERED, "4Gi too little", "It needs 4Gi more."),
            ),
        ),
        HintSet(nodes=(1,), cells=(HintCell(HintStatus.ANY), HintCell(HintStatus.NOT_LISTED))),
    ),
    more_offered=1,
    more_not_offered=2,
    chosen=(0, 1),
    is_preferred=False,
    is_accepted=False,
    order="ranked by lower numbers",
    verdict="restricted rejects it: {0,1} is not preferred",
)


def _read(hints: HintMap, width_px: int = 960) -> Element:
    return ElementTree.fromstring(hint_matrix.draw(hints, width_px=width_px))


def _texts(picture: Element) -> list[str]:
    return [each.text or "" for each in picture.iter() if each.tag.endswith("text")]


def test_every_cell_has_a_shape_a_word_and_a_title() -> None:
    picture = _read(_ALL)
    cells = [each for each in picture.iter() if "data-status" in each.attrib]
    assert [each.attrib["data-status"] for each in cells] == [
        "preferred", "not preferred", "offered", "not offered", "any", "not listed",
    ]  # fmt: skip
    shapes = [(each[1].tag.rpartition("}")[2], each[1].attrib["class"]) for each in cells]
    assert shapes == [
        ("circle", "good"), ("circle", "hollow warning"), ("circle", "hollow good"),
        ("path", "hollow bad"), ("line", "grid"), ("line", "grid"),
    ]  # fmt: skip
    assert cells[3][0].text == "memory manager, NUMA nodes {0}: not offered. It needs 4Gi more."
    assert "4Gi too little" in _texts(picture)


def test_the_merge_stands_beside_and_what_is_not_shown_below() -> None:
    texts = _texts(_read(_ALL))
    assert {"1.", "→ rejected", "3 more sets: 1 offered, 2 not", _ALL.verdict} <= {*texts}
    assert "memory manager: no set fits" in texts
    assert "merge: ranked by lower numbers" in texts


def test_an_accepted_set_says_so_and_nothing_more_is_counted() -> None:
    accepted = replace(_ALL, is_accepted=True, more_offered=0, more_not_offered=0, order="")
    texts = _texts(_read(accepted))
    assert "→ accepted" in texts
    assert not [each for each in texts if "more set" in each or each.startswith("merge:")]


@pytest.mark.parametrize("width_px", [400, 1600])
def test_narrow_columns_keep_the_reason_in_the_title_alone(width_px: int) -> None:
    texts = _texts(_read(_ALL, width_px))
    assert ("4Gi too little" in texts) == (width_px == 1600)


def test_more_columns_than_there_is_room_for_make_it_wider() -> None:
    many = replace(
        _ALL,
        columns=tuple(HintColumn(f"resource {at}") for at in range(9)),
        sets=(HintSet(nodes=(0,), cells=(HintCell(HintStatus.OFFERED),) * 9),),
    )
    assert float(_read(many, 400).attrib["width"]) == 88 + 9 * 120 + 112


def test_who_has_no_preference_has_no_column_and_is_named_below() -> None:
    silent = replace(
        _ALL,
        columns=(HintColumn("device manager", "no preference"), HintColumn("cpu manager")),
        sets=(HintSet(nodes=(0,), cells=(HintCell(HintStatus.ANY), HintCell(HintStatus.OFFERED))),),
    )
    picture = _read(silent, 400)
    assert picture.attrib["width"] == "400"
    assert len([each for each in picture.iter() if "data-status" in each.attrib]) == 1
    assert "device manager: no preference" in _texts(picture)
    assert "device manager" not in _texts(picture)


def test_no_answer_at_all() -> None:
    nothing = replace(_ALL, columns=(), sets=(), more_offered=0, more_not_offered=0)
    assert _ALL.verdict in _texts(_read(nothing))
