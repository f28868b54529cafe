"""What an API server does not let us do, said once for each verb and kind of objects.

A fleet asks thousands of times in the same way: the first refusal says what every other one would.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable


class Refusals:
    """``say`` gets one line for each thing that these credentials may not do."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: set[str] = set()

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """A request that may fail: what the credentials do not allow is said, and no more."""
        try:
            yield
        except ApiRefused as refused:
            self.note(refused)
        except ApiUnreachable:
            pass

    def note(self, refused: ApiRefused) -> None:
        """The server refused this. What is no matter of credentials is left to the caller."""
        if not refused.status.is_forbidden:
            return
        # What comes before it names the one object.
        what = refused.status.message.partition(" is forbidden: ")[2] or refused.status.message
        if what not in self._said:
            self._said.add(what)
            self._say(f"the API server refuses: {what}")
