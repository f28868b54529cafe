"""``numalet`` whose wall clock jumps: ``python jumping_numalet.py WORDS``.

At SIGUSR1 it is a day later, at SIGUSR2 two days earlier; each time it says so. The steady clock
goes on as it does, as where an administrator or a time server sets the clock of a machine.
"""

from __future__ import annotations

import datetime as datetime_module
import signal
import sys
import time
from datetime import datetime, timedelta, tzinfo
from typing import Final

# Whoever asks for the time is imported by now, so that it can be given another clock.
from numalet.__main__ import main
from numalet.cluster.extender import command

DAY_SECONDS: Final = 86_400


class WallClock:
    """The clock of this machine, and so far ahead of it."""

    ahead_seconds = 0

    def jump(self, number: int, frame: object) -> None:
        """As the signal says."""
        self.ahead_seconds += DAY_SECONDS if number == signal.SIGUSR1 else -2 * DAY_SECONDS
        sys.stderr.write(f"the clock is {self.ahead_seconds} s ahead\n")

    def install(self) -> None:
        """Give this clock to all that was imported and to what will be."""
        clock, read_seconds = self, time.time

        class Moment(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
                return datetime.now(tz) + timedelta(seconds=clock.ahead_seconds)

        time.time = lambda: read_seconds() + self.ahead_seconds
        for name, module in [*sys.modules.items()]:
            if name.startswith("numalet.") and getattr(module, "datetime", None) is datetime:
                vars(module)["datetime"] = Moment
        vars(datetime_module)["datetime"] = Moment
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, self.jump)


if __name__ == "__main__":
    assert command.__name__ in sys.modules
    WallClock().install()
    main()
