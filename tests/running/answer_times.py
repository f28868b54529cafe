"""How long a container runtime waits for a plugin: what each connection carries, with the times."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

_MOST_BYTES = 1 << 16


class AnswerTimes:
    """Carries between the plugins that connect to ``path`` and the runtime's own socket.

    ``milliseconds`` are from the end of each of the runtime's questions to the begin of the answer.
    """

    def __init__(self, path: Path, runtime: Path) -> None:
        self.milliseconds: list[float] = []
        self._runtime = runtime
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(path))
        self._door.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # A thread that waits for a connection goes on waiting for a socket that is only closed.
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                plugin, _ = self._door.accept()
                threading.Thread(target=self._carry, args=(plugin,), daemon=True).start()

    def _carry(self, plugin: socket.socket) -> None:
        asked = 0.0
        # Else the times have the waits of this thread for a busy CPU. The tests run as root.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        with suppress(OSError), plugin, socket.socket(socket.AF_UNIX) as runtime:
            runtime.connect(str(self._runtime))
            while True:
                for end in select.select([plugin, runtime], [], [])[0]:
                    data = end.recv(_MOST_BYTES)
                    if not data:
                        return
                    if end is runtime:
                        asked = time.perf_counter()
                        plugin.sendall(data)
                        continue
                    if asked:
                        self.milliseconds.append(1000 * (time.perf_counter() - asked))
                        asked = 0.0
                    runtime.sendall(data)
