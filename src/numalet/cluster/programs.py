"""Common parts of this package's programs: durations, signals, refusals of the API."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from numalet.core.model import go_text, input_error
from numalet.core.model.findings import Location
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


async def until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Do the work until it ends; SIGINT and SIGTERM end it without an error."""
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work)
    is_asked = False

    def end() -> None:
        nonlocal is_asked
        is_asked = True
        task.cancel()

    # Without a handler SIGTERM does not end the first process of a container.
    for number in _SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        await task
    except asyncio.CancelledError:
        if not is_asked:
            raise
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


class Refusals:
    """Refusals of an API server, logged once for each verb and kind of objects.

    A fleet repeats the same request thousands of times; the first refusal describes all of them.
    ``say`` gets one line for each missing permission of these credentials.
    """

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


def duration_seconds(option: str, text: str) -> float:
    """Parse ``5s`` or ``1m30s`` into seconds. Raises ``BadInput`` unless it is above 0."""
    length_seconds = go_text.duration_seconds_of(text)
    if not length_seconds:
        raise input_error.Invalid(
            f"invalid duration {text!r}",
            expected="more than 0, such as 5s, 500ms or 2m",
            where=Location(option),
        ).bad_input()
    return length_seconds
