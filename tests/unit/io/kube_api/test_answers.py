"""What the codes of an API server's refusals mean."""

from __future__ import annotations

import pytest

from numalet.io.kube_api import answers
from numalet.io.kube_api.answers import ApiRefused, ApiStatus

MEANINGS = ("unauthorized", "forbidden", "absent", "conflict", "gone", "temporary")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (400, ()),
        (401, ("unauthorized",)),
        (403, ("forbidden",)),
        (404, ("absent",)),
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


def test_a_refusal_to_apply_what_is_not_there_yet_names_the_verb_create() -> None:
    path = "/apis/numalet.dev/v1alpha1/numanodes/n7"
    status = ApiStatus(403, "Forbidden", 'numanodes.numalet.dev "n7" is forbidden: ')
    told = answers.of_apply(ApiRefused(status, f"PATCH {path}"), path)
    assert told.asked == f"PATCH {path}"
    assert told.status.message == (
        'numanodes.numalet.dev "n7" is forbidden: cannot create resource "numanodes", as applying'
        " an object does that is not there yet"
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [(403, 'x is forbidden: User "u" cannot patch resource "x"'), (409, "x is forbidden:")],
)
def test_other_refusals_to_apply_stay_as_they_are(code: int, message: str) -> None:
    refused = ApiRefused(ApiStatus(code, "", message))
    assert answers.of_apply(refused, "/a/x/n7") is refused
