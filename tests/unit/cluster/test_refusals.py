"""What the API server does not let us do is said once for each verb and kind of objects."""

from __future__ import annotations

from numalet.cluster.programs import Refusals
from numalet.io.kube_api.answers import ApiRefused, ApiStatus


def test_each_thing_is_said_once() -> None:
    said: list[str] = []
    refusals = Refusals(said.append)
    for name in ("a", "b"):
        for what in ('cannot patch resource "pods/status"', 'cannot delete resource "pods"'):
            message = f'pods "{name}" is forbidden: User "u" {what}'
            refusals.note(ApiRefused(ApiStatus(403, "Forbidden", message)))
    assert said == [
        'the API server refuses: User "u" cannot patch resource "pods/status"',
        'the API server refuses: User "u" cannot delete resource "pods"',
    ]


def test_what_is_no_matter_of_credentials_is_not_said() -> None:
    said: list[str] = []
    Refusals(said.append).note(ApiRefused(ApiStatus(404, "NotFound", "gone")))
    assert said == []


def test_a_message_of_another_form_is_said_whole() -> None:
    said: list[str] = []
    Refusals(said.append).note(ApiRefused(ApiStatus(403, "Forbidden", "a webhook says no")))
    assert said == ["the API server refuses: a webhook says no"]
