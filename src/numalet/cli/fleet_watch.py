"""``numalet fleet ... --watch``: print the answer whenever it changes, and its age."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Final

from numalet.cli import output, streams
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.value import Mutable

if TYPE_CHECKING:
    from numalet.cluster.following import FollowedView
    from numalet.core.cluster.cluster import Cluster

_OLD_SECONDS: Final = 2.0
"""A shorter loss of the connection is not reported."""


class WatchedAnswer(Mutable):
    """Prints the answer about a followed cluster, and its age if it is out of date.

    For programs, the age is printed to the error stream.
    """

    answer: Callable[[Cluster], int]
    is_table: bool
    _cluster: Cluster | None = None
    _text: str = ""
    _shown: str = ""
    _state: tuple[str, bool] = ("", False)
    _was_old: bool = False
    _notes: tuple[Finding, ...] = ()

    async def receive(self, view: FollowedView) -> None:
        """Print the changes of a view. Raises ``BadInput`` if the cluster could never be listed."""
        if view.opened is None:
            if view.problems:
                raise BadInput(view.problems)
            return
        cluster = view.opened.cluster
        # The identical value has the identical answer.
        if cluster is not self._cluster:
            notes = tuple(each for each in cluster.notes if each not in view.problems)
            output.show_findings([each for each in notes if each not in self._notes])
            self._notes = notes
            # Events are processed while this thread works.
            self._text = await asyncio.to_thread(self._answered, cluster)
            self._cluster = cluster
        is_old = view.age_seconds >= _OLD_SECONDS
        self._print(self._text + (_age(view) if is_old and self.is_table else ""), is_old=is_old)
        if is_old and not self._was_old and not self.is_table:
            output.show_findings(view.problems)
        self._was_old = is_old

    def _answered(self, cluster: Cluster) -> str:
        text = _Kept(is_screen=sys.stdout.isatty())
        with redirect_stdout(text):
            self.answer(cluster)
        return text.getvalue()

    def _print(self, text: str, *, is_old: bool) -> None:
        """Print new text; a mere change of its age is shown on a terminal only."""
        is_screen = output.is_screen("stdout")
        state = (self._text, is_old and self.is_table)
        # On a terminal the age is redrawn; in a pipe only a new answer is printed.
        if text == self._shown or (state == self._state and not is_screen):
            return
        self._shown, self._state = text, state
        output.print_screen(text)
        streams.flush()


class _Kept(io.StringIO):
    """Collects printed text, formatted for the final output."""

    def __init__(self, *, is_screen: bool) -> None:
        super().__init__()
        self._is_screen = is_screen

    def isatty(self) -> bool:
        return self._is_screen


def _age(view: FollowedView) -> str:
    why = str(view.problems[0]) if view.problems else ""
    return f"\nThis may be {view.age_seconds:.0f} s old: {output.printable(why)}\n"
