"""The hints of a decision as a matrix: rows of node sets, columns of answers, then the merge.

The shape, the word and the colour of a cell say whether the set is preferred, offered or not, and
the reason if there is room. All of its words are its text alternative.
"""

from __future__ import annotations

from typing import Final
from xml.etree.ElementTree import Element

from numalet.core.model import numa_mask
from numalet.core.model.value import replace
from numalet.drawing import sheets, svg
from numalet.insight.explain.hint_maps import HintCell, HintMap, HintSet, HintStatus
from numalet.wording import numbers

_SET_PX: Final = 88
_MERGE_PX: Final = 112
_SMALLEST_COLUMN_PX: Final = 120
_LARGEST_COLUMN_PX: Final = 480
_HEAD_PX: Final = 44
_ROW_PX: Final = 28
_MARK_PX: Final = 12
_PAD_PX: Final = 8

_WORDS: Final = {
    HintStatus.PREFERRED: "preferred",
    HintStatus.OFFERED: "offered",
    HintStatus.NOT_PREFERRED: "not preferred",
    HintStatus.NOT_OFFERED: "no",
    HintStatus.NOT_LISTED: "not listed",
    HintStatus.ANY: "any",
}


def draw(hints: HintMap, *, width_px: int = 960) -> str:
    """Draw the matrix of one subject; it is wider if its columns need it.

    Providers without a preference have no column; they are named below.
    """
    below = _below(hints, width_px)
    hints = _without_silent(hints)
    count = max(len(hints.columns), 1)
    room_px = (width_px - _SET_PX - _MERGE_PX) // count
    column_px = min(max(room_px, _SMALLEST_COLUMN_PX), _LARGEST_COLUMN_PX)
    width_px = max(width_px, _SET_PX + count * column_px + _MERGE_PX)
    tops, top_px = [], sheets.TITLE_PX + _HEAD_PX
    for each in hints.sets:
        tops.append(top_px)
        top_px += _row_px(each, column_px)
    height_px = top_px + len(below) * sheets.LINE_PX + _PAD_PX
    title = f"Where {hints.subject} could go"
    picture = sheets.picture(width_px, height_px, title, hints.verdict, "matrix")
    sheets.heading(picture, title, width_px)
    _head(picture, hints, column_px)
    for each, at_px in zip(hints.sets, tops, strict=True):
        name = ",".join(map(str, each.nodes))
        group = svg.add(picture, "g", transform=f"translate(0 {at_px})", data_set=name)
        _row(group, hints, each, column_px, width_px)
    for at, (words, css_class) in enumerate(below):
        y = top_px + at * sheets.LINE_PX + 16
        svg.add(picture, "text", words, css_class=css_class, x=0, y=y)
    return svg.text_of(picture)


def _without_silent(hints: HintMap) -> HintMap:
    """Drop columns without an answer on any set."""
    kept = [
        at
        for at in range(len(hints.columns))
        if any(each.cells[at].status is not HintStatus.ANY for each in hints.sets)
    ]
    sets = (replace(each, cells=tuple(each.cells[at] for at in kept)) for each in hints.sets)
    columns = tuple(hints.columns[at] for at in kept)
    return replace(hints, columns=columns, sets=tuple(sets))


def _below(hints: HintMap, width_px: int) -> list[tuple[str, str]]:
    """Return lines under the matrix: omitted parts, the criterion of the ranking, the verdict."""
    done = []
    more = hints.more_offered + hints.more_not_offered
    if more:
        counts = f"{hints.more_offered} offered, {hints.more_not_offered} not"
        done.append((f"{numbers.counted(more, 'more set')}: {counts}", "quiet"))
    notes = [f"{each.title}: {each.note}" for each in hints.columns if each.note]
    notes += [f"merge: {hints.order}"] if hints.order else []
    for note in notes:
        done += [(line, "quiet") for line in svg.text_lines(note, width_px, 3)]
    # Bold type is wider, by as much as the room is reduced here.
    done += [(line, "strong") for line in svg.text_lines(hints.verdict, width_px / 1.15, 3)]
    return done


def _row_px(each: HintSet, column_px: int) -> int:
    most = max((len(_brief_lines(cell, column_px)) for cell in each.cells), default=0)
    return _ROW_PX + most * 14


def _brief_lines(cell: HintCell, column_px: int) -> tuple[str, ...]:
    if not cell.brief or column_px < 160:
        return ()
    return svg.text_lines(cell.brief, column_px - 2 * _PAD_PX, 2, "small")


