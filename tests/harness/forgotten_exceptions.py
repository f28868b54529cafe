"""Keeps exceptions that nobody retrieved from being printed with a traceback.

asyncio logs the exception of a task that was never awaited when the task is destroyed, which may be
at any moment of any later test. In Python 3.11 to print a traceback parses the source; inside
another ``ast.parse``, pytest's own for example, that ends the outer one with a SystemError. So what
is logged is one line, which names the exception and the task.
"""

from __future__ import annotations

import logging
from typing import Final

_LOGGER: Final = "asyncio"


def log_without_traceback() -> None:
    """From now on; a second call changes nothing."""
    logging.getLogger(_LOGGER).addFilter(_shortened)


def _shortened(record: logging.LogRecord) -> bool:
    if record.exc_info and "never retrieved" in record.getMessage():
        record.msg, record.args = "%s: %r", (record.getMessage(), record.exc_info[1])
        record.exc_info = record.exc_text = None
    return True
