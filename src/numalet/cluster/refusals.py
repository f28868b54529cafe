"""Refusals of an API server, logged once for each verb and kind of objects.

A fleet repeats the same request thousands of times; the first refusal describes all of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable


class Refusals:
    """``say`` gets one line for each missing permission of these credentials."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: set[str] = set()

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Run a request that may fail; a missing permission is only logged."""
        try:
            yield
        except ApiRefused as refused:
            self.note(refused)
        except ApiUnreachable:
            pass

    def note(self, refused: ApiRefused) -> None:
        """Log a refusal for lack of permission; the caller handles the others."""
        if not refused.status.is_forbidden:
            return
        # The text before it names a single object.
        what = refused.status.message.partition(" is forbidden: ")[2] or refused.status.message
        if what not in self._said:
            self._said.add(what)
            self._say(f"the API server refuses: {what}")
