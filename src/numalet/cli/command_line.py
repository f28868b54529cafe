"""The current command line, for pages that show how they were made."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_ARGUMENTS: Final[ContextVar[tuple[str, ...]]] = ContextVar("arguments")


@contextmanager
def running(arguments: Sequence[str] | None) -> Iterator[None]:
    """Use this command line in the block; by default that of the process."""
    token = _ARGUMENTS.set(tuple(sys.argv[1:] if arguments is None else arguments))
    try:
        yield
    finally:
        _ARGUMENTS.reset(token)


def text() -> str:
    """Return the command line, quoted for a shell."""
    return shlex.join(("numalet", *_ARGUMENTS.get(())))
