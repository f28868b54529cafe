"""Charts of bars: their figures, marks and words."""

from __future__ import annotations

from xml.etree import ElementTree

from numalet.drawing import charts
from numalet.drawing.charts import BarPart, BarRow, Unit

GI = 1 << 30


def test_bars_are_to_one_scale_and_say_their_figures() -> None:
    rows = [
        BarRow(label="restricted", parts=(BarPart("admitted", 10),), marks=(("most", 12),)),
        BarRow(label="none", parts=(BarPart("admitted", 5),), note="5 (4 to 6)"),
    ]
    picture = ElementTree.fromstring(charts.bars("Admitted", rows))
    first, second = (each for each in picture.iter() if "data-row" in each.attrib)
    wide, half = (float(each[1].attrib["width"]) for each in (first, second))
    assert abs(wide - 2 * half) < 0.05
    assert [each[0].text for each in first if len(each)] == [
        "restricted", "restricted: admitted 10", "restricted: most 12",
    ]  # fmt: skip
    assert (first[-1].text, second[-1].text) == ("10", "5 (4 to 6)")
    assert picture[1].text == "restricted has most: 10"


def test_parts_of_several_names_have_a_legend() -> None:
    parts = (BarPart("reserved", 3 * GI, "holder"), BarPart("free", GI, "free"))
    picture = ElementTree.fromstring(
        charts.bars("Memory", [BarRow(label="node 0", parts=parts)], Unit.BYTES)
    )
    (legend,) = (each for each in picture.iter() if each.attrib.get("class") == "legend")
    assert [each.text for each in legend if each.text] == ["reserved", "free"]
    assert picture[1].text == "node 0 has most: 4Gi"


def test_a_legend_has_as_many_lines_as_it_needs() -> None:
    parts = tuple(BarPart(f"a long name of part {at}", 1) for at in range(3))
    picture = ElementTree.fromstring(
        charts.bars("Memory", [BarRow(label="node 0", parts=parts)], width_px=200)
    )
    (legend,) = (each for each in picture.iter() if each.attrib.get("class") == "legend")
    assert [(each.attrib["x"], each.attrib["y"]) for each in legend if each.text] == [
        ("16", "39"), ("16", "55"), ("16", "71"),
    ]  # fmt: skip


def test_no_bars() -> None:
    picture = ElementTree.fromstring(charts.bars("Admitted", []))
    assert picture[1].text == "nothing to show"


def test_parts_that_differ_by_hue_have_letters_for_print_in_grey() -> None:
    parts = (BarPart("NUMA node 0", 6, "hue-1"), BarPart("NUMA node 1", 6, "hue-2"))
    picture = ElementTree.fromstring(charts.bars("Stranded", [BarRow(label="one", parts=parts)]))
    texts = [each.text for each in picture.iter() if "letter" in each.get("class", "").split()]
    # Once in the legend, and once on its part.
    assert texts == ["A", "B", "A", "B"]
    narrow = (BarPart("NUMA node 0", 1, "hue-1"), BarPart("NUMA node 1", 500, "hue-2"))
    picture = ElementTree.fromstring(charts.bars("Stranded", [BarRow(label="one", parts=narrow)]))
    texts = [each.text for each in picture.iter() if "letter" in each.get("class", "").split()]
    assert texts == ["A", "B", "B"]


def test_a_bar_is_empty_up_to_its_whole_and_free_parts_are_labelled() -> None:
    row = BarRow(label="a", parts=(BarPart("admitted", 3),), whole=12, note="3 of 12")
    free = BarRow(label="b", parts=(BarPart("NUMA node 0", 6, "free", "0"),
                                    BarPart("NUMA node 1", 0.01, "free", "1")))  # fmt: skip
    picture = ElementTree.fromstring(charts.bars("t", [row, free]))
    boxes = {
        each.attrib["class"]: float(each.attrib["width"])
        for each in picture.iter()
        if each.tag.endswith("rect") and each.attrib["class"] in ("free", "accent part")
    }
    assert abs(boxes["free"] - 4 * boxes["accent part"]) < 0.05
    assert [each.attrib.get("class") for each in picture.iter()].count("legend") == 0
    labels = [each.text for each in picture.iter() if each.attrib.get("class") == "small middle"]
    assert labels == ["0"]
