"""Sizes in machine files: memory of a node, huge pages by size.

A size is a number of bytes or a quantity such as ``128Gi``. Huge pages are ``{1Gi: 4, 2Mi: 512}``,
or a list of ``page_size_kib`` and ``count``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.model import input_error, resources
from numalet.core.model.findings import Findings
from numalet.core.model.go_text import QuantityError
from numalet.core.model.machine_info import HugePages
from numalet.core.model.quantity import Quantity
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

MOST_BYTES: Final = (1 << 63) - 1
_LARGEST_PAGE_KIB: Final = 1 << 40
_PAGE_FIELDS: Final = ("page_size_kib", "count")


def whole_number(
    value: object, lowest: int, highest: int, place: Place, findings: Findings
) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        typed.wrong_type(value, "a whole number", place, findings)
        return None
    if not lowest <= value <= highest:
        shown = typed.described(value)
        findings.add(
            input_error.Invalid(
                f"{shown} is out of range", expected=f"{lowest} to {highest}", where=place.location
            )
        )
        return None
    return value


def size_bytes(value: object, place: Place, findings: Findings) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return whole_number(value, 0, MOST_BYTES, place, findings)
    if not isinstance(value, str):
        typed.wrong_type(value, "a size such as 128Gi or a number of bytes", place, findings)
        return None
    try:
        size = Quantity.parse(value.strip())
    except QuantityError:
        size = None
    # Parsing caps a size at the largest number, so that number may stand for any larger one.
    if size is None or not 0 <= size.value < MOST_BYTES or Quantity.from_int(size.value) != size:
        findings.add(
            input_error.Invalid(
                f"invalid size {value[:80]!r}",
                expected=(
                    "a whole number of bytes from 0 to 2^63-1, such as 137438953472, 128Gi or 512Mi"
                ),
                where=place.location,
            )
        )
        return None
    return size.value


def memory_bytes(value: object, place: Place, findings: Findings) -> int | None:
    """``size_bytes``, but a number too small for bytes is refused: its unit is probably missing."""
    text = str(value).strip() if isinstance(value, int | str) else ""
    if not resources.lacks_unit(text):
        return size_bytes(value, place, findings)
    findings.add(
        input_error.Invalid(
            f"{text} without a unit is {text} bytes; write the unit, such as {text}Gi, {text}Mi "
            f"or {text}Ki",
            where=place.location,
        )
    )
    return None


def huge_pages(value: object, place: Place, findings: Findings) -> tuple[HugePages, ...]:
    match value:
        case None:
            return ()
        case Mapping():
            pairs = [
                _page_pair(str(size), count, place.member(str(size)), findings)
                for size, count in value.items()
            ]
        case list():
            pairs = [
                _page_entry(entry, place.item(index), findings) for index, entry in enumerate(value)
            ]
        case _:
            typed.wrong_type(value, "page sizes with counts, {1Gi: 4, 2Mi: 512}", place, findings)
            return ()
    pages: dict[int, HugePages] = {}
    for pair in pairs:
        if pair is None:
            continue
        if pair.page_size_kib in pages:
            findings.add(
                input_error.Duplicate(
                    f"huge pages of {pair.page_size_kib} KiB are listed twice", where=place.location
                )
            )
        pages[pair.page_size_kib] = pair
    return tuple(pages.values())


def _page_pair(size: str, count: object, place: Place, findings: Findings) -> HugePages | None:
    page_bytes = memory_bytes(size, place, findings)
    pages = _count(count, place, findings)
    if page_bytes is None or pages is None:
        return None
    if page_bytes == 0 or page_bytes % 1024 or page_bytes // 1024 > _LARGEST_PAGE_KIB:
        findings.add(
            input_error.Invalid(
                f"invalid huge page size {size[:80]!r}",
                expected="a multiple of 1Ki",
                where=place.location,
            )
        )
        return None
    return _checked(HugePages(page_bytes // 1024, pages), place, findings)


def _page_entry(entry: object, place: Place, findings: Findings) -> HugePages | None:
    if not isinstance(entry, Mapping):
        typed.wrong_type(entry, "an object with page_size_kib and count", place, findings)
        return None
    typed.check_members(entry, _PAGE_FIELDS, place, findings)
    size_place = place.member("page_size_kib")
    size = whole_number(entry.get("page_size_kib"), 1, _LARGEST_PAGE_KIB, size_place, findings)
    count = _count(entry.get("count"), place.member("count"), findings)
    if size is None or count is None:
        return None
    return _checked(HugePages(size, count), place, findings)


def _count(value: object, place: Place, findings: Findings) -> int | None:
    return whole_number(value, 0, MOST_BYTES, place, findings)


def _checked(pages: HugePages, place: Place, findings: Findings) -> HugePages | None:
    """The pages, if their total fits into 63 bits."""
    if pages.page_size_kib * 1024 * pages.count > MOST_BYTES:
        most = MOST_BYTES // (pages.page_size_kib * 1024)
        findings.add(
            input_error.Invalid(
                f"{pages.count} is out of range", expected=f"0 to {most}", where=place.location
            )
        )
        return None
    return pages