def _head(picture: Element, hints: HintMap, column_px: int) -> None:
    top_px = sheets.TITLE_PX
    svg.add(picture, "text", "NUMA nodes", css_class="small", x=0, y=top_px + 34)
    for at, column in enumerate(hints.columns):
        group = svg.add(picture, "g")
        svg.named(group, f"{column.title}: {column.note}" if column.note else column.title)
        left_px = _SET_PX + at * column_px
        words = svg.text_lines(column.title, column_px - _PAD_PX, 2, "small")
        for line_at, words_of_line in enumerate(words):
            y = top_px + 34 - (len(words) - 1 - line_at) * 16
            svg.add(group, "text", words_of_line, css_class="small", x=left_px, y=y)
    left_px = _SET_PX + len(hints.columns) * column_px
    svg.add(picture, "text", "merge", css_class="small", x=left_px, y=top_px + 34)


def _row(group: Element, hints: HintMap, each: HintSet, column_px: int, width_px: int) -> None:
    height_px = _row_px(each, column_px)
    if each.is_chosen:
        svg.add(group, "rect", css_class="ground", x=0, y=0, width=width_px, height=height_px)
    svg.add(group, "line", css_class="grid", x1=0, y1=0, x2=width_px, y2=0)
    nodes = numa_mask.text(numa_mask.of(each.nodes))
    words = svg.shortened_text(nodes, _SET_PX - _PAD_PX, is_bold=each.is_chosen)
    css_class = "strong" if each.is_chosen else ""
    svg.named(svg.add(group, "text", words, css_class=css_class, x=4, y=19), f"NUMA nodes {nodes}")
    for at, (cell, column) in enumerate(zip(each.cells, hints.columns, strict=True)):
        mark = svg.add(group, "g", data_status=cell.status.value)
        said = f"{column.title}, NUMA nodes {nodes}: {cell.status.value}"
        svg.named(mark, f"{said}. {cell.why}" if cell.why else said)
        _cell(mark, cell, _SET_PX + at * column_px, column_px)
    _merge(group, hints, each, _SET_PX + len(hints.columns) * column_px)


def _cell(mark: Element, cell: HintCell, left_px: int, column_px: int) -> None:
    _shape(mark, cell.status, left_px, 9)
    css_class = "small" if cell.status in (HintStatus.ANY, HintStatus.NOT_LISTED) else ""
    words_px = left_px + _MARK_PX + 4
    words = svg.shortened_text(_WORDS[cell.status], column_px - _MARK_PX - 8)
    svg.add(mark, "text", words, css_class=css_class, x=words_px, y=19)
    for at, line in enumerate(_brief_lines(cell, column_px)):
        svg.add(mark, "text", line, css_class="small", x=left_px, y=34 + at * 14)


def _shape(mark: Element, status: HintStatus, left_px: float, top_px: float) -> None:
    """Draw a full circle, a ring, a cross, or a dash: they differ without colour."""
    middle_x, middle_y = left_px + _MARK_PX / 2, top_px + _MARK_PX / 2
    match status:
        case HintStatus.PREFERRED:
            svg.add(mark, "circle", css_class="good", cx=middle_x, cy=middle_y, r=5)
        case HintStatus.OFFERED:
            svg.add(mark, "circle", css_class="hollow good", cx=middle_x, cy=middle_y, r=4)
        case HintStatus.NOT_PREFERRED:
            svg.add(mark, "circle", css_class="hollow warning", cx=middle_x, cy=middle_y, r=4)
        case HintStatus.NOT_OFFERED:
            left, right = svg.number(left_px + 2), svg.number(left_px + 10)
            top, bottom = svg.number(top_px + 2), svg.number(top_px + 10)
            cross = f"M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}"
            svg.add(mark, "path", css_class="hollow bad", d=cross)
        case _:
            svg.add(
                mark, "line", css_class="grid", x1=left_px + 2, y1=middle_y, x2=left_px + 10,
                y2=middle_y,
            )  # fmt: skip


def _merge(group: Element, hints: HintMap, each: HintSet, left_px: int) -> None:
    """Draw the rank, and for the chosen set whether the policy accepts it."""
    if each.rank is not None:
        svg.add(group, "text", f"{each.rank}.", x=left_px, y=19)
    if each.is_chosen:
        words, css_class = ("accepted", "good") if hints.is_accepted else ("rejected", "bad")
        words = f"→ {words}"
        mark = svg.add(group, "text", words, css_class=f"strong {css_class}", x=left_px + 20, y=19)
        svg.named(mark, hints.verdict)
