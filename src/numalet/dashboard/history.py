"""The history of a node in an SQLite database of limited size.

A database that cannot be read is renamed, and a new one is started. A point that cannot be written
is lost, and ``problem`` says why.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from numalet.dashboard import history_points
from numalet.dashboard.history_points import DashboardHistorySetAside
from numalet.dashboard.sources import HistoryPoint

FILE_NAME: Final = "history.sqlite"
SCHEMA: Final = 1
MOST_POINTS: Final = 20_000
MOST_BYTES: Final = 64 * 1024 * 1024
_PAGE_BYTES: Final = 4096
_THIN_EVERY: Final = 60
"""Number of points between two passes that thin old ones."""

_PATIENCE_SECONDS: Final = 1.0


class NodeHistory:
    """Points of one node, in a file, or in memory without a path."""

    def __init__(self, path: Path | None, most_bytes: int = MOST_BYTES) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._base: sqlite3.Connection | None = None
        self._points: tuple[HistoryPoint, ...] = ()
        self._since_thinned = _THIN_EVERY
        # One thread at a time: closing the connection while another writes would crash the process.
        self._turn = threading.Lock()
        self._is_closed = False
        self.problem = ""
        """Why writing fails at present; empty if it works."""
        self.set_aside: DashboardHistorySetAside | None = None

    def points(self) -> Sequence[HistoryPoint]:
        return self._points

    def open(self) -> None:
        """Read the database; an error is stored in ``problem``."""
        with self._turn:
            try:
                self._open()
            except (OSError, sqlite3.Error) as error:
                self._stop(error)

    def add(self, point: HistoryPoint) -> None:
        """Write a point unless it is older than the last one, or the history is closed."""
        with self._turn:
            if not self._is_closed:
                self._add(point)

    def _add(self, point: HistoryPoint) -> None:
        try:
            base = self._base or self._open()
            # The clock may have been set back; the times in the database are unique and ascending.
            if self._points and point.at <= self._points[-1].at:
                return
            try:
                self._write(base, point)
            except sqlite3.OperationalError:
                # Deleting points helps against the size limit, and not against a full disk.
                if not self._is_full(base):
                    raise
                self._shorten(base)
                self._write(base, point)
            self.problem = ""
        except (OSError, sqlite3.Error) as error:
            self._stop(error)

    def close(self) -> None:
        """Close the database; ``points`` still works."""
        with self._turn:
            self._is_closed = True
            self._release()

    def _release(self) -> None:
        if self._base is not None:
            with contextlib.suppress(sqlite3.Error):
                self._base.close()
            self._base = None

    def _open(self) -> sqlite3.Connection:
        try:
            base = self._opened()
        except (sqlite3.DatabaseError, ValueError, OverflowError) as error:
            # An operational error (a full disk, a lock) does not mean that the database is damaged.
            if self._path is None or isinstance(error, sqlite3.OperationalError):
                raise
            path = self._path.with_name(f"{self._path.name}.damaged")
            self._path.replace(path)
            self.set_aside = DashboardHistorySetAside(problem=str(error), path=str(path))
            # SQLite would apply the journal of the damaged database to the new one.
            self._path.with_name(self._path.name + "-journal").unlink(missing_ok=True)
            base = self._opened()
        self._base = base
        return base

    def _opened(self) -> sqlite3.Connection:
        """Open the database and read its points.

        Raises ``ValueError`` for another schema, ``OverflowError`` for a time out of range.
        """
        if self._path is not None:
            # Created here with mode 0600: SQLite would use the umask and follow a symbolic link.
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            os.close(os.open(self._path, flags, 0o600))
        base = sqlite3.connect(
            self._path or ":memory:",
            timeout=_PATIENCE_SECONDS,
            # Transactions are written out below.
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            base.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            base.execute(f"PRAGMA max_page_count = {max(self._most_bytes // _PAGE_BYTES, 4)}")
            base.execute("PRAGMA synchronous = NORMAL")
            (version,) = base.execute("PRAGMA user_version").fetchone()
            if version not in (0, SCHEMA):
                raise ValueError(f"its schema is {version}")
            with _all_or_nothing(base):
                base.execute(
                    "CREATE TABLE IF NOT EXISTS points"
                    " (at_ms INTEGER PRIMARY KEY, figures TEXT NOT NULL)"
                )
                base.execute(f"PRAGMA user_version = {SCHEMA}")
            rows = base.execute("SELECT at_ms, figures FROM points ORDER BY at_ms").fetchall()
            self._points = tuple(
                history_points.read(datetime.fromtimestamp(at / 1000, UTC), text)
                for at, text in rows
            )
        except BaseException:
            base.close()
            raise
        return base

    def _write(self, base: sqlite3.Connection, point: HistoryPoint) -> None:
        points = [*self._points, point]
        kept = points
        if self._since_thinned >= _THIN_EVERY or len(points) > MOST_POINTS:
            kept = history_points.thinned(points, point.at)[-MOST_POINTS:]
        with _all_or_nothing(base):
            if kept is points:
                changed = {_ms(point.at): point}
            else:
                before = {_ms(each.at): each for each in self._points}
                after = {_ms(each.at): each for each in kept}
                gone = [(at,) for at in before if at not in after]
                base.executemany("DELETE FROM points WHERE at_ms = ?", gone)
                changed = {at: each for at, each in after.items() if before.get(at) is not each}
            base.executemany(
                "INSERT OR REPLACE INTO points VALUES (?, ?)",
                [(at, history_points.written(each)) for at, each in changed.items()],
            )
        self._since_thinned = 1 if kept is not points else self._since_thinned + 1
        self._points = tuple(kept)

    def _shorten(self, base: sqlite3.Connection) -> None:
        rest = self._points[max(len(self._points) // 4, 1) :]
        first_ms = _ms(rest[0].at) if rest else 1 << 62
        with _all_or_nothing(base):
            base.execute("DELETE FROM points WHERE at_ms < ?", (first_ms,))
        self._points = rest

    def _is_full(self, base: sqlite3.Connection) -> bool:
        """Return whether the size limit is reached; if not, the disk is full."""
        (pages,) = base.execute("PRAGMA page_count").fetchone()
        (most,) = base.execute("PRAGMA max_page_count").fetchone()
        return bool(self._points) and pages >= most - 1

    def _stop(self, error: Exception) -> None:
        self.problem = str(error)
        self._release()


@contextlib.contextmanager
def _all_or_nothing(base: sqlite3.Connection) -> Iterator[None]:
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
        base.execute("COMMIT")
    except BaseException:
        if base.in_transaction:
            base.execute("ROLLBACK")
        raise


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
