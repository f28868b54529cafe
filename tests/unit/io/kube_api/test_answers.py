"""What the codes of an API server's refusals mean."""

from __future__ import annotations

import pytest

from numalet.io.kube_api.answers import ApiStatus

MEANINGS = ("unauthorized", "forbidden", "not_found", "conflict", "gone", "temporary")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (400, ()),
        (401, ("unauthorized",)),
        (403, ("forbidden",)),
        (404, ("not_found",)),
        (409, ("conflict",)),
        (410, ("gone",)),
        (422, ()),
        (428, ()),
        (429, ("temporary",)),
        (430, ()),
        (499, ()),
        (500, ("temporary",)),
        (504, ("temporary",)),
    ],
)
def test_a_code_means_one_thing_at_most(code: int, expected: tuple[str, ...]) -> None:
    status = ApiStatus(code, "Any", "any")
    actual = tuple(each for each in MEANINGS if getattr(status, f"is_{each}"))
    assert actual == expected
